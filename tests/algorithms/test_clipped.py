"""The clipped objective: numbers worked out by hand, its gradient case by case, and slow NumPy."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from pipeline.algorithms.actor_critic import actor_critic_loss
from pipeline.algorithms.clipped import clipped_loss, normalised

EVEN = torch.zeros(1, 2)
"""Logits of two actions that are as likely."""


def policy_loss(ratio: float, advantage: float) -> tuple[float, float]:
    """The policy loss of one step whose action has become so many times as likely, and its slope by that logit."""
    logits = EVEN.clone().requires_grad_()
    zero, log_pi = torch.zeros(1), torch.tensor([math.log(0.5 / ratio)])
    loss = clipped_loss(logits, zero, torch.tensor([0]), zero, torch.tensor([advantage]), log_pi, 0.1, 0.0, 0.0)
    (gradient,) = torch.autograd.grad(loss.objective, logits)
    return loss.policy_loss.item(), gradient[0, 0].item()


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss", "slope"),
    [
        pytest.param(1.0, 2.0, -2.0, -1.0, id="as likely as it was"),
        pytest.param(1.05, 2.0, -2.1, -1.05, id="within the range"),
        pytest.param(1.5, 2.0, -2.2, 0.0, id="likely enough, and good"),
        pytest.param(0.5, 2.0, -1.0, -0.5, id="unlikely, though good"),
        pytest.param(0.5, -2.0, 1.8, 0.0, id="unlikely enough, and bad"),
        pytest.param(1.5, -2.0, 3.0, 1.5, id="likely, though bad"),
    ],
)
def test_a_step_counts_until_its_action_s_chance_has_moved_far_enough(
    ratio: float, advantage: float, loss: float, slope: float
) -> None:
    # Of two even actions the ratio's slope by the taken one's logit is half the ratio.
    assert policy_loss(ratio, advantage) == pytest.approx((loss, slope), abs=1e-6)


def a_batch() -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    rng = np.random.default_rng(0)
    logits, old = rng.normal(size=(2, 8, 3)).astype(np.float32)
    values, returns, advantages = rng.normal(size=(3, 8)).astype(np.float32)
    actions = rng.integers(3, size=8)
    log_pi = (old - np.log(np.exp(old).sum(axis=1, keepdims=True)))[np.arange(8), actions]
    arrays = logits, values, actions, returns, advantages, log_pi
    return tuple(map(torch.from_numpy, arrays))  # type: ignore[return-value]  # six of them


def test_the_loss_equals_a_slow_one() -> None:
    logits, values, a_tm1, return_tm1, advantage_tm1, log_pi_tm1 = a_batch()
    found = clipped_loss(logits, values, a_tm1, return_tm1, advantage_tm1, log_pi_tm1, 0.2, 0.3, 0.7)
    total = 0.0
    for b in range(8):
        weights = [math.exp(logit) for logit in logits[b].tolist()]
        pi = [weight / sum(weights) for weight in weights]
        ratio = pi[int(a_tm1[b])] / math.exp(log_pi_tm1[b].item())
        advantage = advantage_tm1[b].item()
        total -= min(ratio * advantage, min(max(ratio, 0.8), 1.2) * advantage)
        total += 0.3 * sum(p * math.log(p) for p in pi)
        total += 0.7 * 0.5 * (return_tm1[b].item() - values[b].item()) ** 2
    assert found.objective.item() == pytest.approx(total / 8, rel=1e-5)


def test_the_first_gradient_of_a_batch_is_the_plain_one() -> None:
    logits, values, a_tm1, return_tm1, *_ = a_batch()
    log_pi = logits.log_softmax(dim=1).gather(1, a_tm1[:, None]).squeeze(1)
    leaves = logits.requires_grad_(), values.requires_grad_()
    clipped = clipped_loss(
        logits, values, a_tm1, return_tm1, (return_tm1 - values).detach(), log_pi.detach(), 0.1, 0.0, 1.0
    )
    plain = actor_critic_loss(logits, values, a_tm1, return_tm1, 0.0, 1.0)
    pairs = zip(*(torch.autograd.grad(loss.objective, leaves) for loss in (clipped, plain)), strict=True)
    for found, expected in pairs:
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)


def test_normalised_advantages_have_mean_0_and_deviation_1() -> None:
    found = normalised(torch.tensor([1.0, 3.0, 5.0, 7.0]))
    torch.testing.assert_close(found, torch.tensor([-3.0, -1.0, 1.0, 3.0]) / math.sqrt(5.0))


def test_advantages_that_are_all_alike_are_normalised_to_0() -> None:
    assert normalised(torch.full((3,), 2.5)).tolist() == [0.0, 0.0, 0.0]
    assert normalised(torch.tensor([0.25])).tolist() == [0.0]


def test_wrong_shapes_are_refused() -> None:
    logits, values, a_tm1, return_tm1, advantage_tm1, log_pi_tm1 = a_batch()
    with pytest.raises(TypeError, match=r"log_pi_tm1 is torch.float32 of shape \(8, 1\)"):
        clipped_loss(logits, values, a_tm1, return_tm1, advantage_tm1, log_pi_tm1[:, None], 0.1, 0.0, 1.0)
