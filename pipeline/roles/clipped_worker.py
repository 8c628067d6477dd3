"""The worker of batch A3C whose returns have a limit."""

from dataclasses import dataclass

import numpy as np

from pipeline.algorithms.actor_critic import ActorCriticLoss
from pipeline.algorithms.clipped import ClippedConfig
from pipeline.interfaces import RowSink, Servers
from pipeline.roles.spec import WorkerSpec
from pipeline.roles.worker import Worker
from pipeline.types import RolloutBatch


@dataclass(frozen=True)
class ClippedSpec(WorkerSpec):
    """What a host needs to know to build the role; its `algorithm` says which algorithm it carries out."""

    algorithm: ClippedConfig


class ClippedWorker(Worker):
    """A worker that learns from no return beyond the limit."""

    NAME = "clipped"
    SPEC = ClippedSpec

    def __init__(self, spec: ClippedSpec, servers: Servers, rows: RowSink) -> None:
        super().__init__(spec, servers, rows)
        self._max_return = spec.algorithm.max_return

    def _loss(self, batch: RolloutBatch) -> ActorCriticLoss:
        limit = self._max_return
        return super()._loss(batch._replace(return_tm1=np.clip(batch.return_tm1, -limit, limit)))
