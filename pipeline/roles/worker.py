"""The worker of DBA3C: learns a policy and values of states from its rollouts.

Adamski et al. 2018 (DBA3C's workers); alone it is BA3C. With a `clip_range` its objective is PPO's.
Not here: how it plays, learns and waits in turn (`pipeline.roles.rollout_worker`).
"""

from dataclasses import dataclass
from typing import ClassVar

import torch

from pipeline.algorithms.actor_critic import ActorCriticLoss, actor_critic_loss
from pipeline.algorithms.clipped import clipped_loss, normalised
from pipeline.interfaces import RowSink, Servers
from pipeline.networks.network import ActorCriticNetwork, Network
from pipeline.networks.replica import PolicyReplica
from pipeline.roles.choosing import Sampling
from pipeline.roles.divergence import BlindnessGuard, differ
from pipeline.roles.recollection import Recollection
from pipeline.roles.rollout_worker import CommonState, RolloutWorker
from pipeline.roles.spec import WORKER, WorkerSpec
from pipeline.roles.worker_statistics import WorkerStatistics, WorkerSums
from pipeline.schedules import value_at
from pipeline.types import Float32Array, RolloutBatch, UInt8Array

_MAX_BLIND = 1_000
"""Gradients in a row: what one batch has seen may be alike, as at the start of a game."""


@dataclass(frozen=True)
class WorkerState(CommonState):
    """And what a worker of policies has."""

    num_blind: int
    sums: WorkerSums


class Worker(RolloutWorker[WorkerSpec, PolicyReplica, ActorCriticLoss]):
    """One gradient of a policy and of values per `step()`, or a part of the wait for the others'."""

    NAME = WORKER
    SPEC: ClassVar[type[WorkerSpec]] = WorkerSpec
    STATE = WorkerState

    _statistics: WorkerStatistics

    def __init__(self, spec: WorkerSpec, servers: Servers, rows: RowSink) -> None:
        super().__init__(spec, servers, rows, Sampling())
        self._recollection = Recollection(self._replica)
        self._blindness = BlindnessGuard(_MAX_BLIND)

    @classmethod
    def build(cls, spec: WorkerSpec, servers: Servers, rows: RowSink) -> "Worker":
        """A worker on its host."""
        return cls(spec, servers, rows)

    def state(self) -> WorkerState:
        """Where it stands."""
        return WorkerState(
            **vars(self._common()), num_blind=self._blindness.num_in_a_row, sums=self._statistics.state()
        )

    def restore(self, state: WorkerState) -> None:
        """Go on from there."""
        self._restore_common(state)
        self._recollection.restart(state.rollouts.num_calls)
        self._blindness.num_in_a_row = state.num_blind
        self._statistics.restore(state.sums)

    def _make_replica(self, network: Network, dtype: torch.dtype, device: torch.device) -> PolicyReplica:
        assert isinstance(network, ActorCriticNetwork), "another network is refused before the run starts"
        return PolicyReplica(network, dtype, device)

    def _make_statistics(self) -> WorkerStatistics:
        return WorkerStatistics(self._spec.place.role, self._spec.place.num_steps_before)

    def _refreshed(self) -> None:
        self._recollection.forget()

    def _policy(self, observations: UInt8Array) -> tuple[Float32Array, Float32Array]:
        return self._recollection.policy(observations)

    def _loss(self, batch: RolloutBatch) -> ActorCriticLoss:
        algorithm, device = self._spec.algorithm, self._replica.device
        weight = value_at(algorithm.entropy_weight, algorithm.entropy_weight_changes, self._online.version)
        logits, values = self._recollection.outputs(batch)
        if differ(batch.s_tm1):
            self._blindness.see(values, self._online.version)
        a_tm1 = torch.from_numpy(batch.a_tm1).to(device)
        return_tm1 = torch.from_numpy(batch.return_tm1).to(device)
        if algorithm.clip_range is None:
            return actor_critic_loss(logits, values, a_tm1, return_tm1, weight, algorithm.value_weight)
        advantage_tm1 = return_tm1 - torch.from_numpy(batch.value_tm1).to(device)
        if algorithm.normalised_advantages:
            advantage_tm1 = normalised(advantage_tm1)
        log_pi_tm1 = torch.from_numpy(batch.log_pi_tm1).to(device)
        weights = algorithm.clip_range, weight, algorithm.value_weight
        return clipped_loss(logits, values, a_tm1, return_tm1, advantage_tm1, log_pi_tm1, *weights)
