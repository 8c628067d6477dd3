"""Parameter shards on other hosts: Dask actors behind the ShardHandle interface.

`ShardAddress.connect` gives the shard itself where it lives in this process, and a proxy with deadlines elsewhere.
Between processes of one machine, slices lie in memory that both see, and only calls travel.
Not here: how a call travels (`pipeline.cluster.remotes.calls`), when memory is shared (`.lane`), what a shard does with
a call (`pipeline.param_server.shard`), the shards of a synchronous server (`pipeline.cluster.remotes.quorum`).
"""

from functools import partial
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from distributed import Actor

from pipeline.cluster.remotes.bell import answer
from pipeline.cluster.remotes.calls import CONNECT_SECONDS, Hosted, HostedAddress, Remote
from pipeline.cluster.remotes.lane import Lane, LaneOffer, Room
from pipeline.cluster.remotes.shared_memory import Slot, TakenMemories
from pipeline.interfaces import Call, PulledSlice, Push, ShardHandle, SliceLoader
from pipeline.optimizers.optimizer import OptimizerConfig
from pipeline.param_server.config import ParamServerConfig
from pipeline.param_server.shard import DirectShard, ParameterShard
from pipeline.param_server.snapshot import ShardSnapshot
from pipeline.param_server.wire import decode
from pipeline.types import FactoredSlice, Float32Array, Receipt

_LIES_IN_SLOT: Float32Array = np.empty(0, np.float32)


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
        self._memories = TakenMemories()

    def push(self, push: Push) -> Receipt:
        """See ParameterShard.push."""
        return self.shard.push(push)

    def pull(self, known_version: int) -> PulledSlice:
        """See ParameterShard.pull."""
        return self.shard.pull(known_version)

    def pull_target(self, known_version: int) -> PulledSlice:
        """See ParameterShard.pull_target."""
        return self.shard.pull_target(known_version)

    def share(self, offer: LaneOffer) -> bool:
        """Whether a caller is on this machine: its bell calls `push_from` and `pull_into` from now on."""
        try:
            if is_here := self._memories.take(offer.memory):
                answer(offer.bell, self)
        except OSError:
            return False
        return is_here

    def push_from(self, slot: Slot, push: Push) -> Receipt:
        """See ParameterShard.push: of the gradient that lies there, and stays until the answer.

        A synchronous shard reads it until its version is past, as it does with those of callers in its own process.
        """
        return self.shard.push(push._replace(gradient=self._memories.array(slot)))

    def pull_into(self, slot: Slot, known_version: int) -> tuple[int, bool]:
        """The version, and whether its slice was put there, since another one was known."""
        into = self._memories.array(slot)
        if into.dtype == np.float32:
            version = self.shard.read(known_version, partial(np.copyto, into))
            return version, version != known_version
        version, params = self.shard.pull(known_version)
        if params is not None:
            np.copyto(into, params)
        return version, params is not None

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
    """A ShardHandle whose calls travel to another process; for one thread."""

    def __init__(
        self, name: str, actor: Actor, connect_seconds: float = CONNECT_SECONDS, shares_memory: bool = True
    ) -> None:
        """`shares_memory` False: even on one machine calls go as between two, for whoever measures. See `Remote`."""
        super().__init__(name, actor, connect_seconds)
        self._shares_memory = shares_memory
        self._lane = Lane(lambda offer: self._call("share", offer), shares_memory)

    def push(self, push: Push) -> Call[Receipt]:
        """Offer one gradient slice."""
        # Factors are small, and of more than one array.
        if isinstance(push.gradient, FactoredSlice) or (room := self._lane.room_for_push(push.gradient)) is None:
            return self._call("push", push)
        np.copyto(room.array, push.gradient)
        call = room.call(f"push of {self._name}", "push_from", push._replace(gradient=_LIES_IN_SLOT))
        return _RoomCall(call, self._lane, room)

    def pull(self, known_version: int) -> Call[PulledSlice]:
        """Ask for the current slice."""
        return self._call("pull", known_version)

    def pull_target(self, known_version: int) -> Call[PulledSlice]:
        """Ask for the target network's slice."""
        return self._call("pull_target", known_version)

    def read(self, known_version: int, load: SliceLoader) -> Call[int]:
        """Ask for the current slice, to be handed to `load`."""
        return _LoadedCall(self._asked(known_version), load)

    def overlapped(self) -> "OverlappedShard":
        """A handle that asks for the next slice before it is wanted."""
        return OverlappedShard(self._name, self._actor, self._connect_seconds, self._shares_memory)

    def snapshot(self) -> Call[ShardSnapshot]:
        """Ask for one consistent copy of everything that the shard holds."""
        return self._call("snapshot")

    def _asked(self, known_version: int) -> "_Arriving":
        room = self._lane.room_for_pull()
        if room is None:
            return _ThroughSocket(self.pull(known_version), self._lane)
        call = room.call(f"pull of {self._name}", "pull_into", known_version)
        return _ThroughMemory(call, self._lane, room)


class OverlappedShard(RemoteShard):
    """A RemoteShard whose slices travel while its caller computes: each `read` gives what the one before asked for."""

    def __init__(self, name: str, actor: Actor, connect_seconds: float, shares_memory: bool) -> None:
        super().__init__(name, actor, connect_seconds, shares_memory)
        self._ahead: _Arriving | None = None

    def read(self, known_version: int, load: SliceLoader) -> Call[int]:
        """The slice that is on its way, to be handed to `load`; the next one is asked for."""
        arriving = self._ahead or self._asked(known_version)
        # What is known when it arrives is not known yet: a slice that did not change comes twice.
        self._ahead = self._asked(known_version)
        return _LoadedCall(arriving, load)


class _Arriving(Protocol):
    """A slice that was asked for."""

    def load(self, load: SliceLoader, timeout_seconds: float) -> int:
        """Its version, after `load` had it, unless it was known. Raises what `Call.result` raises."""
        ...


class _ThroughSocket(NamedTuple):
    pull: Call[PulledSlice]
    lane: Lane

    def load(self, load: SliceLoader, timeout_seconds: float) -> int:
        version, params = self.pull.result(timeout_seconds)
        if params is not None:
            load(decode(params))
            self.lane.open_for(params)
        return version


class _ThroughMemory(NamedTuple):
    pull: Call[tuple[int, bool]]
    lane: Lane
    room: Room

    def load(self, load: SliceLoader, timeout_seconds: float) -> int:
        version, is_new = self.pull.result(timeout_seconds)
        if is_new:
            load(decode(self.room.array))
        self.lane.give_back(self.room)
        return version


class _LoadedCall(NamedTuple):
    arriving: _Arriving
    load: SliceLoader

    def result(self, timeout_seconds: float) -> int:
        """The version, after `load` had what is newer. Raises CallTimeoutError or RemoteLostError."""
        return self.arriving.load(self.load, timeout_seconds)


class _RoomCall(NamedTuple):
    """A push of what lies in shared memory."""

    call: Call[Receipt]
    lane: Lane
    room: Room

    def result(self, timeout_seconds: float) -> Receipt:
        """The receipt. After an error the shard may still be reading, and the room is never used again."""
        receipt = self.call.result(timeout_seconds)
        self.lane.give_back(self.room)
        return receipt
