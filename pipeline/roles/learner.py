"""The learner: one minibatch, one gradient, one push. It never applies a gradient to its own replica.

    theta <- theta+ (pull) -> minibatch -> loss (targets from theta-) -> priorities -> outlier rule
                                                                    -> gradient -> clip -> push

Nair et al. 2015 (Gorila's "learners" and its guards). theta- is renewed from the server, not from theta.
Departure: Gorila's pseudo-code has the plain squared error; the clipped one of Mnih et al. 2015 serves both here.
Not here: the loss itself (`pipeline.roles.q_loss`), acting (`pipeline.roles.actor`), admission by age and the update
itself (`pipeline.param_server.shard`).
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch

from pipeline.algorithms.config import QLearningConfig
from pipeline.algorithms.importance import importance_exponent, importance_weights
from pipeline.algorithms.outliers import LossOutlierRule, OutlierState
from pipeline.interfaces import GradientSink, TransitionSource
from pipeline.networks.computed_gradient import ComputedGradient, DenseGradient
from pipeline.networks.replica import QReplica
from pipeline.param_server.config import FACTORS, ParamServerConfig
from pipeline.replay.config import ReplayConfig
from pipeline.roles.divergence import DivergenceGuard
from pipeline.roles.follower import Follower, FollowerState
from pipeline.roles.q_loss import QLoss
from pipeline.roles.statistics import UpdateStatistics
from pipeline.types import Float32Array, Receipt, TransitionBatch


class GatheredGradient(NamedTuple):
    """A gradient that waits to be sent with others as one."""

    gradient: Float32Array
    computed_at: tuple[int, ...]


class LearnerState(NamedTuple):
    """A learner between two steps; its online replica is not its own."""

    num_updates: int
    target: FollowerState
    num_losses_not_finite: int
    num_norms_not_finite: int
    outliers: OutlierState
    gathered: tuple[GatheredGradient, ...]


class Learner:
    """Computes and sends one gradient per `step()`. `num_updates` counts gradients computed."""

    def __init__(
        self,
        algorithm: QLearningConfig,
        replay: ReplayConfig,
        server: ParamServerConfig,
        online: Follower[QReplica],
        target: Follower[QReplica],
        transitions: TransitionSource,
        sink: GradientSink,
        statistics: UpdateStatistics,
        noise: torch.Generator,
    ) -> None:
        self.num_updates = 0
        self._algorithm = algorithm
        self._replay = replay
        self._server = server
        self._online = online
        self._target = target
        self._transitions = transitions
        self._sink = sink
        self._statistics = statistics
        self._divergence, self._overflow = DivergenceGuard(), DivergenceGuard()
        self._gathered: list[tuple[torch.Tensor, tuple[int, ...]]] = []
        """Gradients that wait to be sent as one, with the versions that they were computed at."""
        self._loss = QLoss(algorithm, online.replica, target.replica, noise)
        self._outliers = LossOutlierRule(
            algorithm.outlier_deviations, algorithm.outlier_decay, algorithm.outlier_min_error
        )

    def step(self) -> None:
        """Compute one gradient at the server's newest parameters and push it, unless its loss is an outlier.

        The rule judges the loss without importance weights, which shrink as a run goes on.
        """
        self._refresh()
        batch = self._transitions.sample()
        loss = self._loss(batch, self._importance(batch))
        loss_value, mean_q_value = loss.mean_loss.item(), loss.mean_q.item()
        self.num_updates += 1
        # An error that is no number would be a priority that is none. Outliers do count: their error is what it is.
        if self._divergence.admits(loss_value, self._online.version) and self._replay.priority_exponent is not None:
            self._transitions.update_priorities(batch.key, loss.abs_error.cpu().numpy())
        if not self._outliers.admit(loss_value, lambda: loss.reward_error.max().item()):
            self._statistics.outlier(loss_value, mean_q_value)
            return
        factored = self._server.wire == FACTORS
        gradient = self._online.replica.computed_gradient(loss.objective, factored=factored)
        norm = gradient.norm()
        if not self._overflow.admits(norm, self._online.version):
            self._statistics.outlier(loss_value, mean_q_value)
            return
        limit = self._algorithm.max_gradient_norm
        if limit is not None and norm > limit:
            gradient.scale(limit / norm)
        self._statistics.computed(loss_value, mean_q_value, norm)
        self._send(gradient)

    def state(self) -> LearnerState:
        """Where it stands."""
        return LearnerState(
            self.num_updates,
            self._target.state(),
            self._divergence.num_in_a_row,
            self._overflow.num_in_a_row,
            self._outliers.state(),
            tuple(GatheredGradient(gradient.cpu().numpy(), at) for gradient, at in self._gathered),
        )

    def restore(self, state: LearnerState) -> None:
        """Go on from there."""
        self.num_updates = state.num_updates
        self._target.restore(state.target)
        self._divergence.num_in_a_row = state.num_losses_not_finite
        self._overflow.num_in_a_row = state.num_norms_not_finite
        self._outliers.restore(state.outliers)
        device = self._online.replica.device
        self._gathered = [(torch.from_numpy(gradient.copy()).to(device), at) for gradient, at in state.gathered]

    def close(self) -> None:
        """Wait for what became of the last gradient; some that were gathered and not yet sent are given up."""
        self._note(self._sink.flush())

    def _send(self, gradient: ComputedGradient) -> None:
        if self._server.push_every_updates == 1:
            self._note(self._sink.push(gradient.as_sent(), self._online.versions))
            return
        assert isinstance(gradient, DenseGradient), "factors are not gathered: refused before the run starts"
        self._gathered.append((gradient.flat.clone(), self._online.versions))
        if len(self._gathered) < self._server.push_every_updates:
            return
        mean = torch.stack([gathered for gathered, _ in self._gathered]).mean(dim=0)
        # Of each shard the oldest version, which is the first one's.
        computed_at = self._gathered[0][1]
        self._gathered = []
        self._note(self._sink.push(mean.cpu().numpy(), computed_at))

    def _note(self, receipts: Sequence[Receipt]) -> None:
        if receipts:
            self._statistics.answered(receipts, self._server.push_every_updates)

    def _refresh(self) -> None:
        if self.num_updates % self._server.learner_pull_every_updates == 0:
            self._online.refresh()
        period = self._server.target_period_updates
        assert period is not None, "a run of Q-learning without a target network is refused before it starts"
        # The oldest shard counts: all shards have then made their copy of the same multiple of the period.
        if not self._target.versions or self._online.version // period > self._target.version // period:
            self._target.refresh_target()

    def _importance(self, batch: TransitionBatch) -> torch.Tensor | None:
        # None where all are equally likely: the plain path then has no multiplication by ones.
        if self._replay.priority_exponent is None:
            return None
        exponent = importance_exponent(
            self._replay.importance_exponent, self._replay.importance_updates, self._online.version
        )
        return importance_weights(torch.from_numpy(batch.relative_chance).to(self._online.replica.device), exponent)
