"""A small synchronous server in this thread, whose words to its shards can be made to get lost."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from pipeline.errors import CallTimeoutError, PipelineError
from pipeline.interfaces import Call, ClosedUpdate
from pipeline.optimizers.optimizer import OptimizerConfig
from pipeline.param_server.layout import ParamLayout
from pipeline.param_server.leader import DirectLeader, QuorumLeader
from pipeline.param_server.quorum import Quorum
from pipeline.param_server.snapshot import ServerSnapshot, first_snapshot, merge_snapshots, split_snapshot
from pipeline.param_server.synchronous import DirectSynchronousShard, SynchronousShard
from pipeline.param_server.synchronous_client import SynchronousClient
from pipeline.types import Float32Array
from tests.param_server.conftest import CONFIG, OPTIMIZERS, Server


class Unanswered:
    """A call that was lost on its way."""

    def __init__(self, error: PipelineError) -> None:
        self._error = error

    def result(self, timeout_seconds: float) -> int:
        """No answer."""
        raise self._error


class LossyShard(DirectSynchronousShard):
    """A shard in this process to which the leader's words get lost while `loses` says with which error."""

    def __init__(self, shard: SynchronousShard) -> None:
        super().__init__(shard)
        self.loses: PipelineError | None = None
        self.told: list[ClosedUpdate] = []
        """All words to it, lost ones too."""

    def apply(self, update: ClosedUpdate) -> Call[int]:  # type: ignore[override]
        """Apply, or lose the word."""
        self.told.append(update)
        return super().apply(update) if self.loses is None else Unanswered(self.loses)

    def foretell(self, update: ClosedUpdate) -> None:
        """Hear of it, or not."""
        if self.loses is None:
            super().foretell(update)

    def lose(self) -> None:
        """Answer nothing from now on."""
        self.loses = CallTimeoutError("no answer")


class SynchronousServer:
    """Shards, leader and clients of one generation, by default of two shards, a quorum of two, and AdaGrad."""

    def __init__(
        self,
        start: npt.ArrayLike | ServerSnapshot,
        quorum: int = 2,
        generation: int = 1,
        optimizer: OptimizerConfig = OPTIMIZERS["adagrad"],
        **settings: object,
    ) -> None:
        if not isinstance(start, ServerSnapshot):
            start = first_snapshot(np.array(start, np.float32))
        self.config = replace(CONFIG, **{"num_shards": 2} | settings)  # type: ignore[arg-type]
        self.generation = generation
        self.layout = ParamLayout(start.params.size, self.config.num_shards)
        self.shards = [
            SynchronousShard(part, optimizer, self.config, generation) for part in split_snapshot(start, self.layout)
        ]
        self.handles = [LossyShard(shard) for shard in self.shards]
        self.leader = QuorumLeader(Quorum(quorum, start.version, generation), self.handles)

    def client(self, sender: str, **settings: object) -> SynchronousClient:
        """A worker's end, with settings of its own."""
        config = replace(self.config, **settings)  # type: ignore[arg-type]
        return SynchronousClient(self.handles, DirectLeader(self.leader), self.layout, sender, self.generation, config)

    def push(self, sender: str, gradient: npt.ArrayLike, version: int) -> str:
        """Push and commit a whole gradient; what became of it."""
        receipts = self.client(sender).push(np.array(gradient, np.float32), (version,) * self.layout.num_shards)
        (reason,) = {receipt.reason for receipt in receipts}
        assert all(receipt.admitted == (reason == "") for receipt in receipts)
        return reason

    @property
    def versions(self) -> list[int]:
        """Each shard's."""
        return [shard.version for shard in self.shards]

    def snapshot(self) -> ServerSnapshot:
        """All shards now."""
        return merge_snapshots([shard.snapshot() for shard in self.shards])


def mean_in_order(gradients: Sequence[Float32Array]) -> Float32Array:
    """The mean, one number after the other."""
    means = []
    for numbers in zip(*gradients, strict=True):
        total = np.float32(0)
        for number in numbers:
            total = np.float32(total + number)
        means.append(np.float32(total / np.float32(len(numbers))))
    return np.array(means, np.float32)


def assert_equals_unsharded(server: SynchronousServer, reference: Server) -> None:
    """Parameters and optimizer state are those of one asynchronous shard, bit for bit."""
    ours, theirs = server.snapshot(), reference.shards[0].snapshot()
    assert set(ours.versions) == {theirs.version}
    np.testing.assert_array_equal(ours.params, theirs.params)
    for name, slot in theirs.slots.items():
        np.testing.assert_array_equal(ours.slots[name], slot, err_msg=name)
