"""Shards and leader of a synchronous parameter server on other hosts: Dask actors behind the interfaces of roles.

`connect` gives the thing itself where it lives in this process, and a proxy with deadlines elsewhere. Whatever works
runs in the one thread that a process has for its actors; whoever waits for a version waits on the event loop of the
shard's process, so that pushes, pulls and updates pass.
Not here: how a call travels (`pipeline.cluster.remotes.calls`), what is done with it
(`pipeline.param_server.synchronous`, `.leader`).
"""

import asyncio
from collections.abc import Sequence
from typing import ClassVar

from pipeline.cluster.remotes.calls import Hosted, HostedAddress, Remote
from pipeline.cluster.remotes.shards import HostedShard, RemoteShard, ShardAddress
from pipeline.interfaces import Call, ClosedUpdate, Commit, CommitAnswer, LeaderHandle, SynchronousShardHandle
from pipeline.optimizers.optimizer import OptimizerConfig
from pipeline.param_server.config import ParamServerConfig
from pipeline.param_server.leader import DirectLeader, QuorumLeader
from pipeline.param_server.quorum import Quorum
from pipeline.param_server.quorum_size import QuorumRange
from pipeline.param_server.shard import ParameterShard
from pipeline.param_server.snapshot import ShardSnapshot
from pipeline.param_server.synchronous import DirectSynchronousShard, SynchronousShard


class HostedSynchronousShard(HostedShard):
    """What Dask holds as an actor: one SynchronousShard."""

    shard_type: ClassVar[type[ParameterShard]] = SynchronousShard
    shard: SynchronousShard

    def __init__(
        self,
        name: str,
        start: ShardSnapshot,
        optimizer: OptimizerConfig,
        config: ParamServerConfig,
        generation: int,
    ) -> None:
        super().__init__(name, start, optimizer, config, generation)
        self._reached: dict[int, asyncio.Future[int]] = {}
        """By version, what all waits for it on the event loop share; touched there only."""

    def apply(self, update: ClosedUpdate) -> int:
        """See SynchronousShard.apply."""
        return self.shard.apply(update)

    async def wait_version(self, version: int, timeout_seconds: float) -> int:
        """See SynchronousShard.wait_version."""
        if version not in self._reached:
            self._reached[version] = asyncio.wrap_future(self.shard.reached(version))
        # Unlike `wait_for`, this cancels nothing when the time is over: others wait for the same.
        await asyncio.wait([self._reached[version]], timeout=timeout_seconds)
        self._reached = {awaited: reached for awaited, reached in self._reached.items() if not reached.done()}
        return self.shard.version


class SynchronousShardAddress(ShardAddress):
    """Where a hosted synchronous shard is."""

    def connect(self) -> SynchronousShardHandle:
        """The shard itself if it lives in this process, else a proxy."""
        hosted = self.here()
        if isinstance(hosted, HostedSynchronousShard):
            return DirectSynchronousShard(hosted.shard)
        return RemoteSynchronousShard(self.name, self.actor)


class RemoteSynchronousShard(RemoteShard, SynchronousShardHandle):
    """A SynchronousShardHandle whose calls travel to another process."""

    def apply(self, update: ClosedUpdate) -> Call[int]:
        """Have one update carried out."""
        return self._call("apply", update)

    def foretell(self, update: ClosedUpdate) -> None:
        """Nothing: who waits for this shard waits on its event loop, where nobody may compute."""

    def wait_version(self, version: int, timeout_seconds: float) -> Call[int]:
        """Wait, there, for a version."""
        return self._call("wait_version", version, timeout_seconds)


class HostedLeader(Hosted):
    """What Dask holds as an actor: one QuorumLeader, and its own connections to the shards."""

    def __init__(
        self,
        name: str,
        size: int | QuorumRange,
        version: int,
        generation: int,
        shards: Sequence[SynchronousShardAddress],
    ) -> None:
        """See Quorum; `shards` in shard order."""
        super().__init__(name)
        self.leader = QuorumLeader(Quorum(size, version, generation), [shard.connect() for shard in shards])

    def commit(self, commit: Commit) -> CommitAnswer:
        """See QuorumLeader.commit."""
        return self.leader.commit(commit)

    def remind(self) -> int:
        """See QuorumLeader.remind."""
        return self.leader.remind()

    def hold(self) -> int:
        """See QuorumLeader.hold."""
        return self.leader.hold()

    def release(self) -> int:
        """See QuorumLeader.release."""
        return self.leader.release()


class LeaderAddress(HostedAddress):
    """Where a hosted leader is."""

    def connect(self) -> LeaderHandle:
        """The leader itself if it lives in this process, else a proxy."""
        hosted = self.here()
        return DirectLeader(hosted.leader) if isinstance(hosted, HostedLeader) else RemoteLeader(self.name, self.actor)


class RemoteLeader(Remote, LeaderHandle):
    """A LeaderHandle whose calls travel to another process."""

    def commit(self, commit: Commit) -> Call[CommitAnswer]:
        """Offer a gradient that all shards hold."""
        return self._call("commit", commit)

    def remind(self) -> Call[int]:
        """Have what a shard has not acknowledged said again."""
        return self._call("remind")

    def hold(self) -> Call[int]:
        """Have no update closed; the version that all shards reach then."""
        return self._call("hold")

    def release(self) -> Call[int]:
        """Have updates closed again."""
        return self._call("release")
