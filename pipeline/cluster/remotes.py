"""Parameter shards on other hosts: Dask actors behind the ShardHandle interface.

A Dask actor's answer is not a Dask future, a call to an actor whose host dies may never end, and one to an actor in the
caller's own process still takes a detour over the event loop. This module turns all three into plain calls:
`ShardAddress.connect` gives the shard itself where it lives in this process, and a proxy with deadlines elsewhere.
Not here: what a shard does (`pipeline.param_server.shard`), where it stands (`pipeline.cluster.placement`).
"""

import asyncio
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

from distributed import Actor, get_client, get_worker
from distributed.protocol.serialize import to_serialize

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

    def _call(self, method: str, *args: object) -> "_RemoteCall[Any]":
        what = f"{method} of {self._name}"
        ours = _worker_or_client()
        calling = _execute(ours.rpc(self._actor._address), str(self._actor.key), method, args, what)
        return _RemoteCall(what, asyncio.run_coroutine_threadsafe(calling, ours.loop.asyncio_loop))


class _RemoteCall(Generic[T]):
    def __init__(self, what: str, future: "Future[T]") -> None:
        self._what = what
        self._future = future

    def result(self, timeout_seconds: float) -> T:
        """The answer. Raises CallTimeoutError or RemoteLostError."""
        try:
            return self._future.result(timeout_seconds)
        except TimeoutError as error:
            raise CallTimeoutError(f"{self._what} did not answer within {timeout_seconds} s") from error


def _worker_or_client() -> Any:
    """What this process talks to others with: a role's worker, or the coordinator's client."""
    try:
        return get_worker()
    except ValueError:
        return get_client()


async def _execute(rpc: Any, key: str, method: str, args: tuple[object, ...], what: str) -> Any:
    # Not the actor's own proxy: when a host dies during a call from another host, that one waits for ever for Dask to
    # compute the actor anew, and when a connection breaks it sends the call again.
    try:
        answer = await rpc.actor_execute(function=method, actor=key, args=[to_serialize(arg) for arg in args])
    except (OSError, KeyError) as error:
        # OSError: the process is gone. KeyError: it was restarted, and knows nothing of the actor.
        raise RemoteLostError(f"{what}: its host is gone ({error!r})") from error
    if answer["status"] != "OK":
        raise answer["exception"]
    return answer["result"]
