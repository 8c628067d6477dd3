"""Epsilon's schedule, its spread over lanes, and epsilon-greedy actions."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pipeline.algorithms.exploration import epsilon_greedy, lane_epsilons
from pipeline.algorithms.exploration_config import ExplorationConfig


def config(initial: float = 1.0, final: float = 0.1, decay: int = 100, spread: float = 0.0) -> ExplorationConfig:
    return ExplorationConfig(
        initial_epsilon=initial, final_epsilon=final, decay_updates=decay, decay_share=None, lane_spread=spread
    )


def epsilon(exploration: ExplorationConfig, version: int) -> float:
    """That of an actor's only lane."""
    (only,) = lane_epsilons(exploration, version, 0.0, num_lanes=1)
    return float(only)


@pytest.mark.parametrize(("version", "expected"), [(0, 1.0), (25, 0.775), (50, 0.55), (99, 0.109)])
def test_epsilon_falls_on_a_line(version: int, expected: float) -> None:
    assert epsilon(config(), version) == pytest.approx(expected)


@pytest.mark.parametrize("version", [100, 101, 2**40])
def test_epsilon_is_exactly_the_final_value_after_the_decay(version: int) -> None:
    assert epsilon(config(final=0.1), version) == 0.1


def over_a_share(decay_share: float) -> ExplorationConfig:
    return replace(config(), decay_updates=None, decay_share=decay_share)


@pytest.mark.parametrize(("share", "expected"), [(0.0, 1.0), (0.1, 0.775), (0.2, 0.55), (0.4, 0.1), (1.0, 0.1)])
def test_epsilon_may_fall_over_a_share_of_the_budget_whatever_was_updated(share: float, expected: float) -> None:
    for version in (0, 50, 2**40):
        assert lane_epsilons(over_a_share(0.4), version, share, num_lanes=1) == pytest.approx([expected])


def test_epsilon_that_falls_over_updates_takes_no_notice_of_the_budget() -> None:
    assert lane_epsilons(config(), 50, 1.0, num_lanes=1).tolist() == [0.55]


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"decay_share": 0.5}, "decay_updates=100 and decay_share=0.5: one of them"),
        ({"decay_updates": None}, "decay_updates=None and decay_share=None: one of them"),
        ({"decay_updates": 0}, "decay_updates=0 must be at least 1"),
        ({"decay_updates": None, "decay_share": 0.0}, "decay_share=0.0 must lie in"),
        ({"decay_updates": None, "decay_share": 1.1}, "decay_share=1.1 must lie in"),
    ],
)
def test_epsilon_falls_over_either_updates_or_a_share(changes: dict[str, Any], named: str) -> None:
    (line,) = replace(config(), **changes).mistakes()
    assert line.startswith(named)
    assert config().mistakes() == over_a_share(1.0).mistakes() == []


def test_epsilon_may_also_rise_or_stay() -> None:
    assert epsilon(config(initial=0.0, final=0.5), 50) == 0.25
    assert epsilon(config(initial=0.3, final=0.3), 50) == 0.3


def test_without_spread_all_lanes_of_all_actors_explore_alike() -> None:
    for actor in range(5):
        assert lane_epsilons(config(), 50, 0.0, num_lanes=3, actor_index=actor, num_actors=5).tolist() == [0.55] * 3


def test_with_spread_the_lanes_of_all_actors_are_numbered_in_one_row_and_later_ones_explore_less() -> None:
    # Horgan et al. 2018: base 0.4, exponents 1 to 8.
    apex = config(initial=0.4, final=0.4, spread=7.0)
    found = [lane_epsilons(apex, 0, 0.0, num_lanes=2, actor_index=actor, num_actors=4) for actor in range(4)]
    expected = [0.4 ** (1 + i) for i in range(8)]
    assert np.concatenate(found) == pytest.approx(expected, rel=1e-12)


def test_the_spread_bends_the_value_of_the_schedule() -> None:
    assert lane_epsilons(config(spread=1.0), 50, 0.0, num_lanes=2) == pytest.approx([0.55, 0.55**2])


def test_at_one_and_at_zero_the_spread_changes_nothing() -> None:
    assert lane_epsilons(config(spread=7.0), 0, 0.0, num_lanes=3).tolist() == [1.0] * 3
    assert lane_epsilons(config(final=0.0, spread=7.0), 100, 0.0, num_lanes=3).tolist() == [0.0] * 3


def test_a_lone_lane_ignores_the_spread() -> None:
    assert epsilon(config(spread=7.0), 50) == 0.55


@pytest.mark.parametrize(("version", "actor_index", "num_actors"), [(-1, 0, 1), (0, 1, 1), (0, -1, 2)])
def test_impossible_versions_and_actors_are_refused(version: int, actor_index: int, num_actors: int) -> None:
    with pytest.raises(ValueError, match=f"version={version} .*actor_index={actor_index} .*num_actors={num_actors}"):
        lane_epsilons(config(), version, 0.0, 4, actor_index, num_actors)


def test_with_epsilon_zero_every_lane_takes_its_largest_value_and_the_first_of_equals() -> None:
    q_values = np.array([[0.0, 2.0, 1.0], [3.0, 3.0, 3.0], [-1.0, -2.0, -1.0]], np.float32)
    actions = epsilon_greedy(q_values, np.zeros(3), np.random.default_rng(0))
    assert actions.dtype == np.int64
    assert actions.tolist() == [1, 0, 0]


def test_with_epsilon_one_all_actions_are_equally_likely() -> None:
    q_values = np.tile(np.array([0.0, 9.0, 1.0, 2.0], np.float32), (40_000, 1))
    counts = np.bincount(epsilon_greedy(q_values, np.ones(40_000), np.random.default_rng(0)), minlength=4)
    assert counts / 40_000 == pytest.approx([0.25] * 4, abs=0.01)


def test_between_the_greedy_action_also_gets_its_share_of_the_random_ones() -> None:
    q_values = np.tile(np.array([0.0, 9.0, 1.0, 2.0], np.float32), (40_000, 1))
    counts = np.bincount(epsilon_greedy(q_values, np.full(40_000, 0.2), np.random.default_rng(0)), minlength=4)
    assert counts / 40_000 == pytest.approx([0.05, 0.85, 0.05, 0.05], abs=0.01)


def test_the_stream_moves_on_alike_whatever_is_chosen() -> None:
    generators = [np.random.default_rng(0) for _ in range(2)]
    for generator, chance, sign in zip(generators, (0.0, 1.0), (1, -1), strict=True):
        epsilon_greedy(sign * np.arange(6, dtype=np.float32).reshape(2, 3), np.full(2, chance), generator)
    assert generators[0].random() == generators[1].random()


def test_each_lane_explores_with_its_own_chance() -> None:
    q_values = np.tile(np.array([0.0, 9.0, 1.0, 2.0], np.float32), (40_000, 1))
    epsilons = np.tile([0.0, 0.8], 20_000)
    actions = epsilon_greedy(q_values, epsilons, np.random.default_rng(0))
    assert set(actions[::2].tolist()) == {1}
    assert (actions[1::2] == 1).mean() == pytest.approx(0.4, abs=0.02)
