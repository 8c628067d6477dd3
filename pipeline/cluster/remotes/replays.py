"""Shards of the global replay on other hosts: Dask actors behind the ReplayHandle interface.

`ReplayAddress.connect` gives the shard itself where it lives in this process, and a proxy with deadlines elsewhere.
Not here: how a call travels (`pipeline.cluster.remotes.calls`), what a shard does with it (`pipeline.replay.shard`).
"""

from pipeline.cluster.remotes.calls import Hosted, HostedAddress, Remote
from pipeline.interfaces import AddAnswer, Call, ReplayHandle, SampleAnswer, StepChunk
from pipeline.replay.shard import DirectReplay
from pipeline.roles.replay_server import ReplayServerSpec, build_replay_shard
from pipeline.types import Float32Array, Int64Array


class HostedReplay(Hosted):
    """What Dask holds as an actor: one ReplayShard."""

    def __init__(self, name: str, spec: ReplayServerSpec) -> None:
        super().__init__(name)
        self.shard = build_replay_shard(spec)

    def add(self, chunk: StepChunk) -> AddAnswer:
        """See ReplayShard.add."""
        return self.shard.add(chunk)

    def may_add(self) -> AddAnswer:
        """See ReplayShard.may_add."""
        return self.shard.may_add()

    def sample(self) -> SampleAnswer:
        """See ReplayShard.sample."""
        return self.shard.sample()

    def update_priorities(self, key: Int64Array, abs_error: Float32Array) -> None:
        """See ReplayShard.update_priorities."""
        self.shard.update_priorities(key, abs_error)


class ReplayAddress(HostedAddress):
    """Where a hosted replay shard is."""

    def connect(self) -> ReplayHandle:
        """The shard itself if it lives in this process, else a proxy."""
        hosted = self.here()
        return DirectReplay(hosted.shard) if isinstance(hosted, HostedReplay) else RemoteReplay(self.name, self.actor)


class RemoteReplay(Remote, ReplayHandle):
    """A ReplayHandle whose calls travel to another process."""

    def add(self, chunk: StepChunk) -> Call[AddAnswer]:
        """Offer steps."""
        return self._call("add", chunk)

    def may_add(self) -> Call[AddAnswer]:
        """Ask whether steps would be held back."""
        return self._call("may_add")

    def sample(self) -> Call[SampleAnswer]:
        """Ask for a minibatch."""
        return self._call("sample")

    def update_priorities(self, key: Int64Array, abs_error: Float32Array) -> Call[None]:
        """See TransitionSource.update_priorities."""
        return self._call("update_priorities", key, abs_error)
