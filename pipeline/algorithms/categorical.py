"""Q-learning of distributions: a return is one of N atoms, and the network says how likely each of them is (C51).

Bellemare et al. 2017. Its mean is Q(s, a), by which actions are chosen as ever.
The arithmetic is float32; other types are refused. Not here: atoms and means (`pipeline.networks.network`), errors of
plain values (`pipeline.algorithms.q_learning`).
"""

import torch
from torch import Tensor

from pipeline.algorithms.checks import check_tensor
from pipeline.algorithms.q_learning import MinibatchLoss


def categorical_targets(logits_t: Tensor, a_t: Tensor, r_t: Tensor, discount_t: Tensor, support: Tensor) -> Tensor:
    """The distribution that the one of (s_tm1, a_tm1) is drawn to, (B, N) float32, rows summing to 1, no gradient.

    Atom j of p = softmax(logits_t[a_t]) moves to z = r_t + discount_t * support[j], clipped to the ends of the support.
    Its probability is shared by the two atoms beside z, each getting the more the nearer it is:
    target[i] = sum_j p[j] * max(0, 1 - |z_j - support[i]| / distance of two atoms)
    logits_t (B, A, N) of the target network, a_t (B,) int64, r_t and discount_t (B,), support (N,) at equal distances;
    float32 but for a_t. Bellemare et al. 2017, algorithm 1. a_t is the target network's best action there, the online
    network's with double Q-learning (Hessel et al. 2018).
    """
    check_tensor("logits_t", logits_t, torch.float32, num_axes=3)
    check_tensor("r_t", r_t, torch.float32, num_axes=1)
    check_tensor("discount_t", discount_t, torch.float32, num_axes=1)
    check_tensor("support", support, torch.float32, num_axes=1)
    last = support.numel() - 1
    distance = (support[-1] - support[0]) / last
    z = r_t[:, None] + discount_t[:, None] * support
    # Where z lies in units of atoms, clipped in these units so that rounding cannot carry it behind the last atom.
    place = ((z - support[0]) / distance).clamp(0, last)
    # (B, i, j). One expression for both neighbours: what falls on an atom exactly needs no case of its own.
    atoms = torch.arange(last + 1, dtype=torch.float32, device=support.device)
    share = (1 - (place[:, None, :] - atoms[:, None]).abs()).clamp(min=0)
    probabilities = taken_logits(logits_t, a_t).softmax(dim=1)
    return torch.einsum("bij,bj->bi", share, probabilities).detach()


def categorical_loss(
    logits_tm1: Tensor,
    a_tm1: Tensor,
    target_tm1: Tensor,
    q_tm1: Tensor,
    support: Tensor,
    weight: Tensor | None = None,
) -> MinibatchLoss:
    """Cross entropy of target and prediction: loss = -sum_i target_tm1[i] * log softmax(logits_tm1[a_tm1])[i].

    logits_tm1 (B, A, N), a_tm1 (B,) int64, target_tm1 (B, N), q_tm1 (B,) the means of the taken distributions, support
    (N,) the returns, weight (B,) as in `minibatch_loss`; float32. Bellemare et al. 2017, algorithm 1.
    abs_error is the Kullback-Leibler divergence: the loss less the target's own entropy, which nothing can predict away
    (Hessel et al. 2018, "The Integrated Agent").
    """
    check_tensor("target_tm1", target_tm1, torch.float32, num_axes=2)
    check_tensor("q_tm1", q_tm1, torch.float32, num_axes=1)
    losses = -(target_tm1 * taken_logits(logits_tm1, a_tm1).log_softmax(dim=1)).sum(dim=1)
    mean_loss = losses.mean()
    objective = mean_loss if weight is None else (weight * losses).mean()
    entropy = -torch.xlogy(target_tm1, target_tm1).sum(dim=1)
    # The divergence is never negative; a difference of two rounded sums may be.
    divergence = (losses.detach() - entropy).clamp(min=0)
    q_tm1 = q_tm1.detach()
    return MinibatchLoss(objective, mean_loss, q_tm1.mean(), divergence, (target_tm1 @ support - q_tm1).abs())


def taken_logits(logits: Tensor, actions: Tensor) -> Tensor:
    """Logits of one action: (B, A, N) float32 at (B,) int64, as (B, N)."""
    check_tensor("logits", logits, torch.float32, num_axes=3)
    check_tensor("actions", actions, torch.int64, num_axes=1)
    return logits[torch.arange(len(actions), device=logits.device), actions]
