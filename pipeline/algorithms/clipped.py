"""The clipped objective of PPO: several gradients of one batch, and the policy stays near the one that played.

Schulman et al. 2017, "Proximal Policy Optimization Algorithms", section 3. The arithmetic is float32; other types are
refused. Departure: the entropy and the values are those of A3C (half the squared error), their weights are settings.
Not here: generalised advantages (`pipeline.algorithms.actor_critic.lambda_returns`), how often a batch is passed
(`pipeline.roles.passes`).
"""

import torch
from torch import Tensor

from pipeline.algorithms.actor_critic import ActorCriticLoss, joined_loss
from pipeline.algorithms.checks import check_tensor

_SMALLEST_DEVIATION = 1e-8
"""Added to the deviation of advantages (their code): those of a batch that are all alike become 0."""


def normalised(advantage_tm1: Tensor) -> Tensor:
    """Advantages (B,) float32 with mean 0 and standard deviation 1 over the batch; 0 where all are alike.

    Their code, the published one of Schulman et al. 2017, does so with each minibatch; the paper says nothing of it.
    """
    check_tensor("advantage_tm1", advantage_tm1, torch.float32, num_axes=1)
    deviation = advantage_tm1.std(correction=0) + _SMALLEST_DEVIATION
    return (advantage_tm1 - advantage_tm1.mean()) / deviation


def clipped_loss(
    logits: Tensor,
    values: Tensor,
    a_tm1: Tensor,
    return_tm1: Tensor,
    advantage_tm1: Tensor,
    log_pi_tm1: Tensor,
    clip_range: float,
    entropy_weight: float,
    value_weight: float,
) -> ActorCriticLoss:
    """Mean over the batch of clipped policy loss, entropy and value loss.

    pi = softmax(logits),  ratio = pi[a_tm1] / exp(log_pi_tm1)
    objective = mean(-min(ratio * advantage_tm1, clip(ratio, 1 - clip_range, 1 + clip_range) * advantage_tm1)
                     + entropy_weight * sum_a pi[a] * log pi[a] + value_weight * 0.5 * (return_tm1 - values)^2)
    logits (B, A), values (B,), return_tm1, advantage_tm1 and log_pi_tm1 (B,), all float32; a_tm1 (B,) int64.
    log_pi_tm1 and advantage_tm1 are of the policy and the values that played, the same in each pass.
    Schulman et al. 2017, equations 7 and 9; clip_range is 0.1 there on Atari, as we believe (docs/papers.md).
    """
    check_tensor("logits", logits, torch.float32, num_axes=2)
    check_tensor("a_tm1", a_tm1, torch.int64, num_axes=1)
    for name, tensor in (
        ("values", values),
        ("return_tm1", return_tm1),
        ("advantage_tm1", advantage_tm1),
        ("log_pi_tm1", log_pi_tm1),
    ):
        check_tensor(name, tensor, torch.float32, num_axes=1)
    log_pi = logits.log_softmax(dim=1)
    ratio = (log_pi.gather(1, a_tm1[:, None]).squeeze(1) - log_pi_tm1).exp()
    clipped = ratio.clamp(1.0 - clip_range, 1.0 + clip_range)
    policy_loss = -torch.minimum(ratio * advantage_tm1, clipped * advantage_tm1).mean()
    entropy = -(log_pi.exp() * log_pi).sum(dim=1).mean()
    return joined_loss(policy_loss, entropy, values, return_tm1, return_tm1 - values, entropy_weight, value_weight)
