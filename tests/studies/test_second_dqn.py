"""Our DQN beside a second implementation's: which evaluations count, and where they are to the range of its seeds."""

from pathlib import Path

import pytest

from pipeline.results.budgets import Score
from pipeline.results.load import load_runs
from studies.second_dqn import MARKS, Point, curves_figure, main, marks_table, place, points_of, theirs
from tests.results.run_folders import evaluation, write_run


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    games = [
        *(evaluation(score, agent="training", version=1, total_frames=1_010_000) for score in (-21.0, -20.0, -19.0)),
        *(evaluation(score, agent="best", version=1, total_frames=1_010_000) for score in (0.0, 1.0)),
        *(evaluation(score, version=2, total_frames=2_020_000) for score in (-15.0, -14.0, -13.0)),
        *(evaluation(score, protocol="sticky", version=2, total_frames=2_020_000) for score in (5.0, 6.0)),
    ]
    write_run(tmp_path, games, experiment="dqn_nnabla")
    write_run(tmp_path, games[:3], experiment="dqn_nature", seed=4)
    write_run(tmp_path, games, experiment="dqn")
    return tmp_path


def test_evaluations_of_newest_parameters_count_and_of_these_experiments_alone(runs: Path) -> None:
    points = points_of(load_runs(runs).evaluations)
    assert [(one.experiment, one.seed, one.frames, one.mean) for one in points] == [
        ("dqn_nature", 4, 1_010_000, -20.0),
        ("dqn_nnabla", 0, 1_010_000, -20.0),
        ("dqn_nnabla", 0, 2_020_000, -14.0),
    ]
    assert points[0].low < -20.0 < points[0].high


@pytest.mark.parametrize(
    ("mean", "low", "high", "where"),
    [
        (1.0, 0.5, 1.9, "below"), (1.0, 0.5, 2.0, "within"), (2.5, 2.4, 2.6, "within"), (9.0, 3.0, 12.0, "within"),
        (9.0, 3.1, 12.0, "above"), (1.0, float("nan"), float("nan"), "below"),
    ],
)  # fmt: skip
def test_a_point_is_within_their_range_if_its_interval_meets_it(
    mean: float, low: float, high: float, where: str
) -> None:
    assert place(Point("dqn_nature", "Pong", 0, 1, mean, low, high), Score(2.5, 2.0, 3.0)) == where


def test_a_line_has_theirs_and_each_of_ours_with_its_place(runs: Path) -> None:
    lines = marks_table(points_of(load_runs(runs).evaluations)).splitlines()[2:]
    assert len(lines) == 2
    theirs_there = theirs().at("Pong", MARKS[1])
    assert theirs_there is not None
    assert f"| Pong | 2 | {theirs_there.mean:.1f} (" in lines[1] and "| -14.0 [" in lines[1] and ", above |" in lines[1]
    assert lines[0].count(", within") == 2


def test_each_game_has_a_panel_with_their_band_and_our_runs(runs: Path, tmp_path: Path) -> None:
    figure = curves_figure(points_of(load_runs(runs).evaluations))
    (axes,) = figure.axes
    labels = axes.get_legend_handles_labels()[1]
    assert [label.partition(",")[0] for label in labels] == [
        "DQN (nnabla-rl)", "ours: dqn_nnabla", "ours: dqn_nature",
    ]  # fmt: skip
    main(["--runs-dir", str(runs), "--output", str(tmp_path / "figure.png")])
    assert (tmp_path / "figure.png").stat().st_size > 10_000


def test_other_runs_do_not_take_the_place_of_the_figure_that_is_published(runs: Path) -> None:
    told = r"second_dqn\.png is of other runs than these, which differ in runs-dir: .* Name --output "
    with pytest.raises(SystemExit, match=told):
        main(["--runs-dir", str(runs)])


def test_a_folder_without_such_runs_is_named(tmp_path: Path) -> None:
    write_run(tmp_path, [evaluation(1.0)], experiment="dqn")
    with pytest.raises(SystemExit, match="no run of dqn_nnabla or dqn_nature below"):
        main(["--runs-dir", str(tmp_path)])
