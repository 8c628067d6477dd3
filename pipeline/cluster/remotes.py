"""Parameter shards on other hosts: Dask actors behind the ShardHandle interface.

A Dask actor's answer is not a Dask future, its failures come as bare OSError or RuntimeError, and a call to an actor in
the caller's own process still takes a detour over the event loop. This module turns all three into plain calls:
`ShardAddress.connect` gives the shard itself where it lives in this process, and a proxy with deadlines elsewhere.
Not here: what a shard does (`pipeline.param_server.shard`), where it stands (`pipeline.cluster.placement`).
"""

from dataclasses import dataclass
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

from distributed.actor import Actor, BaseActorFuture

from pipeline.errors import CallTimeoutError, RemoteLostError
from pipeline.interfaces import Call, PulledSlice, Push, ShardHandle
from pipeline.optimizers import OptimizerConfig
from pipeline.param_server.config import ParamServerConfig
from pipeline.param_server.shard import DirectShard, ParameterShard
from pipeline.param_server.snapshot import ShardSnapshot
from pipeline.types import Receipt

T = TypeVar("T")

_SHARDS_HERE: "WeakValueDictionary[str, HostedShard]" = WeakValueDictionary()
"""Shards that live in this process, by name; an entry goes when Dask forgets the actor."""


class HostedShard:
    """What Dask holds as an actor: one ParameterShard, found by name from within its process."""

    def __init__(
        self,
        name: str,
        start: ShardSnapshot,
        optimizer: OptimizerConfig,
        config: ParamServerConfig,
        generation: int,
    ) -> None:
        self.shard = ParameterShard(start, optimizer, config, generation)
        _SHARDS_HERE[name] = self

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


@dataclass(frozen=True)
class ShardAddress:
    """Where a hosted shard is; travels to roles as a plain value.

    The actor is wrapped so that Dask does not take it for a dependency of the role's task: a lost dependency would be
    computed anew, and a shard without its state is worse than none.
    """

    name: str
    actor: Actor

    def connect(self) -> ShardHandle:
        """The shard itself if it lives in this process, else a proxy."""
        hosted = _SHARDS_HERE.get(self.name)
        return DirectShard(hosted.shard) if hosted is not None else RemoteShard(self.name, self.actor)


class RemoteShard:
    """A ShardHandle whose calls travel to another process."""

    def __init__(self, name: str, actor: Actor) -> None:
        self._name = name
        self._actor = actor

    def push(self, push: Push) -> Call[Receipt]:
        """Offer one gradient slice."""
        return self._call("push", push)

    def pull(self, known_version: int) -> Call[PulledSlice]:
        """Ask for the current slice."""
        return self._call("pull", known_version)

    def pull_target(self, known_version: int) -> Call[PulledSlice]:
        """Ask for the target network's slice."""
        return self._call("pull_target", known_version)

    def snapshot(self) -> Call[ShardSnapshot]:
        """Ask for one consistent copy of everything that the shard holds."""
        return self._call("snapshot")

    def _call(self, method: str, *args: object) -> "_RemoteCall[T]":
        what = f"{method} of {self._name}"
        try:
            return _RemoteCall(what, getattr(self._actor, method)(*args))
        except RuntimeError as error:  # "Worker holding Actor was lost"
            raise RemoteLostError(f"{what}: {error}") from error


class _RemoteCall(Generic[T]):
    def __init__(self, what: str, future: BaseActorFuture[T]) -> None:
        self._what = what
        self._future = future

    def result(self, timeout_seconds: float) -> T:
        """The answer. Raises CallTimeoutError or RemoteLostError."""
        try:
            return self._future.result(timeout=timeout_seconds)
        except TimeoutError as error:
            raise CallTimeoutError(f"{self._what} did not answer within {timeout_seconds} s") from error
        except (OSError, KeyError) as error:
            # OSError: the process is gone. KeyError: it was restarted, and knows nothing of the actor.
            raise RemoteLostError(f"{self._what}: its host is gone ({error!r})") from error
