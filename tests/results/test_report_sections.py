"""The sections of several games: what is drawn, over which games."""

from pathlib import Path

import pytest

from pipeline.games import ATARI49
from pipeline.results.imports import NOTHING
from pipeline.results.load import load_runs
from pipeline.results.report_parts import ReportFigure, Section
from pipeline.results.report_sections import games_of, sections_of
from pipeline.results.run_scores import run_scores
from tests.results.run_folders import episode, evaluation, write_run


def sections(tmp_path: Path) -> dict[str, Section]:
    loaded = load_runs(tmp_path / "runs")
    return {section.anchor: section for section in sections_of(loaded, run_scores(loaded), NOTHING)}


def figures_of(tmp_path: Path, anchor: str) -> dict[str, ReportFigure]:
    return {drawn.name: drawn for drawn in sections(tmp_path)[anchor].figures}


def test_profiles_are_of_complete_entries_only_and_name_the_others(tmp_path: Path) -> None:
    write_run(tmp_path, [evaluation(2.0)])
    write_run(tmp_path, [evaluation(2.0)], "dqn")
    write_run(tmp_path, [evaluation(2.0)], "dqn", game="Breakout")
    drawn = figures_of(tmp_path, "summary")["profiles"]
    assert drawn.caption.startswith("Performance profiles over 2 games")
    assert drawn.caption.endswith("Without gorila: games are missing.")


@pytest.mark.parametrize(("num_games", "num_shown"), [(1, 1), (12, 12), (13, 49), (49, 49)])
def test_few_games_stand_by_themselves_and_more_among_the_49(tmp_path: Path, num_games: int, num_shown: int) -> None:
    for game in ATARI49[:num_games]:
        write_run(tmp_path, [evaluation(2.0)], game=game)
    assert len(games_of(load_runs(tmp_path / "runs"))) == num_shown


def test_every_entry_has_its_bar_chart_and_without_any_the_published_one_stands(tmp_path: Path) -> None:
    write_run(tmp_path, [episode(1.0)])
    assert list(figures_of(tmp_path, "games49")) == ["scores"]
    write_run(tmp_path, [evaluation(2.0), evaluation(2.0, agent="best")], seed=1)
    assert list(figures_of(tmp_path, "games49")) == ["scores_gorila", "scores_gorila__best"]


def test_profiles_of_many_games_are_over_those_of_the_entry_with_most(tmp_path: Path) -> None:
    for game in ATARI49[:13]:
        write_run(tmp_path, [evaluation(2.0)], game=game)
    for game in ATARI49[:2]:
        write_run(tmp_path, [evaluation(2.0)], "dqn", game=game)
    drawn = figures_of(tmp_path, "summary")["profiles"]
    assert drawn.caption.startswith("Performance profiles over 13 games")
    labels = drawn.figure.axes[0].get_legend_handles_labels()[1]
    assert "ours: gorila" in labels and "ours: dqn" not in labels


def test_two_experiments_of_a_game_stand_against_each_other(tmp_path: Path) -> None:
    write_run(tmp_path, [evaluation(2.0)])
    assert "ours-compared" not in sections(tmp_path)
    write_run(tmp_path, [evaluation(1.0, version=10, agent="training", total_frames=100), evaluation(3.0)], "dqn")
    compared = sections(tmp_path)["ours-compared"]
    assert [table.name for table in compared.tables] == ["improvement"]
    assert [drawn.name for drawn in compared.figures] == ["sample_efficiency"]
