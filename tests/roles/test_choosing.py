"""How actions of a rollout are chosen, and what is told of it."""

import numpy as np
import pytest

from pipeline.algorithms.actor_critic import log_probabilities, sample_actions
from pipeline.roles.choosing import EpsilonGreedy, Sampling

Q = np.array([[0.0, 2.0, 1.0], [5.0, 4.0, 3.0]], np.float32)
LANES = np.array([3, 1])


def test_an_action_of_a_policy_is_drawn_and_comes_with_its_chance() -> None:
    choice = Sampling().choose(Q, LANES, np.random.default_rng(0))
    drawn = sample_actions(Q, np.random.default_rng(0))
    assert choice.actions.tolist() == drawn.tolist()
    assert choice.log_pis.tolist() == log_probabilities(Q, drawn).tolist()
    assert Sampling().epsilon(3) == 0.0


def test_each_lane_explores_by_its_own_epsilon_whichever_are_due() -> None:
    exploring = EpsilonGreedy(num_lanes=4)
    exploring.epsilons = np.array([0.0, 0.0, 0.0, 1.0])
    rng = np.random.default_rng(0)
    chosen = np.array([exploring.choose(Q, LANES, rng).actions for _ in range(3_000)])
    assert (chosen[:, 1] == 0).all(), "lane 1 is greedy"
    # A share of a third of 3,000 lies within 5 deviations of 0.0086.
    shares = np.bincount(chosen[:, 0], minlength=3) / 3_000
    assert shares == pytest.approx([1 / 3] * 3, abs=5 * 0.0086)
    assert [exploring.epsilon(lane) for lane in (1, 3)] == [0.0, 1.0]


def test_before_anybody_says_how_far_the_run_is_every_action_is_random() -> None:
    assert EpsilonGreedy(num_lanes=2).epsilons.tolist() == [1.0, 1.0]
