"""The worker of PQN: learns values of actions from its rollouts, without a replay and without a target network.

    rollouts by epsilon-greedy actions -> Q(lambda) returns of the values that were seen on the way -> squared error

Gallici et al. 2025, "Simplifying Deep Temporal Difference Learning", algorithm 1. What a target network does there a
normalised network does (`network=layer_norm`); that a replay breaks up correlations, many lanes do.
Departures: here several workers make an update of a synchronous server, each with lanes of its own. The gradients of
a rollout are of batches in the order in which they were played; there all is shuffled into minibatches. The values in a
return are of the parameters that chose the actions, as there.
Not here: how it plays, learns and waits in turn (`pipeline.roles.rollout_worker`).
"""

from dataclasses import dataclass
from typing import ClassVar

import torch

from pipeline import seeding
from pipeline.algorithms.exploration import lane_epsilons
from pipeline.algorithms.q_learning import MinibatchLoss, minibatch_loss
from pipeline.interfaces import RowSink, Servers
from pipeline.networks.network import Network, QNetwork
from pipeline.networks.replica import QReplica
from pipeline.roles.choosing import EpsilonGreedy
from pipeline.roles.heldout import HeldoutState, HeldoutStates
from pipeline.roles.progress import RoleProgress
from pipeline.roles.q_worker_statistics import QWorkerStatistics
from pipeline.roles.rollout_worker import CommonState, RolloutWorker
from pipeline.roles.spec import WORKER, QWorkerSpec
from pipeline.roles.statistics import UpdateSums
from pipeline.types import Float32Array, Float64Array, RolloutBatch, UInt8Array


@dataclass(frozen=True)
class QWorkerState(CommonState):
    """And what a worker of values has."""

    sums: UpdateSums
    heldout: HeldoutState
    noise: UInt8Array
    """State of the torch generator that noisy layers draw from."""
    epsilons: Float64Array
    budget_share: float


class QWorker(RolloutWorker[QWorkerSpec, QReplica, MinibatchLoss]):
    """One gradient of values per `step()`, or a part of the wait for the others'."""

    NAME = WORKER
    SPEC: ClassVar[type[QWorkerSpec]] = QWorkerSpec
    STATE = QWorkerState

    _statistics: QWorkerStatistics

    def __init__(self, spec: QWorkerSpec, servers: Servers, rows: RowSink) -> None:
        self._exploration = EpsilonGreedy(spec.num_lanes)
        super().__init__(spec, servers, rows, self._exploration)
        self._heldout = HeldoutStates(spec.game, spec.environment, spec.seed, self._replica)
        self._noise = torch.Generator().manual_seed(seeding.torch_seed(spec.seed, *spec.stream_name("noise")))

    @classmethod
    def build(cls, spec: QWorkerSpec, servers: Servers, rows: RowSink) -> "QWorker":
        """A worker on its host."""
        return cls(spec, servers, rows)

    def progress(self) -> RoleProgress:
        """What this worker has done so far."""
        return super().progress()._replace(epsilon=self._epsilon(), budget_share=self._budget_share())

    def state(self) -> QWorkerState:
        """Where it stands."""
        return QWorkerState(
            **vars(self._common()),
            sums=self._statistics.sums.state(),
            heldout=self._heldout.state(),
            noise=self._noise.get_state().numpy().copy(),
            epsilons=self._exploration.epsilons.copy(),
            budget_share=self._budget_share(),
        )

    def restore(self, state: QWorkerState) -> None:
        """Go on from there."""
        self._restore_common(state)
        self._statistics.sums.restore(state.sums)
        self._heldout.restore(state.heldout)
        self._noise.set_state(torch.from_numpy(state.noise.copy()))
        self._exploration.epsilons = state.epsilons.copy()
        # Its own, not the largest of all roles: a share never falls, and must not jump either.
        self._rollouts.clock.share_before = state.budget_share

    def _make_replica(self, network: Network, dtype: torch.dtype, device: torch.device) -> QReplica:
        assert isinstance(network, QNetwork), "another network is refused before the run starts"
        return QReplica(network, dtype, device)

    def _make_statistics(self) -> QWorkerStatistics:
        role, num_steps = self._spec.place.role, self._spec.place.num_steps_before
        return QWorkerStatistics(role, num_steps, self._epsilon, lambda: self._heldout.max_q(self._num_updates))

    def _refreshed(self) -> None:
        place = self._spec.place
        self._exploration.epsilons = lane_epsilons(
            self._spec.algorithm.exploration,
            self._online.version,
            self._budget_share(),
            self._spec.num_lanes,
            place.index,
            place.num_actors,
        )

    def _policy(self, observations: UInt8Array) -> tuple[Float32Array, Float32Array]:
        q: Float32Array = self._replica.values(observations, self._noise).cpu().numpy()
        return q, q.max(axis=1)

    def _loss(self, batch: RolloutBatch) -> MinibatchLoss:
        device = self._replica.device
        q_tm1 = self._replica.q_values(self._replica.outputs(batch.s_tm1, self._noise))
        a_tm1 = torch.from_numpy(batch.a_tm1).to(device)
        return_tm1 = torch.from_numpy(batch.return_tm1).to(device)
        return minibatch_loss(q_tm1, a_tm1, return_tm1, max_abs_td_error=None)

    def _epsilon(self) -> float:
        """Mean over its lanes."""
        return float(self._exploration.epsilons.mean())

    def _budget_share(self) -> float:
        num_steps = self._rollouts.num_steps * self._spec.place.num_actors
        return self._rollouts.clock.budget_share(self._spec.extent, num_steps)
