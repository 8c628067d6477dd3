"""The learner: one minibatch, one gradient, one push. It never applies a gradient to its own replica.

    theta <- theta+ (pull) -> minibatch -> targets from theta- -> loss -> outlier rule -> gradient -> clip -> push

Nair et al. 2015 (Gorila's "learners" and its guards). theta- is renewed from the server, not from theta.
Departure: Gorila's pseudo-code has the plain squared error; the clipped one of Mnih et al. 2015 serves both here.
Not here: acting (`pipeline.roles.actor`), admission by age and the update itself (`pipeline.param_server.shard`).
"""

import math

import torch

from pipeline.algorithms.config import QLearningConfig
from pipeline.algorithms.outliers import LossOutlierRule
from pipeline.algorithms.q_learning import MinibatchLoss, minibatch_loss, td_targets
from pipeline.errors import DivergedError
from pipeline.interfaces import GradientSink, TransitionSource
from pipeline.roles.follower import Follower
from pipeline.roles.statistics import UpdateStatistics

_MAX_NOT_FINITE = 100
"""Losses in a row that are no numbers, after which the run ends with a reason: it would go on for nothing."""


class Learner:
    """Computes and sends one gradient per `step()`. `num_updates` counts gradients computed."""

    def __init__(
        self,
        algorithm: QLearningConfig,
        online: Follower,
        target: Follower,
        target_period_updates: int,
        transitions: TransitionSource,
        sink: GradientSink,
        statistics: UpdateStatistics,
    ) -> None:
        self.num_updates = 0
        self._algorithm = algorithm
        self._online = online
        self._target = target
        self._target_period_updates = target_period_updates
        self._transitions = transitions
        self._sink = sink
        self._statistics = statistics
        self._num_not_finite = 0
        self._outliers = LossOutlierRule(algorithm.outlier_deviations, algorithm.outlier_decay)

    def step(self) -> None:
        """Compute one gradient at the server's newest parameters and push it, unless its loss is an outlier."""
        self._refresh()
        loss, mean_q = self._loss()
        loss_value, mean_q_value = loss.item(), mean_q.item()
        self.num_updates += 1
        self._check_finite(loss_value)
        if not self._outliers.admit(loss_value):
            self._statistics.outlier(loss_value, mean_q_value)
            return
        gradient = self._online.replica.gradient(loss)
        norm = gradient.norm().item()
        limit = self._algorithm.max_gradient_norm
        if limit is not None and norm > limit:
            gradient.mul_(limit / norm)
        receipts = self._sink.push(gradient.cpu().numpy(), self._online.versions)
        self._statistics.pushed(loss_value, mean_q_value, norm, receipts)

    def _refresh(self) -> None:
        self._online.refresh()
        period = self._target_period_updates
        # The oldest shard counts: all shards have then made their copy of the same multiple of the period.
        if not self._target.versions or self._online.version // period > self._target.version // period:
            self._target.refresh_target()

    def _check_finite(self, loss: float) -> None:
        self._num_not_finite = 0 if math.isfinite(loss) else self._num_not_finite + 1
        if self._num_not_finite >= _MAX_NOT_FINITE:
            raise DivergedError(
                f"the loss was {loss} {_MAX_NOT_FINITE} times in a row at update {self._online.version}: "
                "lower optimizer.learning_rate, or set algorithm.max_gradient_norm, and resume from a checkpoint"
            )

    def _loss(self) -> MinibatchLoss:
        batch = self._transitions.sample()
        device = self._online.replica.device
        a_tm1 = torch.from_numpy(batch.a_tm1).to(device)
        r_t = torch.from_numpy(batch.r_t).to(device)
        discount_t = torch.from_numpy(batch.discount_t).to(device)
        target_tm1 = td_targets(self._target.replica.values(batch.s_t), r_t, discount_t)
        q_tm1 = self._online.replica.q_values(batch.s_tm1)
        return minibatch_loss(q_tm1, a_tm1, target_tm1, self._algorithm.max_abs_td_error)
