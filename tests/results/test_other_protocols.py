from pathlib import Path
from typing import Any

import pytest

from pipeline.results.formats import ReportTable
from pipeline.results.load import load_runs
from pipeline.results.other_protocols import other_protocols_table
from pipeline.results.protocols import BA3C_PLAYED
from pipeline.results.random_player import random_scores
from pipeline.results.run_scores import run_scores
from tests.results.run_folders import evaluation, write_run

BA3C: dict[str, Any] = {"protocol": "ba3c_50", **BA3C_PLAYED}


def table(tmp_path: Path) -> ReportTable:
    loaded = load_runs(tmp_path / "runs")
    return other_protocols_table(run_scores(loaded), random_scores(loaded))


def test_each_score_stands_with_its_protocol_and_what_differs(tmp_path: Path) -> None:
    for seed, score in enumerate([10.0, 11.0, 12.0]):
        write_run(tmp_path, [evaluation(score, protocol="sticky", sticky_probability=0.25)], seed=seed)
    (row,) = table(tmp_path).text.to_dict("records")
    assert row == {
        "game": "Pong",
        "agent": "ours: gorila",
        "protocol": "sticky",
        "score": "11.0 [8.5, 13.5]",
        "seeds": "3",
        "our random": "not played",
        "above random": "not played",
        "DBA3C, as listed": "-",
        "played otherwise": "sticky_probability 0.25 instead of 0.0",
    }


def test_scores_listed_for_dba3c_stand_only_beside_its_own_protocol_and_with_a_warning(tmp_path: Path) -> None:
    write_run(tmp_path, [evaluation(310.0, **BA3C), evaluation(9.0, max_frames=400)], "dba3c", "Breakout")
    write_run(tmp_path, [evaluation(310.0, **BA3C)], "dba3c", "Alien")
    write_run(tmp_path, [evaluation(310.0, **(BA3C | {"epsilon": 0.05}))], "changed", "Breakout")
    found = table(tmp_path)
    assert found.text[["game", "protocol", "DBA3C, as listed"]].to_numpy().tolist() == [
        ["Alien", "ba3c_50", "-"],
        ["Breakout", "ba3c_50", "-"],
        ["Breakout", "ba3c_50", "350.0"],
        ["Breakout", "noop_starts", "-"],
    ]
    assert any("no equal" in note for note in found.notes)


def test_published_protocols_and_random_players_have_no_row(tmp_path: Path) -> None:
    write_run(tmp_path, [evaluation(1.0), evaluation(1.0, agent="random", max_frames=400)])
    assert len(table(tmp_path).text) == 0


def test_the_random_player_of_the_same_protocol_stands_beside_the_score(tmp_path: Path) -> None:
    ours = [evaluation(score, number, **BA3C) for number, score in enumerate((5.0, 6.0))]
    other = BA3C | {"agent": "random", "epsilon": 1.0, "max_equal_actions": 0, "grey": True}
    random = [evaluation(score, number, **other) for number, score in enumerate((0.0, 1.0))]
    fast = [evaluation(50.0, number, **(other | {"frame_skip": 2})) for number in range(2)]
    write_run(tmp_path, [*ours, *random, *fast])
    (row,) = table(tmp_path).text.to_dict("records")
    assert row["our random"].startswith("0.5 [")
    assert row["above random"] == "yes"


@pytest.mark.parametrize(("num_games", "expected"), [(30, "below"), (2, "not known")])
def test_seeds_that_all_score_the_same_are_known_by_the_games_of_each(
    tmp_path: Path, num_games: int, expected: str
) -> None:
    played: dict[str, Any] = {"protocol": "short", "max_frames": 9_000}
    random = [evaluation(-20.0 + n % 2 / 2, n, 0, agent="random", **(played | {"epsilon": 1.0})) for n in range(30)]
    for seed in range(3):
        write_run(tmp_path, [*(evaluation(-21.0, n, **played) for n in range(num_games)), *random], seed=seed)
    found = table(tmp_path)
    (row,) = found.text.to_dict("records")
    assert row["above random"] == expected
    assert row["score"] == ("-21.0 [-21.0, -21.0]" if num_games == 30 else "-21.0")
    assert any("Seeds that all score the same" in note for note in found.notes) == (num_games == 30)
    assert any('"not known": ' in note for note in found.notes) == (num_games == 2)
