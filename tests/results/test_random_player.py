"""The floor of every score: who is said to be above our random player, and how seldom that is said by chance."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.results.load import load_runs
from pipeline.results.protocols import HUMAN_STARTS, NOOP_STARTS
from pipeline.results.random_player import BELOW, NO, NOT_KNOWN, NOT_PLAYED, YES, is_above, of_starts, random_scores
from pipeline.results.scores import mean_interval
from pipeline.rows import EvaluationRow
from tests.results.run_folders import evaluation, write_run


def random_games(*scores: float, **changes: Any) -> list[EvaluationRow]:
    return [evaluation(score, number, 0, agent="random", epsilon=1.0, **changes) for number, score in enumerate(scores)]


def test_games_that_several_runs_played_alike_count_once_and_agents_not_at_all(tmp_path: Path) -> None:
    write_run(tmp_path, [*random_games(1.0, 3.0), evaluation(50.0)], experiment="dqn")
    # What a random player does not look at, or does not have, makes no other games.
    write_run(tmp_path, random_games(1.0, 3.0, grey=False, sampled=True), experiment="dba3c")
    (row,) = random_scores(load_runs(tmp_path / "runs")).to_dict("records")
    assert (row["game"], row["mean"]) == ("Pong", 2.0)


def test_several_points_of_one_recorded_game_are_several_games(tmp_path: Path) -> None:
    points = [random_games(float(i), episode_seed=7, start_step=i, start_states="2 points")[0] for i in (1, 2)]
    write_run(tmp_path, points)
    (row,) = random_scores(load_runs(tmp_path / "runs")).to_dict("records")
    assert row["mean"] == 1.5


def test_each_way_to_play_has_its_row_and_starts_choose_theirs(tmp_path: Path) -> None:
    rows = [*random_games(1.0), *random_games(6.0, frame_skip=6, min_frame_skip=6), *random_games(9.0, noop_max=0)]
    write_run(tmp_path, rows)
    random = random_scores(load_runs(tmp_path / "runs"))
    assert len(random) == 3
    assert of_starts(random, NOOP_STARTS)["mean"].to_dict() == {"Pong": 1.0}
    assert of_starts(random, HUMAN_STARTS).empty


@pytest.mark.parametrize(
    ("low", "high", "expected"), [(3.1, 4.0, YES), (3.0, 4.0, NO), (0.0, 1.0, NO), (-1.0, 0.9, BELOW)]
)
def test_intervals_have_to_lie_apart(low: float, high: float, expected: str) -> None:
    assert is_above(low, high, {"low": 1.0, "high": 3.0}) == expected


def test_where_one_of_the_two_has_no_interval_it_is_not_known_and_without_random_games_nothing_is_said() -> None:
    assert is_above(math.nan, math.nan, {"low": 1.0, "high": 3.0}) == NOT_KNOWN
    assert is_above(5.0, 6.0, {"low": math.nan, "high": math.nan}) == NOT_KNOWN
    assert is_above(5.0, 6.0, None) == is_above(math.nan, math.nan, None) == NOT_PLAYED


def test_of_two_equal_players_one_is_seldom_above_and_its_mean_would_often_be() -> None:
    rng = np.random.default_rng(0)
    above, mean_above, pairs = 0, 0, 400
    for _ in range(pairs):
        ours, random = (mean_interval(rng.exponential(size=30), num_resamples=400) for _ in range(2))
        above += is_above(ours.low, ours.high, random._asdict()) == YES
        mean_above += ours.mean > random.high
    assert above / pairs <= 1 / 100
    assert mean_above / pairs >= 1 / 15
