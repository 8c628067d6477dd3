"""Epsilon's schedule and epsilon-greedy actions."""

import numpy as np
import pytest

from pipeline.algorithms.config import ExplorationConfig
from pipeline.algorithms.exploration import epsilon, epsilon_greedy


def config(initial: float = 1.0, final: float = 0.1, decay: int = 100, spread: float = 0.0) -> ExplorationConfig:
    return ExplorationConfig(initial_epsilon=initial, final_epsilon=final, decay_updates=decay, actor_spread=spread)


@pytest.mark.parametrize(("version", "expected"), [(0, 1.0), (25, 0.775), (50, 0.55), (99, 0.109)])
def test_epsilon_falls_on_a_line(version: int, expected: float) -> None:
    assert epsilon(config(), version) == pytest.approx(expected)


@pytest.mark.parametrize("version", [100, 101, 2**40])
def test_epsilon_is_exactly_the_final_value_after_the_decay(version: int) -> None:
    assert epsilon(config(final=0.1), version) == 0.1


def test_epsilon_may_also_rise_or_stay() -> None:
    assert epsilon(config(initial=0.0, final=0.5), 50) == 0.25
    assert epsilon(config(initial=0.3, final=0.3), 50) == 0.3


def test_without_spread_all_actors_explore_alike() -> None:
    assert {epsilon(config(), 50, actor, num_actors=5) for actor in range(5)} == {0.55}


def test_with_spread_later_actors_explore_less() -> None:
    # Horgan et al. 2018: base 0.4, exponents 1 to 8.
    apex = config(initial=0.4, final=0.4, spread=7.0)
    found = [epsilon(apex, 0, actor, num_actors=3) for actor in range(3)]
    assert found == pytest.approx([0.4, 0.4**4.5, 0.4**8])


def test_a_single_actor_ignores_the_spread() -> None:
    assert epsilon(config(spread=7.0), 50) == 0.55


@pytest.mark.parametrize(("version", "actor_index", "num_actors"), [(-1, 0, 1), (0, 1, 1), (0, -1, 2)])
def test_impossible_versions_and_actors_are_refused(version: int, actor_index: int, num_actors: int) -> None:
    with pytest.raises(ValueError, match=f"version={version} .*actor_index={actor_index} .*num_actors={num_actors}"):
        epsilon(config(), version, actor_index, num_actors)


def test_with_epsilon_zero_every_lane_takes_its_largest_value_and_the_first_of_equals() -> None:
    q_values = np.array([[0.0, 2.0, 1.0], [3.0, 3.0, 3.0], [-1.0, -2.0, -1.0]], np.float32)
    actions = epsilon_greedy(q_values, 0.0, np.random.default_rng(0))
    assert actions.dtype == np.int64
    assert actions.tolist() == [1, 0, 0]


def test_with_epsilon_one_all_actions_are_equally_likely() -> None:
    q_values = np.tile(np.array([0.0, 9.0, 1.0, 2.0], np.float32), (40_000, 1))
    counts = np.bincount(epsilon_greedy(q_values, 1.0, np.random.default_rng(0)), minlength=4)
    assert counts / 40_000 == pytest.approx([0.25] * 4, abs=0.01)


def test_between_the_greedy_action_also_gets_its_share_of_the_random_ones() -> None:
    q_values = np.tile(np.array([0.0, 9.0, 1.0, 2.0], np.float32), (40_000, 1))
    counts = np.bincount(epsilon_greedy(q_values, 0.2, np.random.default_rng(0)), minlength=4)
    assert counts / 40_000 == pytest.approx([0.05, 0.85, 0.05, 0.05], abs=0.01)


def test_the_stream_moves_on_alike_whatever_is_chosen() -> None:
    generators = [np.random.default_rng(0) for _ in range(2)]
    for generator, chance, sign in zip(generators, (0.0, 1.0), (1, -1), strict=True):
        epsilon_greedy(sign * np.arange(6, dtype=np.float32).reshape(2, 3), chance, generator)
    assert generators[0].random() == generators[1].random()
