"""Munchausen's reward and soft targets, by hand and against slow NumPy."""

import math

import numpy as np
import pytest
import torch

from pipeline.algorithms.munchausen import (
    munchausen_rewards,
    scaled_log_policy,
    soft_quantile_targets,
    soft_targets,
)

LOG_3 = math.log(3.0)
Q = torch.tensor([[0.0, 0.5 * LOG_3]])
"""With a temperature of 1/2 its policy is (1/4, 3/4)."""


def test_the_reward_has_a_share_of_the_policy_s_logarithm() -> None:
    for action, chance in ((0, 0.25), (1, 0.75)):
        found = munchausen_rewards(Q, torch.tensor([action]), torch.tensor([2.0]), 0.9, 0.5, floor=-1.0)
        assert found.item() == pytest.approx(2.0 + 0.9 * 0.5 * math.log(chance))


def test_an_action_that_the_policy_hardly_takes_costs_no_more_than_the_floor() -> None:
    found = munchausen_rewards(torch.tensor([[0.0, 50.0]]), torch.tensor([0]), torch.tensor([2.0]), 0.9, 0.03, -1.0)
    assert found.item() == pytest.approx(2.0 - 0.9)


def test_a_target_is_the_policy_s_mean_value_and_its_entropy() -> None:
    found = soft_targets(Q, torch.tensor([1.0]), torch.tensor([0.5]), temperature=0.5)
    value = 0.75 * 0.5 * LOG_3
    entropy = -(0.25 * math.log(0.25) + 0.75 * math.log(0.75))
    assert found.item() == pytest.approx(1.0 + 0.5 * (value + 0.5 * entropy))
    assert soft_targets(Q, torch.tensor([1.0]), torch.tensor([0.0]), 0.5).item() == 1.0


def test_a_cold_policy_s_target_is_that_of_the_best_action() -> None:
    assert soft_targets(Q, torch.zeros(1), torch.ones(1), temperature=1e-3).item() == pytest.approx(0.5 * LOG_3)


def test_each_quantile_has_a_target_whose_mean_is_that_of_the_values() -> None:
    rng = np.random.default_rng(0)
    quantiles = rng.normal(size=(6, 3, 5)).astype(np.float32)
    r_t, discount_t = rng.normal(size=6).astype(np.float32), rng.uniform(0, 1, 6).astype(np.float32)
    q_t = quantiles.mean(axis=2)
    given = torch.from_numpy(quantiles), torch.from_numpy(q_t), torch.from_numpy(r_t), torch.from_numpy(discount_t)
    found = soft_quantile_targets(*given, temperature=0.2)
    for b in range(6):
        chances = np.exp(q_t[b].astype(np.float64) / 0.2)
        chances /= chances.sum()
        for j in range(5):
            soft = sum(chances[a] * (quantiles[b, a, j] - 0.2 * math.log(chances[a])) for a in range(3))
            assert found[b, j].item() == pytest.approx(r_t[b] + discount_t[b] * soft, abs=1e-5)
    np.testing.assert_allclose(found.mean(dim=1), soft_targets(*given[1:], temperature=0.2), atol=1e-5)


def test_values_far_apart_stay_finite_and_nothing_carries_a_gradient() -> None:
    q = torch.tensor([[-300.0, 300.0]], requires_grad=True)
    assert scaled_log_policy(q, 0.03).tolist() == [[-600.0, 0.0]]
    assert torch.isfinite(soft_targets(q, torch.zeros(1), torch.ones(1), 0.03)).all()
    assert not soft_targets(q, torch.zeros(1), torch.ones(1), 0.03).requires_grad
    assert not munchausen_rewards(q, torch.tensor([0]), torch.zeros(1), 0.9, 0.03, -1.0).requires_grad


def test_wrong_shapes_and_precisions_are_refused() -> None:
    with pytest.raises(TypeError, match=r"q is torch.float64 of shape \(1, 2\)"):
        scaled_log_policy(Q.double(), 0.03)
    with pytest.raises(TypeError, match=r"r_t is torch.float32 of shape \(1, 1\)"):
        soft_targets(Q, torch.zeros(1, 1), torch.zeros(1), 0.03)
