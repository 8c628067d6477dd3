"""Q-learning of distributions by quantiles: N equally likely returns, which the network says (QR-DQN).

Dabney et al. 2018, "Distributional Reinforcement Learning with Quantile Regression". The i-th of the N outputs of an
action is drawn to the quantile tau[i] = (i + 0.5) / N of its return, so that there is no range to know beforehand.
Their mean is Q(s, a), by which actions are chosen as ever.
Inputs and losses are float32, other types are refused; sums are float64. Not here: means
(`pipeline.networks.replica`), distributions over given returns (`pipeline.algorithms.categorical`), soft targets
(`pipeline.algorithms.munchausen`).
"""

import torch
from torch import Tensor

from pipeline.algorithms.checks import check_tensor
from pipeline.algorithms.q_learning import MinibatchLoss


def quantile_targets(quantiles_t: Tensor, a_t: Tensor, r_t: Tensor, discount_t: Tensor) -> Tensor:
    """The returns that the distribution of (s_tm1, a_tm1) is drawn to, (B, N) float32, no gradient.

    target_tm1[j] = r_t + discount_t * quantiles_t[a_t, j]
    quantiles_t (B, A, N) of the target network, a_t (B,) int64, r_t and discount_t (B,); float32 but for a_t. Dabney et
    al. 2018, algorithm 1. a_t is the target network's best action there, the online network's with double Q-learning.
    """
    check_tensor("r_t", r_t, torch.float32, num_axes=1)
    check_tensor("discount_t", discount_t, torch.float32, num_axes=1)
    return (r_t[:, None] + discount_t[:, None] * taken_quantiles(quantiles_t, a_t)).detach()


def quantile_loss(
    quantiles_tm1: Tensor,
    a_tm1: Tensor,
    target_tm1: Tensor,
    kappa: float,
    weight: Tensor | None = None,
    fractions: Tensor | None = None,
) -> MinibatchLoss:
    """Quantile Huber loss of each prediction against all targets.

    With theta = quantiles_tm1[a_tm1], u = target_tm1[j] - theta[i] and tau[i] = (i + 0.5) / N:
    loss = sum_i mean_j |tau[i] - (1 where u < 0, else 0)| * huber(u),
    huber(u) = 0.5 * u^2 where |u| <= kappa, kappa * (|u| - 0.5 * kappa) beyond
    quantiles_tm1 (B, A, N), a_tm1 (B,) int64, target_tm1 (B, N), weight (B,) as in `minibatch_loss`; float32.
    fractions (B, N) float32: tau of each prediction where it was drawn (Dabney et al. 2018, IQN, equation 3).
    Departure: that equation divides huber by kappa, and this does not; with kappa 1 they are the same.
    Dabney et al. 2018, equations 9 and 10 and algorithm 1; kappa is 1 there.
    abs_error is how far apart the two distributions are: the mean distance of their sorted returns, which is their
    1-Wasserstein distance (the same, section "Wasserstein distance"). Departure, for priorities, which that paper has
    not: unlike the loss it is 0 where the prediction is right, however wide the distribution is; but with drawn
    fractions, where predictions and targets are two samples, a wide one keeps some distance.
    """
    check_tensor("target_tm1", target_tm1, torch.float32, num_axes=2)
    theta = taken_quantiles(quantiles_tm1, a_tm1)
    num_quantiles = theta.shape[1]
    if target_tm1.shape != theta.shape:
        raise TypeError(f"target_tm1 is of shape {tuple(target_tm1.shape)}, it must be {tuple(theta.shape)}")
    tau = (torch.arange(num_quantiles, dtype=torch.float32, device=theta.device) + 0.5) / num_quantiles
    if fractions is not None:
        check_tensor("fractions", fractions, torch.float32, num_axes=2)
        tau = fractions
    # In order, as neighbours are then looked for in the same place: a quarter less time.
    theta, order = theta.sort(dim=1)
    tau = tau.expand_as(theta).gather(1, order)
    ordered = target_tm1.detach().sort(dim=1).values
    below, above = huber_sums(theta, ordered, kappa)
    losses = ((1 - tau) * below + tau * above).sum(dim=1).float() / num_quantiles
    mean_loss = losses.mean()
    objective = mean_loss if weight is None else (weight * losses).mean()
    with torch.no_grad():
        distance = (theta - ordered).abs().mean(dim=1)
    return MinibatchLoss(objective, mean_loss, theta.detach().mean(), distance, distance)


def huber_sums(theta: Tensor, ordered: Tensor, kappa: float) -> tuple[Tensor, Tensor]:
    """sum_j huber(ordered[j] - theta[i]) over the targets below theta[i], and over the others; each (B, N) float64.

    theta (B, N) with a gradient, ordered (B, M) from the lowest on, without one.
    theta - kappa, theta and theta + kappa cut the targets into four stretches. On each, huber is one polynomial of
    theta, whose coefficients are sums of the stretch's targets to the powers 0, 1 and 2: differences of running sums.
    So N log N steps stand for N^2 pairs, which took up to half of a gradient with 200 quantiles. With fewer than 100,
    pairs would be quicker by a fraction of a millisecond; one way serves all. With kappa 1 the gradient is exact to
    float32 while targets lie within 10^12 of each other: beyond, running sums no longer tell neighbours apart.
    huber has neither jump nor kink at a cut, so which side a target on it falls to is all one, and autograd is right to
    take cuts as constants.
    """
    # About the middle target, so that squares do not drown what they differ by.
    origin = ordered[:, ordered.shape[1] // 2, None].double()
    ordered, theta = ordered.double() - origin, theta.double() - origin
    with torch.no_grad():
        cuts = torch.stack([theta - kappa, theta, theta + kappa], dim=1)
        ends = torch.searchsorted(ordered, cuts.flatten(1))
        powers = torch.stack([torch.ones_like(ordered), ordered, ordered.square()], dim=1)
        running = torch.nn.functional.pad(powers.cumsum(dim=2), (1, 0))
        at_cuts = running.gather(2, ends[:, None].expand(-1, 3, -1)).unflatten(2, cuts.shape[1:])
        first, last = (running[:, :, edge, None, None].expand_as(at_cuts[:, :, :1]) for edge in (0, -1))
        stretches = torch.cat([first, at_cuts, last], dim=2).diff(dim=2)
    count, total, squares = stretches.unbind(1)  # (B, 4, N) each
    here = theta[:, None]
    linear = kappa * ((count * here - total).abs() - 0.5 * kappa * count)
    square = 0.5 * (count * here.square() - 2 * total * here + squares)
    return linear[:, 0] + square[:, 1], square[:, 2] + linear[:, 3]


def taken_quantiles(quantiles: Tensor, actions: Tensor) -> Tensor:
    """Quantiles of one action: (B, A, N) float32 at (B,) int64, as (B, N)."""
    check_tensor("quantiles", quantiles, torch.float32, num_axes=3)
    check_tensor("actions", actions, torch.int64, num_axes=1)
    return quantiles[torch.arange(len(actions), device=quantiles.device), actions]
