"""Evaluation games: streams per game, rows that say under which protocol they were played."""

import math
from typing import Any

import numpy as np
import pytest

from pipeline.errors import ConfigError
from pipeline.evaluation.play import QValues, evaluate, evaluate_random_agent
from pipeline.evaluation.protocol import EvaluationConfig
from pipeline.rows import EvaluationRow
from pipeline.types import Float32Array, UInt8Array
from tests.protocols import nature_protocol


def short_games(num_episodes: int = 4, epsilon: float = 0.05, **changes: Any) -> EvaluationConfig:
    environment = nature_protocol(**{"max_frames": 600, "frame_height": 20, "frame_width": 20, **changes})
    return EvaluationConfig("short", num_episodes=num_episodes, epsilon=epsilon, environment=environment)


def likes_pixels(observations: UInt8Array) -> Float32Array:
    """Values of Breakout's 4 actions that change with every picture; integers, so that any batch adds up alike."""
    best = observations.sum(axis=(1, 2, 3), dtype=np.int64) % 4
    values: Float32Array = np.eye(4, dtype=np.float32)[best]
    return values


def prefers_nothing(observations: UInt8Array) -> Float32Array:
    """The same values for all 4 actions: the first, a no-op, is the greedy one."""
    return np.zeros((len(observations), 4), dtype=np.float32)


def play(
    config: EvaluationConfig, q_values: QValues = likes_pixels, seed: int = 0, num_lanes: int = 4
) -> list[EvaluationRow]:
    return evaluate(
        "Breakout",
        config,
        q_values,
        seed,
        num_threads=1,
        agent="checkpoint",
        version=30,
        total_frames=4_000,
        wall_seconds=12.5,
        num_lanes=num_lanes,
    )


def outcome(rows: list[EvaluationRow]) -> list[tuple[int, int, float, int]]:
    return [(row.episode, row.episode_seed, row.score, row.num_steps) for row in rows]


def test_scores_do_not_depend_on_the_number_of_lanes() -> None:
    config = short_games(num_episodes=3, epsilon=0.3, max_frames=900, sticky_probability=0.25)
    one, two, eight = (outcome(play(config, num_lanes=num_lanes)) for num_lanes in (1, 2, 8))
    assert one == two == eight
    assert len({num_steps for *_, num_steps in one}) > 1


def test_another_seed_plays_other_games_and_the_same_seed_the_same() -> None:
    config = short_games(num_episodes=2, epsilon=0.3)
    rows, again, other = (play(config, seed=seed) for seed in (0, 0, 1))
    assert outcome(rows) == outcome(again)
    assert {row.episode_seed for row in rows}.isdisjoint(row.episode_seed for row in other)


def test_games_start_with_different_numbers_of_no_ops() -> None:
    firsts: list[bytes] = []

    def remember(observations: UInt8Array) -> Float32Array:
        firsts.extend(observation.tobytes() for observation in observations)
        return prefers_nothing(observations)[:, :3]

    # One step a game, so that only first observations are seen. The cars of Freeway move in every frame.
    config = short_games(num_episodes=6, max_frames=4, frame_height=84, frame_width=84)
    evaluate(
        "Freeway", config, remember, 0, num_threads=1, agent="checkpoint", version=0, total_frames=0, wall_seconds=0.0
    )
    assert len(firsts) == 6
    assert len(set(firsts)) >= 4


def test_rows_carry_the_protocol_the_agent_and_the_numbers_of_the_checkpoint() -> None:
    rows = play(short_games(num_episodes=2, noop_max=5, sticky_probability=0.25, max_frames=40, full_action_set=True))
    assert [row.episode for row in rows] == [0, 1]
    assert {(row.protocol, row.agent, row.version, row.total_frames) for row in rows} == {
        ("short", "checkpoint", 30, 4_000)
    }
    assert {(row.frame_skip, row.sticky_probability, row.noop_max, row.max_frames) for row in rows} == {
        (4, 0.25, 5, 40)
    }
    assert {(row.full_action_set, row.grey, row.epsilon) for row in rows} == {(True, True, 0.05)}
    assert all((row.truncated, row.num_steps) == (True, 10) for row in rows)
    assert all(row.wall_seconds == 12.5 for row in rows)


def test_epsilon_zero_follows_the_values() -> None:
    # Without FIRE (action 1) Breakout never serves a ball: only the frame cap ends the game.
    rows = play(short_games(num_episodes=2, epsilon=0.0), prefers_nothing)
    assert [(row.score, row.num_steps, row.truncated) for row in rows] == [(0.0, 150, True)] * 2


def test_epsilon_is_the_share_of_random_actions() -> None:
    values_asked: list[UInt8Array] = []

    def count(observations: UInt8Array) -> Float32Array:
        values_asked.append(observations)
        return prefers_nothing(observations)

    rows = play(short_games(num_episodes=2, epsilon=0.5, max_frames=2_000), count)
    assert sum(len(observations) for observations in values_asked) == sum(row.num_steps for row in rows)
    assert any(not row.truncated for row in rows)  # exploring served the balls that the values never would


def test_the_random_agent_plays_uniformly_and_says_so() -> None:
    rows = evaluate_random_agent("Breakout", short_games(num_episodes=6, max_frames=4_000), 0, num_threads=1)
    assert {(row.agent, row.epsilon, row.version, row.total_frames) for row in rows} == {("random", 1.0, 0, 0)}
    assert not any(row.truncated for row in rows)
    # Published: 1.7 (Mnih et al. 2015, extended data table 2). One game's standard deviation is about 1.3.
    assert math.isclose(np.mean([row.score for row in rows]), 1.7, abs_tol=1.6)


def test_an_impossible_protocol_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"environment\.frame_skip=0"):
        play(short_games(frame_skip=0))
