"""Q-learning with a target network: targets, errors, loss, as pure functions of tensors.

The arithmetic is float32 whatever the network computes in: the caller widens half-precision values, and other types are
refused. Not here: what to do with the gradient (`pipeline.optimizers`), how actions are chosen
(`pipeline.algorithms.exploration`), which gradients are thrown away (`pipeline.algorithms.outliers`).
"""

from typing import NamedTuple

import torch
from torch import Tensor


class MinibatchLoss(NamedTuple):
    """What one minibatch gives: the scalar to differentiate, and how large the values are."""

    mean_loss: Tensor
    """() float32, carries the gradient."""
    mean_q: Tensor
    """() float32: mean Q(s_tm1, a_tm1), no gradient."""


def minibatch_loss(q_tm1: Tensor, a_tm1: Tensor, target_tm1: Tensor, max_abs_td_error: float | None) -> MinibatchLoss:
    """Mean over the minibatch of `loss(td_errors(...))`, with the mean value of the actions taken.

    q_tm1 (B, A) float32, a_tm1 (B,) int64, target_tm1 (B,) float32.
    Departure: the code of Mnih et al. 2015 sums over the minibatch. A mean leaves AdaGrad, RMSProp and Adam as they are
    except for their epsilon, which has to shrink with it: see `conf/optimizer/rmsprop.yaml`.
    """
    td_error = td_errors(q_tm1, a_tm1, target_tm1)
    mean_q = taken_values(q_tm1, a_tm1).detach().mean()
    return MinibatchLoss(loss(td_error, max_abs_td_error).mean(), mean_q)


def td_targets(q_t_target: Tensor, r_t: Tensor, discount_t: Tensor) -> Tensor:
    """What Q(s_tm1, a_tm1) regresses to: target_tm1 = r_t + discount_t * max_a q_t_target(s_t, a). No gradient.

    q_t_target (B, A), r_t (B,), discount_t (B,), all float32; returns (B,) float32. Where discount_t is 0, s_t does not
    matter as long as its values are finite.
    Mnih et al. 2015, Methods, algorithm 1 (y_j); q_t_target is the target network's.
    """
    _check("q_t_target", q_t_target, torch.float32, num_axes=2)
    _check("r_t", r_t, torch.float32, num_axes=1)
    _check("discount_t", discount_t, torch.float32, num_axes=1)
    return (r_t + discount_t * q_t_target.amax(dim=1)).detach()


def taken_values(q_tm1: Tensor, a_tm1: Tensor) -> Tensor:
    """Q(s_tm1, a_tm1): q_tm1 (B, A) float32 at a_tm1 (B,) int64, as (B,) float32."""
    _check("q_tm1", q_tm1, torch.float32, num_axes=2)
    _check("a_tm1", a_tm1, torch.int64, num_axes=1)
    return q_tm1.gather(1, a_tm1[:, None]).squeeze(1)


def td_errors(q_tm1: Tensor, a_tm1: Tensor, target_tm1: Tensor) -> Tensor:
    """td_error = target_tm1 - q_tm1[a_tm1], (B,) float32.

    q_tm1 (B, A) float32, a_tm1 (B,) int64, target_tm1 (B,) float32. Mnih et al. 2015, Methods, algorithm 1.
    """
    _check("target_tm1", target_tm1, torch.float32, num_axes=1)
    return target_tm1 - taken_values(q_tm1, a_tm1)


def loss(td_error: Tensor, max_abs_td_error: float | None) -> Tensor:
    """Loss of each transition, (B,) float32: squared, and linear where the derivative is clipped.

    With e = td_error (B,) float32 and c = max_abs_td_error:
    0.5 * e^2 where |e| <= c, c * (|e| - 0.5 * c) beyond; its derivative is e clipped to [-c, c]. c None: 0.5 * e^2.
    Mnih et al. 2015, Methods, "Training details": the error term clipped to [-1, 1].
    """
    _check("td_error", td_error, torch.float32, num_axes=1)
    if max_abs_td_error is None:
        return 0.5 * td_error.square()
    abs_error = td_error.abs()
    quadratic = abs_error.clamp(max=max_abs_td_error)
    return 0.5 * quadratic.square() + max_abs_td_error * (abs_error - quadratic)


def _check(name: str, tensor: Tensor, dtype: torch.dtype, num_axes: int) -> None:
    # A (B, 1) beside a (B,) would broadcast to (B, B) without a word.
    if tensor.dtype != dtype or tensor.ndim != num_axes:
        given = f"{tensor.dtype} of shape {tuple(tensor.shape)}"
        raise TypeError(f"{name} is {given}, it must be {dtype} with {num_axes} axes")
