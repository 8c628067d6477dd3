"""Parameter shards on other hosts: Dask actors behind the ShardHandle interface.

`ShardAddress.connect` gives the shard itself where it lives in this process, and a proxy with deadlines elsewhere.
Not here: how a call travels (`pipeline.cluster.remotes.calls`), what a shard does with it
(`pipeline.param_server.shard`), the shards of a synchronous server (`pipeline.cluster.remotes.quorum`).
"""

from typing import ClassVar

from distributed import Actor

from pipeline.cluster.remotes.calls import Hosted, HostedAddress, Remote
from pipeline.interfaces import Call, PulledSlice, Push, ShardHandle, SliceLoader
from pipeline.optimizers.optimizer import OptimizerConfig
from pipeline.param_server.config import ParamServerConfig
from pipeline.param_server.shard import DirectShard, ParameterShard
from pipeline.param_server.snapshot import ShardSnapshot
from pipeline.param_server.wire import decode
from pipeline.types import Receipt


class HostedShard(Hosted):
    """What Dask holds as an actor: one ParameterShard."""

    shard_type: ClassVar[type[ParameterShard]] = ParameterShard

    def __init__(
        self,
        name: str,
        start: ShardSnapshot,
        optimizer: OptimizerConfig,
        config: ParamServerConfig,
        generation: int,
    ) -> None:
        super().__init__(name)
        self.shard = self.shard_type(start, optimizer, config, generation)

    def push(self, push: Push) -> Receipt:
        """See ParameterShard.push."""
        return self.shard.push(push)

    def pull(self, known_version: int) -> PulledSlice:
        """See ParameterShard.pull."""
        return self.shard.pull(known_version)

    def pull_target(self, known_version: int) -> PulledSlice:
        """See ParameterShard.pull_target."""
        return self.shard.pull_target(known_version)

    def snapshot(self) -> ShardSnapshot:
        """See ParameterShard.snapshot."""
        return self.shard.snapshot()


class ShardAddress(HostedAddress):
    """Where a hosted shard is."""

    def connect(self) -> ShardHandle:
        """The shard itself if it lives in this process, else a proxy."""
        hosted = self.here()
        return DirectShard(hosted.shard) if isinstance(hosted, HostedShard) else RemoteShard(self.name, self.actor)


class RemoteShard(Remote, ShardHandle):
    """A ShardHandle whose calls travel to another process."""

    def push(self, push: Push) -> Call[Receipt]:
        """Offer one gradient slice."""
        return self._call("push", push)

    def pull(self, known_version: int) -> Call[PulledSlice]:
        """Ask for the current slice."""
        return self._call("pull", known_version)

    def pull_target(self, known_version: int) -> Call[PulledSlice]:
        """Ask for the target network's slice."""
        return self._call("pull_target", known_version)

    def read(self, known_version: int, load: SliceLoader) -> Call[int]:
        """Ask for the current slice, to be handed to `load`."""
        return _LoadedCall(self.pull(known_version), load)

    def overlapped(self) -> "OverlappedShard":
        """A handle that asks for the next slice before it is wanted."""
        return OverlappedShard(self._name, self._actor)

    def snapshot(self) -> Call[ShardSnapshot]:
        """Ask for one consistent copy of everything that the shard holds."""
        return self._call("snapshot")


class OverlappedShard(RemoteShard):
    """A RemoteShard whose slices travel while its caller computes: each `read` gives what the one before asked for."""

    def __init__(self, name: str, actor: Actor) -> None:
        super().__init__(name, actor)
        self._ahead: Call[PulledSlice] | None = None

    def read(self, known_version: int, load: SliceLoader) -> Call[int]:
        """The slice that is on its way, to be handed to `load`; the next one is asked for."""
        arriving = self._ahead or self.pull(known_version)
        # What is known when it arrives is not known yet: a slice that did not change comes twice.
        self._ahead = self.pull(known_version)
        return _LoadedCall(arriving, load)


class _LoadedCall:
    def __init__(self, pull: Call[PulledSlice], load: SliceLoader) -> None:
        self._pull = pull
        self._load = load

    def result(self, timeout_seconds: float) -> int:
        """The version, after `load` had what is newer. Raises CallTimeoutError or RemoteLostError."""
        version, params = self._pull.result(timeout_seconds)
        if params is not None:
            self._load(decode(params))
        return version
