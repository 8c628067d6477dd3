"""Calls to Dask actors on other hosts, as plain calls with deadlines.

A Dask actor's answer is not a Dask future, a call to an actor whose host dies may never end, and one to an actor in the
caller's own process still takes a detour over the event loop. This module turns all three into plain calls:

    class HostedThing(Hosted)      what Dask holds; found by name from within its own process
    HostedAddress                  where it is; travels to roles as a plain value
    Remote                         a proxy whose calls travel to another process

Not here: what is called (`pipeline.cluster.remotes.shards`, `.replays`), where it stands
(`pipeline.cluster.placement`).
"""

import asyncio
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

from distributed import Actor, get_client, get_worker
from distributed.actor import ProxyRPC
from distributed.core import PooledRPCCall
from distributed.protocol.serialize import to_serialize

from dask_jobs.watched_time import waits
from pipeline.errors import CallTimeoutError, RemoteLostError, UnreachableError

T = TypeVar("T")

CONNECT_SECONDS = 10.0
"""How long a host may take to let itself be connected to; calls have deadlines of their own, which are longer."""

_HERE: "WeakValueDictionary[str, Hosted]" = WeakValueDictionary()
"""What lives in this process, by name; an entry goes when Dask forgets the actor."""


class Hosted:
    """What Dask holds as an actor."""

    def __init__(self, name: str) -> None:
        """`name` is nobody else's in the cluster."""
        _HERE[name] = self


@dataclass(frozen=True)
class HostedAddress:
    """Where a Hosted is.

    The actor is wrapped so that Dask does not take it for a dependency of the role's task: a lost dependency would be
    computed anew, and a shard without its state is worse than none.
    """

    name: str
    actor: Actor

    def here(self) -> Hosted | None:
        """The thing itself, if it lives in this process."""
        return _HERE.get(self.name)


class Remote:
    """A proxy for a Hosted in another process."""

    def __init__(self, name: str, actor: Actor, connect_seconds: float = CONNECT_SECONDS) -> None:
        """`connect_seconds`: after which its host, if there is no connection to it yet, counts as out of reach.

        One that takes a connection and stands still has until the deadline of the call.
        """
        self._name = name
        self._actor = actor
        self._connect_seconds = connect_seconds

    def _call(self, method: str, *args: object) -> "RemoteCall[Any]":
        what = f"{method} of {self._name}"
        rpc, loop = _way_to(self._actor._address)
        calling = _execute(rpc, str(self._actor.key), method, args, what, self._connect_seconds)
        return RemoteCall(what, asyncio.run_coroutine_threadsafe(calling, loop))


class RemoteCall(Generic[T]):
    """A call under way."""

    def __init__(self, what: str, future: "Future[T]") -> None:
        self._what = what
        self._future = future

    def done(self) -> bool:
        """Whether the answer, or an error, is there."""
        return self._future.done()

    def result(self, timeout_seconds: float) -> T:
        """The answer. Raises CallTimeoutError, UnreachableError or RemoteLostError.

        A pause of the whole process is no part of the time (`dask_jobs.watched_time`).
        """
        late: TimeoutError | None = None
        for seconds in waits(timeout_seconds):
            try:
                return self._future.result(seconds)
            except TimeoutError as error:
                late = error
                if self._future.done() and self._future.exception() is error:  # raised there: no wait brings another
                    break
        raise CallTimeoutError(f"{self._what} did not answer within {timeout_seconds} s") from late


def _way_to(address: str) -> tuple[Any, asyncio.AbstractEventLoop]:
    """What a host is called through, and the event loop that does it: a role's worker's, or the coordinator's."""
    try:
        ours: Any = get_worker()
    except ValueError:
        ours = get_client()
        if not ours.direct_to_workers:
            # As Dask's own proxies do: pods are seldom reachable from where the command was typed, their scheduler is.
            return ProxyRPC(ours.scheduler, address), ours.loop.asyncio_loop
    return ours.rpc(address), ours.loop.asyncio_loop


async def _execute(rpc: Any, key: str, method: str, args: tuple[object, ...], what: str, connect_seconds: float) -> Any:
    # Not the actor's own proxy: when a host dies during a call from another host, that one waits for ever for Dask to
    # compute the actor anew, and when a connection breaks it sends the call again.
    try:
        if isinstance(rpc, PooledRPCCall):
            # By our limit: hosts that others have started, and their pools of connections, have limits of their own.
            rpc.pool.reuse(rpc.addr, await rpc.pool.connect(rpc.addr, connect_seconds))
        answer = await rpc.actor_execute(function=method, actor=key, args=[to_serialize(arg) for arg in args])
    except OSError as error:
        raise UnreachableError(f"{what}: its host is gone or cannot be reached ({error!r})") from error
    except KeyError as error:
        # The process was restarted, and knows nothing of the actor.
        raise RemoteLostError(f"{what}: its host was restarted ({error!r})") from error
    if answer["status"] != "OK":
        raise answer["exception"]
    return answer["result"]
