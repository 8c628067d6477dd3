"""The sentence at the end of a run."""

import math

import pandas as pd
import pytest

from pipeline.results.scores import MeanInterval
from pipeline.results.verdict import verdict, verdict_of

RANDOM = MeanInterval(1.5, 1.1, 1.9, 30)
THEN = "go on with resume=true"


def test_an_agent_whose_interval_lies_above_the_random_player_s_has_learned() -> None:
    assert verdict("Breakout", MeanInterval(12.3, 10.0, 14.0, 30), RANDOM, THEN) == (
        "the agent scores 12.3 [10.0, 14.0] in Breakout where a random player scores 1.5 [1.1, 1.9] "
        "(means of games, 95 % intervals): it has learned"
    )


@pytest.mark.parametrize(("low", "high"), [(1.9, 9.0), (1.0, 1.5)], ids=["they touch", "they overlap"])
def test_any_other_has_not_and_it_is_said_what_to_do(low: float, high: float) -> None:
    said = verdict("Breakout", MeanInterval((low + high) / 2, low, high, 30), RANDOM, THEN)
    assert said.endswith(": the intervals do not show that it has learned; go on with resume=true")


def test_one_below_the_random_player_is_told_so() -> None:
    said = verdict("Boxing", MeanInterval(-36.4, -39.7, -33.2, 30), MeanInterval(0.5, -1.4, 2.9, 30), THEN)
    assert said.endswith(": it still plays worse than at random; go on with resume=true")


@pytest.mark.parametrize("games", [(1, 30), (30, 1)], ids=["of the agent", "of the random player"])
def test_a_single_game_tells_nothing(games: tuple[int, int]) -> None:
    agent, random = (MeanInterval(5.0, *((4.0, 6.0) if n > 1 else (math.nan, math.nan)), n) for n in games)
    said = verdict("Pong", agent, random, THEN)
    assert "nan" not in said
    assert said.endswith("single games do not tell whether it has learned; raise evaluation.num_episodes")


def test_games_that_all_scored_the_same_have_no_interval_to_show() -> None:
    same = MeanInterval(-21.0, math.nan, math.nan, 2)
    said = verdict("Pong", same, same, THEN)
    assert said.startswith("the agent scores -21.0 in Pong where a random player scores -21.0 (means")
    assert said.endswith("go on with resume=true")


def scores(*rows: tuple[str, str, int, float]) -> pd.DataFrame:
    """Rows of `run_scores`: agent, protocol, version, score; intervals are half a point wide to each side."""
    return pd.DataFrame(
        [
            {"game": "Pong", "agent": agent, "protocol": protocol, "version": version}
            | {"score": score, "low": score - 0.5, "high": score + 0.5, "episodes": 30}
            for agent, protocol, version, score in rows
        ],
        columns=["game", "agent", "protocol", "version", "score", "low", "high", "episodes"],
    )


def test_the_newest_parameters_count_under_the_run_s_own_protocol() -> None:
    found = verdict_of(
        scores(
            ("checkpoint", "noop_starts", 20, 5.0),
            ("checkpoint", "noop_starts", 10, 9.0),
            ("checkpoint", "sticky", 20, 8.0),
            ("best", "noop_starts", 15, 7.0),
            ("random", "noop_starts", 0, -20.0),
        ),
        "Pong",
        "noop_starts",
        THEN,
    )
    assert found is not None
    assert found.startswith("the agent scores 5.0 [4.5, 5.5] in Pong where a random player scores -20.0 [-20.5, -19.5]")


@pytest.mark.parametrize("agent", ["checkpoint", "random"])
def test_without_games_of_both_nothing_is_said(agent: str) -> None:
    assert verdict_of(scores((agent, "noop_starts", 0, 1.0)), "Pong", "noop_starts", THEN) is None
