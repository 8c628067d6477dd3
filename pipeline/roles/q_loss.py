"""The loss of a minibatch under an online and a target network: joins networks with the functions of Q-learning.

    s_t   -> target network (and online network, with double Q-learning) -> targets
    s_tm1 -> online network -> loss against the targets
          -> target network, with Munchausen Q-learning: its policy is part of the reward

Options of `QLearningConfig` and networks go with each other, but for those that the list of mistakes names
(`QLearningConfig.unfit_for_distribution`).
Not here: where minibatches come from, what becomes of the gradient (`pipeline.roles.learner`).
"""

import torch

from pipeline.algorithms.categorical import categorical_loss, categorical_targets
from pipeline.algorithms.config import QLearningConfig
from pipeline.algorithms.munchausen import munchausen_rewards, soft_quantile_targets, soft_targets
from pipeline.algorithms.q_learning import MinibatchLoss, greedy_actions, minibatch_loss, taken_values, td_targets
from pipeline.algorithms.quantile import quantile_loss, quantile_targets
from pipeline.networks.replica import QReplica
from pipeline.types import TransitionBatch


class QLoss:
    """Computes losses at whatever parameters the two replicas hold.

    Noisy networks get fresh noise from `noise` for each of their passes over the minibatch: targets, choice of the next
    action (double, or drawn fractions), Munchausen's reward, prediction (Fortunato et al. 2018, section 3.1).
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
            outputs_t, drawn_t = self._target.predict(batch.s_t, self._noise)
            # Fractions that make the targets choose no actions as well, which would think too well of what varies most
            # (Dabney et al. 2018, IQN, section 3: samples of their own).
            chooses_by_q_t = self._algorithm.munchausen or not self._algorithm.double
            values_anew = drawn_t is not None and chooses_by_q_t
            q_t = self._target.values(batch.s_t, self._noise) if values_anew else self._target.q_values(outputs_t)
            q_t_selector = self._online.values(batch.s_t, self._noise) if self._algorithm.double else None
            if self._algorithm.munchausen:
                r_t = self._munchausen_rewards(batch, a_tm1, r_t)
        outputs_tm1, fractions = self._online.predict(batch.s_tm1, self._noise)
        if self._online.support is None and not self._online.has_quantiles:
            target_tm1 = self._targets(q_t, r_t, discount_t, q_t_selector)
            return minibatch_loss(outputs_tm1, a_tm1, target_tm1, self._algorithm.max_abs_td_error, weight)
        a_t = greedy_actions(q_t if q_t_selector is None else q_t_selector)
        if self._online.support is None:
            target_tm1 = self._quantile_targets(outputs_t, q_t, a_t, r_t, discount_t)
            return quantile_loss(outputs_tm1, a_tm1, target_tm1, self._kappa, weight, fractions)
        target_tm1 = categorical_targets(outputs_t, a_t, r_t, discount_t, self._online.support)
        q_tm1 = taken_values(self._online.q_values(outputs_tm1.detach()), a_tm1)
        return categorical_loss(outputs_tm1, a_tm1, target_tm1, q_tm1, self._online.support, weight)

    @property
    def _kappa(self) -> float:
        assert self._algorithm.max_abs_td_error is not None, "quantiles without a kappa are refused before the start"
        return self._algorithm.max_abs_td_error

    def _munchausen_rewards(self, batch: TransitionBatch, a_tm1: torch.Tensor, r_t: torch.Tensor) -> torch.Tensor:
        algorithm = self._algorithm
        q_tm1 = self._target.values(batch.s_tm1, self._noise)
        weight, temperature = algorithm.munchausen_weight, algorithm.munchausen_temperature
        return munchausen_rewards(q_tm1, a_tm1, r_t, weight, temperature, algorithm.munchausen_floor)

    def _targets(
        self, q_t: torch.Tensor, r_t: torch.Tensor, discount_t: torch.Tensor, q_t_selector: torch.Tensor | None
    ) -> torch.Tensor:
        if self._algorithm.munchausen:
            return soft_targets(q_t, r_t, discount_t, self._algorithm.munchausen_temperature)
        return td_targets(q_t, r_t, discount_t, q_t_selector)

    def _quantile_targets(
        self,
        quantiles_t: torch.Tensor,
        q_t: torch.Tensor,
        a_t: torch.Tensor,
        r_t: torch.Tensor,
        discount_t: torch.Tensor,
    ) -> torch.Tensor:
        if self._algorithm.munchausen:
            temperature = self._algorithm.munchausen_temperature
            return soft_quantile_targets(quantiles_t, q_t, r_t, discount_t, temperature)
        return quantile_targets(quantiles_t, a_t, r_t, discount_t)
