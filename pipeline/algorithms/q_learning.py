"""Q-learning with a target network: targets, errors, loss, as pure functions of tensors.

The arithmetic is float32 whatever the network computes in: the caller widens half-precision values, and other types are
refused. Not here: returns of several steps (`pipeline.replay` sums r_t and discount_t), distributions of returns
(`pipeline.algorithms.categorical`, `.quantile`), targets of a soft policy (`.munchausen`), what to do with the gradient
(`pipeline.optimizers`), how actions are chosen (`pipeline.algorithms.exploration`), which gradients are thrown away
(`pipeline.algorithms.outliers`).
"""

from typing import NamedTuple

import torch
from torch import Tensor

from pipeline.algorithms.checks import check_tensor


class MinibatchLoss(NamedTuple):
    """What one minibatch gives: the scalar to differentiate, how large losses and values are, and each error."""

    objective: Tensor
    """() float32, carries the gradient: mean of weight * loss."""
    mean_loss: Tensor
    """() float32: mean loss without weights, so that it means the same throughout a run."""
    mean_q: Tensor
    """() float32: mean Q(s_tm1, a_tm1), no gradient."""
    abs_error: Tensor
    """(B,) float32, at least 0: how wrong each value is, for priorities; no gradient."""
    reward_error: Tensor
    """(B,) float32, at least 0: the same in units of clipped reward, whatever the distribution; no gradient."""


def minibatch_loss(
    q_tm1: Tensor,
    a_tm1: Tensor,
    target_tm1: Tensor,
    max_abs_td_error: float | None,
    weight: Tensor | None = None,
) -> MinibatchLoss:
    """Mean over the minibatch of `weight * loss(td_errors(...))`, with the mean value of the actions taken.

    q_tm1 (B, A) float32, a_tm1 (B,) int64, target_tm1 (B,) float32; weight (B,) float32, None: all are 1.
    Departure: the code of Mnih et al. 2015 sums over the minibatch. A mean leaves AdaGrad, RMSProp and Adam as they are
    except for their epsilon, which has to shrink with it: see `conf/optimizer/rmsprop.yaml`.
    """
    if weight is not None:
        check_tensor("weight", weight, torch.float32, num_axes=1)
    td_error = td_errors(q_tm1, a_tm1, target_tm1)
    mean_q = taken_values(q_tm1, a_tm1).detach().mean()
    losses = loss(td_error, max_abs_td_error)
    mean_loss = losses.mean()
    objective = mean_loss if weight is None else (weight * losses).mean()
    abs_error = td_error.detach().abs()
    return MinibatchLoss(objective, mean_loss, mean_q, abs_error, abs_error)


def td_targets(q_t_target: Tensor, r_t: Tensor, discount_t: Tensor, q_t_selector: Tensor | None = None) -> Tensor:
    """What Q(s_tm1, a_tm1) regresses to, (B,) float32, no gradient.

    target_tm1 = r_t + discount_t * max_a q_t_target[a]                        without a selector
    target_tm1 = r_t + discount_t * q_t_target[argmax_a q_t_selector[a]]       with one: double Q-learning
    q_t_target and q_t_selector (B, A), r_t (B,), discount_t (B,), all float32. Where discount_t is 0, s_t does not
    matter as long as its values are finite. With n-step returns r_t is the discounted sum of the rewards and discount_t
    is gamma^n (Sutton 1988).
    Mnih et al. 2015, Methods, algorithm 1 (y_j), q_t_target being the target network's; van Hasselt et al. 2016,
    equation 4, q_t_selector being the online network's.
    """
    check_tensor("q_t_target", q_t_target, torch.float32, num_axes=2)
    check_tensor("r_t", r_t, torch.float32, num_axes=1)
    check_tensor("discount_t", discount_t, torch.float32, num_axes=1)
    q_t = q_t_target.amax(dim=1) if q_t_selector is None else taken_values(q_t_target, greedy_actions(q_t_selector))
    return (r_t + discount_t * q_t).detach()


def greedy_actions(q_t: Tensor) -> Tensor:
    """The action of the largest value: q_t (B, A) float32 -> (B,) int64."""
    check_tensor("q_t", q_t, torch.float32, num_axes=2)
    return q_t.argmax(dim=1)


def taken_values(q_tm1: Tensor, a_tm1: Tensor) -> Tensor:
    """Q(s_tm1, a_tm1): q_tm1 (B, A) float32 at a_tm1 (B,) int64, as (B,) float32."""
    check_tensor("q_tm1", q_tm1, torch.float32, num_axes=2)
    check_tensor("a_tm1", a_tm1, torch.int64, num_axes=1)
    return q_tm1.gather(1, a_tm1[:, None]).squeeze(1)


def td_errors(q_tm1: Tensor, a_tm1: Tensor, target_tm1: Tensor) -> Tensor:
    """td_error = target_tm1 - q_tm1[a_tm1], (B,) float32.

    q_tm1 (B, A) float32, a_tm1 (B,) int64, target_tm1 (B,) float32. Mnih et al. 2015, Methods, algorithm 1.
    """
    check_tensor("target_tm1", target_tm1, torch.float32, num_axes=1)
    return target_tm1 - taken_values(q_tm1, a_tm1)


def loss(td_error: Tensor, max_abs_td_error: float | None) -> Tensor:
    """Loss of each transition, (B,) float32: squared, and linear where the derivative is clipped.

    With e = td_error (B,) float32 and c = max_abs_td_error:
    0.5 * e^2 where |e| <= c, c * (|e| - 0.5 * c) beyond; its derivative is e clipped to [-c, c]. c None: 0.5 * e^2.
    Mnih et al. 2015, Methods, "Training details": the error term clipped to [-1, 1].
    """
    check_tensor("td_error", td_error, torch.float32, num_axes=1)
    if max_abs_td_error is None:
        return 0.5 * td_error.square()
    abs_error = td_error.abs()
    quadratic = abs_error.clamp(max=max_abs_td_error)
    return 0.5 * quadratic.square() + max_abs_td_error * (abs_error - quadratic)
