"""Targets and loss of quantiles, by hand and against slow NumPy."""

import numpy as np
import pytest
import torch
from torch import Tensor

from pipeline.algorithms.quantile import quantile_loss, quantile_targets

ACTION_1 = torch.tensor([1])


def of_action_1(quantiles: list[float]) -> Tensor:
    """(1, 2, N): these for action 1, zeros for action 0."""
    return torch.tensor([[[0.0] * len(quantiles), quantiles]])


def test_targets_are_the_next_action_s_quantiles_discounted_behind_the_reward() -> None:
    found = quantile_targets(of_action_1([-2.0, 4.0]), ACTION_1, torch.tensor([1.0]), torch.tensor([0.5]))
    assert found.tolist() == [[0.0, 3.0]]
    ended = quantile_targets(of_action_1([-2.0, 4.0]), ACTION_1, torch.tensor([1.0]), torch.tensor([0.0]))
    assert ended.tolist() == [[1.0, 1.0]]


def test_the_loss_by_hand() -> None:
    # tau 1/4 and 3/4. theta 0: u = 1 and 4, huber 0.5 and 3.5, both weigh 1/4: mean 0.5.
    # theta 2: u = -1 and 2, huber 0.5 and 1.5, weights |3/4 - 1| and 3/4: mean (0.125 + 1.125) / 2 = 0.625.
    result = quantile_loss(of_action_1([0.0, 2.0]), ACTION_1, torch.tensor([[1.0, 4.0]]), kappa=1.0)
    assert result.mean_loss.item() == result.objective.item() == 1.125
    assert result.mean_q.item() == 1.0
    # From 0 to 1 and from 2 to 4.
    assert result.abs_error.tolist() == [1.5]


def test_the_gradient_is_the_clipped_error_weighed_by_its_side() -> None:
    quantiles = of_action_1([0.0, 2.0]).requires_grad_()
    weight = torch.tensor([0.5])
    result = quantile_loss(quantiles, ACTION_1, torch.tensor([[1.0, 4.0]]), 1.0, weight)
    (gradient,) = torch.autograd.grad(result.objective, quantiles)
    # -mean(1/4, 1/4) and -mean(-1/4, 3/4), half of each.
    assert gradient[0].tolist() == [[0.0, 0.0], [-0.125, -0.125]]
    assert (result.objective.item(), result.mean_loss.item()) == (0.5625, 1.125)


def slow_loss(theta: list[float], target: list[float], kappa: float) -> float:
    """Dabney et al. 2018, equations 9 and 10, pair by pair."""
    total = 0.0
    for i, prediction in enumerate(theta):
        tau = (2 * i + 1) / (2 * len(theta))
        for aim in target:
            u = aim - prediction
            huber = u * u / 2 if abs(u) <= kappa else kappa * (abs(u) - kappa / 2)
            total += (tau if u >= 0 else 1 - tau) * huber / len(target)
    return total


@pytest.mark.parametrize("kappa", [0.3, 1.0])
def test_the_loss_equals_a_slow_one_and_its_gradient_finite_differences(kappa: float) -> None:
    rng = np.random.default_rng(0)
    quantiles, target = rng.normal(size=(5, 3, 7)).astype(np.float32), 2 * rng.normal(size=(5, 7)).astype(np.float32)
    a_tm1 = rng.integers(3, size=5)
    leaf = torch.from_numpy(quantiles).requires_grad_()
    result = quantile_loss(leaf, torch.from_numpy(a_tm1), torch.from_numpy(target), kappa)
    taken = quantiles[np.arange(5), a_tm1].astype(np.float64)
    expected = [slow_loss(one.tolist(), aim.tolist(), kappa) for one, aim in zip(taken, target, strict=True)]
    assert result.mean_loss.item() == pytest.approx(np.mean(expected), rel=1e-5)
    (gradient,) = torch.autograd.grad(result.objective, leaf)
    for b in range(5):
        for i in range(7):
            ends = []
            for step in (1e-5, -1e-5):
                moved = taken[b].copy()
                moved[i] += step
                ends.append(slow_loss(moved.tolist(), target[b].tolist(), kappa))
            slope = (ends[0] - ends[1]) / 2e-5 / 5
            assert gradient[b, a_tm1[b], i].item() == pytest.approx(slope, abs=1e-4)


def loss_of_pairs(theta: Tensor, target: Tensor, tau: Tensor, kappa: float) -> Tensor:
    """The same, of (B, N) each in float64, (B,): with all N^2 pairs, so that autograd has nothing to be wrong about."""
    u = target[:, None, :] - theta[:, :, None]
    huber = torch.where(u.abs() <= kappa, 0.5 * u.square(), kappa * (u.abs() - 0.5 * kappa))
    return ((tau[:, :, None] - (u < 0).double()).abs() * huber).mean(dim=2).sum(dim=1)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("kappa", [0.25, 1.0])
def test_ties_far_returns_and_drawn_fractions_cost_what_their_pairs_cost(kappa: float, scale: float) -> None:
    rng = np.random.default_rng(1)
    theta = scale * torch.from_numpy(rng.normal(size=(6, 2, 40)).astype(np.float32))
    target = scale * torch.from_numpy(rng.normal(size=(6, 40)).astype(np.float32))
    target[:, :9] = theta[:, 1, :9] + kappa * torch.tensor([-1.0, 0.0, 1.0]).repeat(3)  # where huber's pieces meet
    target[:, 9:20] = target[:, 9:10]
    fractions = torch.from_numpy(rng.uniform(size=(6, 40)).astype(np.float32))
    leaf = theta.clone().requires_grad_()
    result = quantile_loss(leaf, torch.ones(6, dtype=torch.int64), target, kappa, fractions=fractions)
    (gradient,) = torch.autograd.grad(result.objective, leaf)
    exact = theta[:, 1].double().requires_grad_()
    expected = loss_of_pairs(exact, target.double(), fractions.double(), kappa).mean()
    (expected_gradient,) = torch.autograd.grad(expected, exact)
    torch.testing.assert_close(result.objective.double(), expected, rtol=1e-6, atol=0)
    torch.testing.assert_close(gradient[:, 1].double(), expected_gradient, rtol=1e-5, atol=1e-9 * (1 + scale))
    assert not gradient[:, 0].any()


@pytest.mark.parametrize("kappa", [0.25, 1.0, 2.0])
def test_with_drawn_fractions_the_loss_is_kappa_times_the_paper_s(kappa: float) -> None:
    theta, target, tau = [-0.5, 1.5], [0.25, 3.0], [0.9, 0.2]
    paper = 0.0
    for prediction, fraction in zip(theta, tau, strict=True):
        for aim in target:  # Dabney et al. 2018, IQN, equation 3
            u = aim - prediction
            huber = u * u / 2 if abs(u) <= kappa else kappa * (abs(u) - kappa / 2)
            paper += abs(fraction - (u < 0)) * huber / kappa / len(target)
    found = quantile_loss(
        of_action_1(theta), ACTION_1, torch.tensor([target]), kappa, fractions=torch.tensor([tau], dtype=torch.float32)
    )
    assert found.objective.item() == pytest.approx(kappa * paper, rel=1e-6)


@pytest.mark.parametrize("broken", [float("nan"), float("inf"), float("-inf")])
def test_what_is_not_finite_is_not_hidden(broken: float) -> None:
    fine, ill = torch.tensor([[0.0, 1.0, 2.0]]), torch.tensor([[0.0, broken, 2.0]])
    assert not quantile_loss(fine[:, None], torch.tensor([0]), ill, 1.0).objective.isfinite()
    assert not quantile_loss(ill[:, None], torch.tensor([0]), fine, 1.0).objective.isfinite()


def test_quantiles_that_follow_the_loss_become_those_of_what_is_drawn() -> None:
    quantiles = torch.zeros(1, 1, 4, requires_grad=True)
    returns = torch.tensor([[0.0, 1.0, 5.0, 9.0]])
    for _ in range(2_000):
        result = quantile_loss(quantiles, torch.tensor([0]), returns, kappa=0.01)
        (gradient,) = torch.autograd.grad(result.objective, quantiles)
        quantiles = (quantiles - 4.0 * gradient).detach().requires_grad_()
    assert quantiles[0, 0].tolist() == pytest.approx([0.0, 1.0, 5.0, 9.0], abs=0.05)
    assert result.abs_error.item() < 0.05, "right, however far apart the returns are"


def test_no_gradient_flows_through_the_target() -> None:
    quantiles = torch.zeros(1, 2, 3, requires_grad=True)
    assert not quantile_targets(quantiles, ACTION_1, torch.zeros(1), torch.ones(1)).requires_grad


def test_wrong_shapes_and_precisions_are_refused() -> None:
    with pytest.raises(TypeError, match=r"quantiles is torch.float32 of shape \(2, 3\)"):
        quantile_targets(torch.zeros(2, 3), torch.tensor([0, 0]), torch.zeros(2), torch.zeros(2))
    with pytest.raises(TypeError, match=r"r_t is torch.float32 of shape \(1, 1\)"):
        quantile_targets(of_action_1([0.0, 1.0]), ACTION_1, torch.zeros(1, 1), torch.zeros(1))
    with pytest.raises(TypeError, match=r"target_tm1 is of shape \(1, 3\), it must be \(1, 2\)"):
        quantile_loss(of_action_1([0.0, 1.0]), ACTION_1, torch.zeros(1, 3), 1.0)
