"""The loss of a minibatch under an online and a target network: joins networks with the functions of Q-learning.

    s_t   -> target network (and online network, with double Q-learning) -> targets
    s_tm1 -> online network -> loss against the targets

Each option of `QLearningConfig` and each network goes with each other one.
Not here: where minibatches come from, what becomes of the gradient (`pipeline.roles.learner`).
"""

import torch

from pipeline.algorithms.categorical import categorical_loss, categorical_targets
from pipeline.algorithms.config import QLearningConfig
from pipeline.algorithms.q_learning import MinibatchLoss, greedy_actions, minibatch_loss, taken_values, td_targets
from pipeline.networks.replica import QReplica
from pipeline.types import TransitionBatch


class QLoss:
    """Computes losses at whatever parameters the two replicas hold.

    Noisy networks get fresh noise from `noise` for each of their two or three passes over the minibatch: targets,
    choice of the next action, prediction (Fortunato et al. 2018, section 3.1).
    """

    def __init__(self, algorithm: QLearningConfig, online: QReplica, target: QReplica, noise: torch.Generator) -> None:
        self._algorithm = algorithm
        self._online = online
        self._target = target
        self._noise = noise

    def __call__(self, batch: TransitionBatch, weight: torch.Tensor | None) -> MinibatchLoss:
        """The loss of `batch`, with importance weights (B,) on the device or without."""
        device = self._online.device
        a_tm1 = torch.from_numpy(batch.a_tm1).to(device)
        r_t = torch.from_numpy(batch.r_t).to(device)
        discount_t = torch.from_numpy(batch.discount_t).to(device)
        with torch.no_grad():
            outputs_t = self._target.outputs(batch.s_t, self._noise)
            q_t = self._target.q_values(outputs_t)
            q_t_selector = self._online.values(batch.s_t, self._noise) if self._algorithm.double else None
        outputs_tm1 = self._online.outputs(batch.s_tm1, self._noise)
        support = self._online.support
        if support is None:
            target_tm1 = td_targets(q_t, r_t, discount_t, q_t_selector)
            return minibatch_loss(outputs_tm1, a_tm1, target_tm1, self._algorithm.max_abs_td_error, weight)
        a_t = greedy_actions(q_t if q_t_selector is None else q_t_selector)
        target_tm1 = categorical_targets(outputs_t, a_t, r_t, discount_t, support)
        q_tm1 = taken_values(self._online.q_values(outputs_tm1.detach()), a_tm1)
        return categorical_loss(outputs_tm1, a_tm1, target_tm1, q_tm1, weight)
