"""Munchausen Q-learning: the policy's own logarithm is part of the reward, and targets are means over the policy.

Vieillard et al. 2020, "Munchausen Reinforcement Learning". The policy is soft-greedy, pi = softmax(q / tau); with
alpha = 0 it is expected Q-learning with an entropy bonus. All values are the target network's. Actions are chosen by
the values as ever.
    reward    r_t + alpha * clip(tau * log pi(a_tm1 | s_tm1), l_0, 0)
    target    reward + discount_t * sum_a pi(a | s_t) * (q_t[a] - tau * log pi(a | s_t))
The arithmetic is float32; other types are refused. Not here: the losses (`pipeline.algorithms.q_learning`,
`pipeline.algorithms.quantile`).
"""

import torch
from torch import Tensor

from pipeline.algorithms.checks import check_tensor
from pipeline.algorithms.q_learning import taken_values


def munchausen_rewards(
    q_tm1: Tensor, a_tm1: Tensor, r_t: Tensor, weight: float, temperature: float, floor: float
) -> Tensor:
    """r_t + weight * clip(temperature * log pi(a_tm1), floor, 0), (B,) float32, no gradient.

    pi = softmax(q_tm1 / temperature); q_tm1 (B, A) of the target network, a_tm1 (B,) int64, r_t (B,); float32 but for
    a_tm1. Vieillard et al. 2020, equation 4 and section 4: alpha 0.9, tau 0.03, l_0 -1.
    Departure: with n-step returns r_t is their sum, and only the first action's logarithm is added; those of the steps
    between would need their states. The paper has one step.
    """
    check_tensor("r_t", r_t, torch.float32, num_axes=1)
    log_pi = taken_values(scaled_log_policy(q_tm1, temperature), a_tm1)
    return (r_t + weight * log_pi.clamp(floor, 0.0)).detach()


def soft_targets(q_t: Tensor, r_t: Tensor, discount_t: Tensor, temperature: float) -> Tensor:
    """r_t + discount_t * sum_a pi[a] * (q_t[a] - temperature * log pi[a]), (B,) float32, no gradient.

    pi = softmax(q_t / temperature); q_t (B, A) of the target network, r_t and discount_t (B,), float32.
    Vieillard et al. 2020, equation 4.
    """
    return soft_quantile_targets(q_t[:, :, None], q_t, r_t, discount_t, temperature).squeeze(1)


def soft_quantile_targets(
    quantiles_t: Tensor, q_t: Tensor, r_t: Tensor, discount_t: Tensor, temperature: float
) -> Tensor:
    """The same for each quantile: (B, N) float32, no gradient.

    target_tm1[j] = r_t + discount_t * sum_a pi[a] * (quantiles_t[a, j] - temperature * log pi[a])
    quantiles_t (B, A, N) and their means q_t (B, A) of the target network. Vieillard et al. 2020, section 4 (M-IQN).
    """
    check_tensor("quantiles_t", quantiles_t, torch.float32, num_axes=3)
    check_tensor("r_t", r_t, torch.float32, num_axes=1)
    check_tensor("discount_t", discount_t, torch.float32, num_axes=1)
    log_pi = scaled_log_policy(q_t, temperature)
    pi = (log_pi / temperature).exp()
    soft_t = (pi[:, :, None] * (quantiles_t - log_pi[:, :, None])).sum(dim=1)
    return (r_t[:, None] + discount_t[:, None] * soft_t).detach()


def scaled_log_policy(q: Tensor, temperature: float) -> Tensor:
    """temperature * log softmax(q / temperature): (B, A) float32 -> (B, A), at most 0."""
    check_tensor("q", q, torch.float32, num_axes=2)
    return temperature * (q / temperature).log_softmax(dim=1)
