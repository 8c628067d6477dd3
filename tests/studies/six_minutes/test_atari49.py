"""What is counted over games, and a real game of all three systems."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pipeline.games import ATARI49
from pipeline.results.protocols import NOOP_STARTS
from pipeline.results.published import load_published
from studies.six_minutes import atari49, tuning
from studies.six_minutes.atari49 import (
    ORDER,
    SYSTEMS,
    figure_of,
    games_table,
    settings_of,
    share_cell,
    systems_table,
    wins_table,
)
from studies.six_minutes.tables import tables
from tests.studies.six_minutes.toy import TINY, row


def tuned(**best: str) -> list[object]:
    """Rows of a tuning in which these cases are the best of their systems."""
    return [
        row(case, game, 200.0 if case in best.values() else 100.0)
        for cases in tuning.CASES.values()
        for case in cases
        for game in tuning.GAMES
    ]


ROWS = pd.DataFrame(
    [
        *(row("gorila", "Pong", 150.0), row("dqn", "Pong", 100.0), row("dba3c", "Pong", 50.0, drawn=130.0)),
        *(row("gorila", "Alien", 110.0), row("dqn", "Alien", 105.0), row("dba3c", "Alien", 110.0, drawn=90.0)),
        *(row("gorila", "Hero", 100.0), row("dqn", "Hero", 140.0), row("dba3c", "Hero", 160.0, drawn=150.0)),
    ]
)


def test_dqn_has_the_settings_of_gorila_and_both_those_that_were_chosen() -> None:
    rows = pd.DataFrame(tuned(gorila="gorila, three steps", dba3c="dba3c, half of them"))
    settings = settings_of(rows)
    as_tuned = "algorithm.outlier_min_error=0"
    assert settings["gorila"] == ("experiment=gorila_quick", as_tuned, "algorithm.n_step=3")
    assert settings["dqn"] == ("experiment=dqn_quick", "topology.compute_threads=2", "algorithm.n_step=3")
    assert settings["dba3c"][:2] == ("experiment=dba3c_quick", "network.centred_pixels=true")
    assert "2.5e-4" in settings["dba3c"][2]


def test_the_49_are_not_played_before_settings_are_chosen(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="the settings of gorila are not chosen yet"):
        atari49.main(["--output", str(tmp_path)])
    assert list(tmp_path.iterdir()) == []


def test_the_games_that_are_there_at_any_time_are_a_sample_of_the_49() -> None:
    assert sorted(ORDER) == sorted(ATARI49)
    assert ORDER[:5] == ("Robotank", "Krull", "VideoPinball", "Zaxxon", "Jamesbond")


def test_who_is_ahead_is_told_by_whole_intervals() -> None:
    of = {line.split(" | ")[0]: line for line in games_table(ROWS).splitlines()}
    assert "150.0 [140.0, 160.0], above | 100.0 [90.0, 110.0] | gorila |" in of["| Pong"]
    assert "110.0 [100.0, 120.0] | 105.0 [95.0, 115.0] |  |" in of["| Alien"]
    assert "| dqn |" in of["| Hero"]
    curves = load_published("budget_curves").reset_index()
    at_first = curves.query("game == 'Pong' and frames == 1_000_000 and agent == 'DQN (nnabla-rl)'")
    (dqn,) = at_first.to_dict("records")
    assert f"| {dqn['score']:.1f} [{dqn['low']:.1f}, {dqn['high']:.1f}] |" in of["| Pong"]


def test_wins_are_counted_over_games() -> None:
    assert wins_table(ROWS).splitlines()[2] == "| 3 | 1 | 1 | 2 of 3: 67 % [21 %, 94 %] |"
    # Wilson's interval of 10 in 20, by hand: 0.5 +- 1.96 * sqrt(0.25 / 20 + 1.96^2 / 1600) / (1 + 1.96^2 / 20).
    assert share_cell(10, 20) == "50 % [30 %, 70 %]"
    assert share_cell(0, 0) == "-"


def test_a_system_has_a_line_for_each_way_to_play() -> None:
    lines = systems_table(ROWS).splitlines()[2:]
    assert [line.split(" | ")[3:5] for line in lines] == [["1", "0"], ["1", "0"], ["1", "1"], ["2", "0"]]
    assert [line.split(" | ")[0] for line in lines] == ["| gorila", "| dqn", "| dba3c, greedy", "| dba3c, drawn"]


def test_the_figure_has_a_line_a_game_the_furthest_ahead_on_top() -> None:
    (axes,) = figure_of(ROWS).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["Hero", "Alien", "Pong"]
    of = {line.get_label(): line for line in axes.get_lines()}
    published = load_published().loc["Pong"]
    human, random = published[NOOP_STARTS.human], published[NOOP_STARTS.random]
    assert np.asarray(of["gorila"].get_xdata())[2] == pytest.approx(100 * (150.0 - random) / (human - random))
    assert np.asarray(of["dqn"].get_xdata())[2] == pytest.approx(100 * (100.0 - random) / (human - random))


@pytest.mark.slow
def test_a_game_has_the_rows_of_all_systems_and_is_not_trained_again(tmp_path: Path) -> None:
    tuning.tuning_rows(tmp_path).append(*tuned(gorila="gorila", dba3c="dba3c"))  # type: ignore[arg-type]
    words = [*TINY, "budget.minutes=0.1"]
    arguments = ["--games", "Pong", "--runs-dir", str(tmp_path / "runs"), "--output", str(tmp_path), *words]
    atari49.main(arguments)
    rows = atari49.atari49_rows(tmp_path).frame()
    assert list(rows["case"]) == list(SYSTEMS)
    assert (rows["frames"] > 0).all() and rows["drawn"].notna().tolist() == [False, False, True]
    assert "| Pong |" in tables(tmp_path)["games"]
    assert (tmp_path / "atari49.png").stat().st_size > 10_000
    written = (tmp_path / "atari49.csv").read_text()
    atari49.main(arguments)
    assert (tmp_path / "atari49.csv").read_text() == written
