"""Evaluation games: streams per game, rows that say under which protocol they were played."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from pipeline.envs.atari import EnvironmentReport
from pipeline.envs.due_lanes import DueLanes
from pipeline.envs.due_step import DueStep
from pipeline.envs.protocol import EnvironmentConfig
from pipeline.errors import ConfigError
from pipeline.evaluation import play as play_module
from pipeline.evaluation.play import ActionPreferences, evaluate, evaluate_random_agent
from pipeline.evaluation.protocol import EvaluationConfig
from pipeline.rows import EvaluationRow
from pipeline.types import Float32Array, Int64Array, UInt8Array
from tests.protocols import nature_protocol

RANDOM_SKIP: dict[str, Any] = {"frame_skip": 4, "min_frame_skip": 2, "max_pool": False}


def short_games(
    num_episodes: int = 4, epsilon: float = 0.05, max_equal_actions: int | None = None, **changes: Any
) -> EvaluationConfig:
    environment = nature_protocol(**{"max_frames": 600, "frame_height": 20, "frame_width": 20, **changes})
    return EvaluationConfig("short", num_episodes, epsilon, "greedy", max_equal_actions, None, environment)


def likes_pixels(observations: UInt8Array) -> Float32Array:
    """Values of Breakout's 4 actions that change with every picture; integers, so that any batch adds up alike."""
    best = observations.sum(axis=(1, 2, 3), dtype=np.int64) % 4
    values: Float32Array = np.eye(4, dtype=np.float32)[best]
    return values


def prefers_nothing(observations: UInt8Array) -> Float32Array:
    """The same values for all 4 actions: the first, a no-op, is the greedy one."""
    return np.zeros((len(observations), 4), dtype=np.float32)


def play(
    config: EvaluationConfig,
    preferences: ActionPreferences = likes_pixels,
    seed: int = 0,
    num_lanes: int = 2,
    stop: Callable[[], bool] = lambda: False,
    samples: bool = False,
) -> list[EvaluationRow]:
    games = evaluate(
        "Breakout",
        config,
        preferences,
        seed,
        num_threads=1,
        agent="checkpoint",
        version=30,
        total_frames=4_000,
        wall_seconds=12.5,
        num_lanes=num_lanes,
        stop=stop,
        samples=samples,
    )
    return [game.row for game in games]


def outcome(rows: list[EvaluationRow]) -> list[tuple[int, int, float, int]]:
    return [(row.episode, row.episode_seed, row.score, row.num_steps) for row in rows]


@pytest.mark.parametrize("changes", [{}, pytest.param(RANDOM_SKIP, marks=pytest.mark.slow)])
def test_scores_do_not_depend_on_the_number_of_lanes(changes: dict[str, Any]) -> None:
    config = short_games(num_episodes=3, epsilon=0.3, max_frames=900, sticky_probability=0.25, **changes)
    # More lanes than games, too.
    alone, pair, crowd = (outcome(play(config, num_lanes=num_lanes)) for num_lanes in (1, 2, 4))
    assert alone == pair == crowd
    assert len({num_steps for *_, num_steps in alone}) > 1


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
    assert {(row.min_frame_skip, row.max_equal_actions) for row in rows} == {(4, 0)}
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
    games = evaluate_random_agent("Breakout", short_games(num_episodes=6, max_frames=4_000), 0, num_threads=1)
    rows = [game.row for game in games]
    assert {(row.agent, row.epsilon, row.version, row.total_frames) for row in rows} == {("random", 1.0, 0, 0)}
    assert not any(row.truncated for row in rows)
    # Published: 1.7 (Mnih et al. 2015, extended data table 2). One game's standard deviation is about 1.3.
    assert math.isclose(np.mean([row.score for row in rows]), 1.7, abs_tol=1.6)


def test_rows_of_random_frame_skips_name_both_ends() -> None:
    (row,) = play(short_games(num_episodes=1, max_equal_actions=30, max_frames=40, **RANDOM_SKIP))
    assert (row.frame_skip, row.min_frame_skip, row.max_equal_actions) == (4, 2, 30)
    assert 10 <= row.num_steps <= 20


class ScriptedLanes(DueLanes):
    """Two games of 8 steps each, lane 1 due at every other step only; observations are [seed, step]."""

    num_lanes = 2
    num_actions = 3

    def __init__(self, game: str, config: EnvironmentConfig) -> None:
        self.game = game
        self.config = config
        self.played: list[list[int]] = [[], []]
        self._seeds = np.zeros(2, np.int64)
        self._due = np.arange(2)

    def reset(self, seeds: Int64Array) -> DueStep:
        self._seeds = seeds - seeds[0]
        return self._due_step()

    def reset_lanes(self, lanes: Int64Array, seeds: Int64Array) -> DueStep:
        raise NotImplementedError

    def step(self, actions: Int64Array) -> DueStep:
        for lane, action in zip(self._due.tolist(), actions.tolist(), strict=True):
            self.played[lane].append(action)
        self._due = np.arange(2) if self._due.size == 1 else np.array([0])
        return self._due_step()

    def report(self) -> EnvironmentReport:
        return EnvironmentReport(4, 2, 0.0, 0, 100, False, True, "Pong", 3, 4, "", "")

    def close(self) -> None:
        pass

    def _due_step(self) -> DueStep:
        steps = np.array([len(self.played[lane]) for lane in self._due])
        observation = np.stack([self._seeds[self._due], steps], axis=1).astype(np.uint8)
        nothing = np.zeros(self._due.size, np.bool_)
        return DueStep(self._due, observation, nothing.astype(np.float32), steps == 8, nothing, steps, nothing)


def test_the_last_of_many_equal_choices_and_those_behind_it_become_action_1(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = {0: [0, 0, 0, 0, 2, 0, 0, 0], 1: [2, 2, 0, 2, 2, 2, 2, 2]}
    lanes = ScriptedLanes("Pong", nature_protocol())
    monkeypatch.setattr(play_module, "make_due_lanes", lambda *_: lanes)

    def by_script(observations: UInt8Array) -> Float32Array:
        preferences: Float32Array = np.eye(3, dtype=np.float32)[[chosen[seed][step] for seed, step in observations]]
        return preferences

    play(short_games(num_episodes=2, epsilon=0.0, max_equal_actions=3), by_script)
    assert lanes.played[0][:8] == [0, 0, 1, 1, 2, 0, 0, 1]
    assert lanes.played[1][:8] == [2, 2, 0, 2, 2, 1, 1, 1]


def test_a_game_that_waits_for_fire_goes_on_where_equal_actions_are_limited() -> None:
    # As above: without FIRE no ball is served, and only the frame cap would end the game.
    rows = play(short_games(num_episodes=2, epsilon=0.0, max_equal_actions=30, max_frames=3_000), prefers_nothing)
    assert not any(row.truncated for row in rows)


def test_an_evaluation_that_is_stopped_has_no_rows() -> None:
    answers = iter([False, False, False, True])
    num_asked = 0

    def count(observations: UInt8Array) -> Float32Array:
        nonlocal num_asked
        num_asked += 1
        return prefers_nothing(observations)

    assert play(short_games(), count, stop=lambda: next(answers)) == []
    assert num_asked == 3


def test_drawn_actions_come_as_often_as_the_policy_says_and_depend_on_the_game_alone() -> None:
    config = short_games(num_episodes=3, epsilon=0.0, max_frames=3_000)
    probabilities = np.array([0.5, 0.25, 0.125, 0.125])

    def draw(num_lanes: int) -> list[bytes]:
        games = evaluate(
            "Breakout",
            config,
            lambda observations: np.tile(np.log(probabilities).astype(np.float32), (len(observations), 1)),
            0,
            num_threads=1,
            agent="checkpoint",
            version=1,
            total_frames=0,
            wall_seconds=0.0,
            samples=True,
            num_lanes=num_lanes,
        )
        assert all(game.row.sampled for game in games)
        return [game.episode.actions for game in games]

    games = draw(num_lanes=1)
    assert games == draw(num_lanes=3) and len(set(games)) == 3
    counts = np.bincount(np.frombuffer(b"".join(games), dtype=np.uint8), minlength=4)
    assert chisquare(counts, counts.sum() * probabilities).pvalue > 0.001


def test_a_policy_that_is_neither_greedy_nor_sampled_is_a_mistake() -> None:
    config = replace(short_games(), policy="best")
    assert config.mistakes() == ["policy=best must be one of greedy, sampled"]


@pytest.mark.parametrize("max_equal_actions", [0, 1])
def test_a_limit_that_would_force_every_action_is_a_mistake(max_equal_actions: int) -> None:
    assert short_games(max_equal_actions=max_equal_actions).mistakes() == [
        f"max_equal_actions={max_equal_actions} must be at least 2, or null for never"
    ]


def test_an_impossible_protocol_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"environment\.frame_skip=0"):
        play(short_games(frame_skip=0))
