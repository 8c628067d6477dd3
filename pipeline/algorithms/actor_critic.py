"""Batch actor-critic: returns, loss, actions and clipping, as pure functions.

A3C (Mnih et al. 2016) on batches of many games, as in the published code of Adamski et al. 2018 (Distributed-BA3C),
called "their code" below. The arithmetic is float32 whatever the network computes in; other types are refused.
Not here: the clipped objective (`pipeline.algorithms.clipped`), cutting games into segments
(`pipeline.roles.rollouts`), what to do with the gradient (`pipeline.optimizers`).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from pipeline.algorithms.checks import check_tensor
from pipeline.types import Float32Array, Int64Array

_PROBABILITY_FLOOR = 1e-6
"""Added to each probability before its logarithm (their code), which bounds what a step taken by chance can do."""


class ActorCriticLoss(NamedTuple):
    """What one batch gives: the scalar to differentiate, and how it is made up; all () float32."""

    objective: Tensor
    """Carries the gradient; the others do not."""
    policy_loss: Tensor
    """Mean of -log pi(a_tm1) * advantage, or of the clipped objective's counterpart."""
    value_loss: Tensor
    """Mean of half the squared error, before its weight."""
    entropy: Tensor
    """Of the policy, nats, mean."""
    explained_variance: Tensor
    """1 - var(return - value) / var(return): 1 where the values foresee all; 0 also where all returns are alike."""
    mean_value: Tensor


def lambda_returns(
    rewards: Float32Array, values: Float32Array, discount: float, gae_lambda: float, bootstrap: float
) -> Float32Array:
    """What each step of one segment turned out to be worth: rewards (T,) and values (T,) float32 -> (T,) float32.

    return_tm1[i] = rewards[i] + discount * ((1 - gae_lambda) * values[i + 1] + gae_lambda * return_tm1[i + 1]),
    values[T] = return_tm1[T] = bootstrap
    values: V of the states that the steps were made in; bootstrap: V of the state behind the segment, 0 where the game
    ended there. return_tm1 - values are the generalised advantages of Schulman et al. 2016, equation 16, cut at the
    segment's end (Schulman et al. 2017, equation 11). With gae_lambda=1 it is the discounted sum of the rewards and of
    the value behind them, whatever the other values are: Mnih et al. 2016, algorithm S3.
    """
    returns = np.empty(len(rewards), dtype=np.float32)
    following = value_behind = bootstrap
    for i in reversed(range(len(rewards))):
        following = float(rewards[i]) + discount * ((1.0 - gae_lambda) * value_behind + gae_lambda * following)
        value_behind = float(values[i])
        returns[i] = following
    return returns


def actor_critic_loss(
    logits: Tensor, values: Tensor, a_tm1: Tensor, return_tm1: Tensor, entropy_weight: float, value_weight: float
) -> ActorCriticLoss:
    """Mean over the batch of policy loss, entropy and value loss.

    pi = softmax(logits),  advantage = return_tm1 - values, no gradient
    objective = mean(-log(pi[a_tm1] + 1e-6) * advantage + entropy_weight * sum_a pi[a] * log(pi[a] + 1e-6)
                     + value_weight * 0.5 * (return_tm1 - values)^2)
    logits (B, A), values (B,), return_tm1 (B,), all float32; a_tm1 (B,) int64.
    Mnih et al. 2016, section 4 and algorithm S3; the half and the 1e-6: their code.
    Departure: Mnih et al. 2016 sum over a segment; their code divides by the batch, and so do we.
    """
    check_tensor("logits", logits, torch.float32, num_axes=2)
    check_tensor("values", values, torch.float32, num_axes=1)
    check_tensor("a_tm1", a_tm1, torch.int64, num_axes=1)
    check_tensor("return_tm1", return_tm1, torch.float32, num_axes=1)
    pi = logits.softmax(dim=1)
    log_pi = (pi + _PROBABILITY_FLOOR).log()
    error = return_tm1 - values
    policy_loss = -(log_pi.gather(1, a_tm1[:, None]).squeeze(1) * error.detach()).mean()
    entropy = -(pi * log_pi).sum(dim=1).mean()
    return joined_loss(policy_loss, entropy, values, return_tm1, error, entropy_weight, value_weight)


def joined_loss(
    policy_loss: Tensor,
    entropy: Tensor,
    values: Tensor,
    return_tm1: Tensor,
    error: Tensor,
    entropy_weight: float,
    value_weight: float,
) -> ActorCriticLoss:
    """policy_loss - entropy_weight * entropy + value_weight * mean(0.5 * error^2), and what is told of it.

    policy_loss and entropy () are means over the batch; values, return_tm1 and error = return_tm1 - values are (B,).
    All are float32.
    """
    value_loss = 0.5 * error.square().mean()
    objective = policy_loss - entropy_weight * entropy + value_weight * value_loss
    return ActorCriticLoss(
        objective,
        policy_loss.detach(),
        value_loss.detach(),
        entropy.detach(),
        explained_variance(return_tm1, error.detach()),
        values.detach().mean(),
    )


def sample_actions(logits: Float32Array, rng: np.random.Generator) -> Int64Array:
    """One action per lane, each with the probability softmax(logits): (E, A) -> (E,) int64.

    The largest of logit + Gumbel noise is such an action (Gumbel 1954), without a softmax and its rounding. Every call
    draws the same amount from `rng`, whatever it chooses.
    """
    # The noise is float64: in float32 its tail, by which rare actions are chosen, would be coarse.
    actions: Int64Array = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    return actions


def log_probabilities(logits: Float32Array, actions: Int64Array) -> Float32Array:
    """log softmax(logits) of one action per lane: (E, A) and (E,) -> (E,) float32."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    taken = shifted[np.arange(len(actions)), actions]
    found: Float32Array = taken - np.log(np.exp(shifted).sum(axis=1))
    return found


def clipping_factors(
    norms: Tensor, sizes: Sequence[int], max_average_norm: float | None, max_norm: float | None
) -> list[float]:
    """What each tensor of a gradient is to be multiplied by, given their L2 norms (T,) and numbers of elements.

    First each by itself is scaled down to a norm of at most `max_average_norm` times its number of elements, as
    TensorFlow's clip_by_average_norm does, which their code calls. Small tensors, such as biases, are those that it
    mostly holds back. Then the whole is scaled down to a norm of at most `max_norm`. None: never.
    """
    factors = torch.ones_like(norms)
    # A norm of 0 makes an infinite quotient, and clamp a factor of 1 of it.
    if max_average_norm is not None:
        limits = torch.tensor([max_average_norm * size for size in sizes], dtype=torch.float32, device=norms.device)
        factors = (limits / norms).clamp(max=1.0)
    if max_norm is not None:
        factors = factors * (max_norm / (factors * norms).norm()).clamp(max=1.0)
    found: list[float] = factors.tolist()
    return found


def explained_variance(return_tm1: Tensor, error: Tensor) -> Tensor:
    """1 - var(error) / var(return_tm1), both (B,) float32; 0 where all returns are alike."""
    # Over B, not B - 1: the quotient is the same, and a batch of one is no special case.
    variance = return_tm1.var(correction=0)
    explained = 1.0 - error.var(correction=0) / variance
    return torch.where(variance > 0, explained, torch.zeros_like(variance))
