import io
from pathlib import Path

import pytest
from rich.console import Console

from pipeline.results.formats import as_markdown
from pipeline.results.load import load_run, load_runs
from pipeline.results.table import as_report_table, as_rich, game_table
from tests.results.run_folders import evaluation, write_run


def test_published_rows_come_first_with_their_protocol_and_paper(tmp_path: Path) -> None:
    table = game_table(load_run(write_run(tmp_path, [evaluation(0.0)])), "Pong")
    rows = table[["agent", "score", "protocol", "source"]].to_numpy().tolist()
    assert rows[:4] == [
        ["random player", -20.7, "noop_starts", "Mnih et al. 2015"],
        ["human", 9.3, "noop_starts", "Mnih et al. 2015"],
        ["DQN (Nature)", 18.9, "noop_starts", "Mnih et al. 2015"],
        ["Gorila DQN", 18.3, "noop_starts", "Nair et al. 2015"],
    ]
    assert table["normalised"][:3].tolist() == pytest.approx([0, 100, 132])


def test_our_row_is_the_mean_of_the_newest_parameters_not_of_the_best(tmp_path: Path) -> None:
    old = [evaluation(20.0, number, version=100, total_frames=400) for number in range(3)]
    new = [
        evaluation(score, number, version=200, total_frames=800) for number, score in enumerate([-21.0, -20.0, -4.0])
    ]
    table = game_table(load_run(write_run(tmp_path, [*old, *new], seed=5, commit="0123456789")), "Pong")
    ours = table.iloc[-1]
    assert (ours["agent"], ours["score"], ours["episodes"], ours["frames"]) == ("ours: gorila", -15.0, 3, 800)
    assert -21.0 <= ours["low"] < -15.0 < ours["high"] <= -4.0
    assert ours["normalised"] == pytest.approx(100 * 5.7 / 30)
    assert ours["source"] == "run gorila/Pong/5 at 0123456"


def test_a_score_under_another_protocol_is_named_as_such_and_not_normalised(tmp_path: Path) -> None:
    played = [evaluation(1.0, number, sticky_probability=0.25, max_frames=400) for number in range(2)]
    table = game_table(load_run(write_run(tmp_path, played)), "Pong")
    assert table.iloc[-1]["differs"] == "sticky_probability 0.25 instead of 0.0, max_frames 400 instead of 18000"
    assert table["normalised"].isna().tolist() == [False] * 4 + [True]
    assert "not the published protocol: sticky_probability 0.25 instead of 0.0" in as_markdown(
        as_report_table(table, "Pong")
    )


def test_our_random_player_stands_beside_the_published_one_with_the_difference_named(tmp_path: Path) -> None:
    played = [evaluation(-21.0, number, agent="random", version=0, epsilon=1.0) for number in range(2)]
    table = game_table(load_run(write_run(tmp_path, [*played, evaluation(-10.0)])), "Pong")
    assert table["agent"].tolist()[4:] == ["ours: gorila", "ours: random player"]
    assert table["differs"].tolist() == [""] * 6
    assert "every 6th frame" in as_markdown(as_report_table(table, "Pong"))


def test_the_best_played_again_has_its_row_and_evaluations_during_training_have_none(tmp_path: Path) -> None:
    rows = [evaluation(-5.0), evaluation(3.0, agent="training"), evaluation(-4.0, agent="best")]
    table = game_table(load_run(write_run(tmp_path, rows)), "Pong")
    ours = table.iloc[4:].set_index("agent")["score"].to_dict()
    assert ours == {"ours: gorila, best": -4.0, "ours: gorila": -5.0}
    assert "played again on fresh seeds" in as_markdown(as_report_table(table, "Pong"))


def test_each_run_of_the_game_has_its_row_and_other_games_none(tmp_path: Path) -> None:
    for experiment, game, seed in [
        ("dqn", "Pong", 0),
        ("gorila", "Pong", 0),
        ("gorila", "Pong", 1),
        ("gorila", "Hero", 0),
    ]:
        folder = write_run(tmp_path, [evaluation(1.0)], experiment=experiment, game=game, seed=seed)
    table = game_table(load_runs(folder.parents[2]), "Pong")
    assert table["source"].tolist()[4:] == ["run dqn/Pong/0", "run gorila/Pong/0", "run gorila/Pong/1"]


def test_a_game_that_nobody_published_has_our_rows_only(tmp_path: Path) -> None:
    table = game_table(load_run(write_run(tmp_path, [evaluation(1.0)], game="Skiing")), "Skiing")
    assert table["agent"].tolist() == ["ours: gorila"]
    assert table["normalised"].isna().all()


def test_a_run_without_evaluations_leaves_the_published_rows_and_says_so(tmp_path: Path) -> None:
    table = game_table(load_run(write_run(tmp_path, [])), "Pong")
    assert len(table) == 4
    assert "No evaluation of ours was found." in as_markdown(as_report_table(table, "Pong"))


def test_the_text_shows_mean_interval_and_number_of_episodes(tmp_path: Path) -> None:
    played = [evaluation(score, number) for number, score in enumerate([1000.0] * 10)]
    table = game_table(load_run(write_run(tmp_path, played, game="Breakout")), "Breakout")
    lines = as_markdown(as_report_table(table, "Pong")).splitlines()
    assert lines[0].count("|") == lines[1].count("|") == lines[6].count("|")
    assert lines[6] == (
        "| ours: gorila | 1,000.0 | [1,000.0, 1,000.0] | 10 | 3,316.6 | 4,000 | noop_starts | run gorila/Breakout/0 |"
    )


def test_the_terminal_shows_whole_numbers_and_our_source_within_80_columns(tmp_path: Path) -> None:
    played = [evaluation(score, number) for number, score in enumerate([1000.0] * 10)]
    folder = write_run(tmp_path, played, game="Breakout", commit="0123456789")
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(as_rich(game_table(load_run(folder), "Breakout"), "Breakout, gorila"))
    lines = [" ".join(line.split()) for line in console.export_text().splitlines()]
    assert "DQN (Nature) 401.2 1,327.2" in lines
    assert "ours: gorila 1,000.0 [1,000.0, 1,000.0] 10 3,316.6" in lines
    assert "ours: gorila: run gorila/Breakout/0 at 0123456, protocol noop_starts, 4,000" in " ".join(lines)


def test_names_with_brackets_are_shown_as_they_are(tmp_path: Path) -> None:
    folder = write_run(tmp_path, [evaluation(1.0, protocol="[mine]")], game="Breakout")
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(as_rich(game_table(load_run(folder), "Breakout"), "Breakout, [old]/0"))
    shown = " ".join(console.export_text().split())
    assert "Breakout, [old]/0" in shown and "protocol [mine]" in shown


def test_actions_drawn_from_a_policy_are_named_and_normalised(tmp_path: Path) -> None:
    rows = [evaluation(1.7), evaluation(31.8, sampled=True)]
    table = game_table(load_run(write_run(tmp_path, rows, "dba3c", "Breakout")), "Breakout")
    ours = table[table["agent"].str.startswith("ours: ")]
    assert dict(zip(ours["agent"], ours["normalised"].round(3), strict=True)) == {
        "ours: dba3c": 0.0,
        "ours: dba3c, sampled": 100.0,
    }
    assert "actions drawn from the agent's policy" in as_markdown(as_report_table(table, "Breakout"))
