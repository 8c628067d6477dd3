"""Our agents on few games: rows by protocol, the random player first, seeds and intervals."""

from pathlib import Path

import pandas as pd
import pytest

from pipeline.results.load import load_runs
from pipeline.results.our_agents import our_agents, our_agents_table
from pipeline.results.run_scores import run_scores
from pipeline.rows import EvaluationRow
from tests.results.run_folders import evaluation, write_run


@pytest.fixture
def scores(tmp_path: Path) -> pd.DataFrame:
    """Of gorila on Pong with two seeds and on Hero with one, under two protocols, and of the random player."""

    def games(score: float) -> list[EvaluationRow]:
        sticky = evaluation(score + 1, protocol="sticky", sticky_probability=0.25)
        return [evaluation(score), sticky, evaluation(-20.0, agent="random", epsilon=1.0, version=0)]

    write_run(tmp_path, games(2.0))
    write_run(tmp_path, games(4.0), seed=1)
    write_run(tmp_path, games(7.0), game="Hero")
    return run_scores(load_runs(tmp_path / "runs"))


def test_a_row_has_the_mean_over_seeds_and_a_single_seed_is_marked(scores: pd.DataFrame) -> None:
    table = our_agents_table(scores, ["Hero", "Pong"]).text
    assert table[["agent", "protocol", "seeds"]].to_numpy().tolist() == [
        ["random player", "noop_starts", "1-2"],
        ["gorila", "noop_starts", "1-2"],
        ["gorila", "sticky *", "1-2"],
    ]
    assert table["Pong"].tolist() == ["-20.0", "3.0 [-9.7, 15.7]", "4.0 [-8.7, 16.7]"]
    assert table["Hero"].tolist() == ["-20.0†", "7.0†", "8.0†"]
    assert table["hours"].tolist() == ["-", "0.02", "0.02"]


def test_a_game_without_runs_is_missing_and_a_protocol_says_how_it_differs(scores: pd.DataFrame) -> None:
    table = our_agents_table(scores[scores["entry"] == "gorila"], ["Breakout", "Pong"])
    assert set(table.text["Breakout"]) == {"missing"}
    assert table.notes[-1].startswith("* sticky: played otherwise") and "sticky_probability 0.25" in table.notes[-1]


def test_numbers_count_seeds_and_games_and_leave_out_the_random_player_s_training(scores: pd.DataFrame) -> None:
    numbers = our_agents(scores)
    of_pong = numbers[(numbers["protocol"] == "noop_starts") & (numbers["game"] == "Pong")].set_index("entry")
    assert of_pong.loc[["gorila"], ["seeds", "episodes", "frames"]].to_numpy().tolist() == [[2, 2, 4000]]
    assert of_pong["frames"].isna().to_dict() == {"random player": True, "gorila": False}


def test_a_random_player_beside_two_experiments_with_one_seed_has_played_once(tmp_path: Path) -> None:
    for experiment in ("dqn", "gorila"):
        for seed, score in ((0, -20.0), (1, -18.0)):
            played = evaluation(score, agent="random", epsilon=1.0, version=0)
            write_run(tmp_path, [evaluation(2.0), played], experiment=experiment, seed=seed)
    numbers = our_agents(run_scores(load_runs(tmp_path / "runs"))).set_index("entry")
    random = numbers.loc["random player"]
    assert (random["score"], random["seeds"], random["episodes"]) == (-19.0, 2, 2)
    assert (random["low"], random["high"]) == pytest.approx((-31.7, -6.3), abs=0.05)


def test_seeds_that_all_score_the_same_have_the_intervals_of_their_games(tmp_path: Path) -> None:
    for seed in range(2):
        write_run(tmp_path, [evaluation(score, number) for number, score in enumerate((1.0, 2.0, 3.0))], seed=seed)
    scores = run_scores(load_runs(tmp_path / "runs"))
    table = our_agents_table(scores, ["Pong"])
    assert table.numbers[["low", "high"]].to_numpy().tolist() == [[scores["low"].min(), scores["high"].max()]]
    assert any("Seeds that all score the same" in note for note in table.notes)
