"""A role as a long-running Dask task: built on its host, stepped until it is done or has to leave. Other long work too.

Not here: what the role does (`pipeline.roles`), which tasks a run has (`pipeline.topologies`).
"""

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from distributed import Client, Variable, get_client, get_worker

from dask_jobs.watched_time import WatchedTime
from pipeline.cluster.coordination.batch_thread import batch_thread
from pipeline.cluster.coordination.channel import Outbox, poll_seconds_of
from pipeline.cluster.coordination.coordinator import topic
from pipeline.cluster.coordination.host_logs import leave_out_told_failures
from pipeline.cluster.remotes.quorum import LeaderAddress
from pipeline.cluster.remotes.replays import ReplayAddress
from pipeline.cluster.remotes.shards import ShardAddress
from pipeline.errors import UnreachableError
from pipeline.interfaces import Servers
from pipeline.roles.progress import RoleProgress
from pipeline.roles.role import RoleBuilder

T = TypeVar("T")

_RETRY_SECONDS = 1.0
_LONGEST_TRY_SECONDS = 20.0
"""Longer than Dask tries to connect."""


@dataclass(frozen=True)
class ServerAddresses:
    """Where the shards are that a role talks to."""

    shards: tuple[ShardAddress, ...]
    replays: tuple[ReplayAddress, ...]
    leader: LeaderAddress | None = None
    """Of a synchronous parameter server."""

    def connect(self) -> Servers:
        """Their handles, on the host that asks."""
        return Servers(
            [shard.connect() for shard in self.shards],
            [replay.connect() for replay in self.replays],
            None if self.leader is None else self.leader.connect(),
        )


@dataclass(frozen=True)
class RoleAddress:
    """How a role reaches its coordinator."""

    run_id: str
    role: str
    attempt: int
    lease_seconds: float
    num_roles: int = 1
    """That have this coordinator: the more they are, the less often each exchanges messages."""


class RoleResult(NamedTuple):
    """What a role's task returns."""

    role: str
    reason: str
    """"done", or why it had to leave (`pipeline.cluster.coordination.channel`)."""
    undelivered: list[dict[str, object]]
    """Batches that were not acknowledged."""
    progress: RoleProgress


def run_until_stopped(work: Callable[..., T], *args: Any, address: RoleAddress) -> T:
    """`work(*args, stop=..., tell=...)` on this host: long work that is not a role.

    `stop()` is True once the run is over or its coordinator is gone; `tell(number)` lets the coordinator know how many
    games are over.
    """
    with batch_thread():
        outbox = _connect(address)
        # No step, no update: the work is no role.
        progress = RoleProgress(0, 0, 0, 0.0, 0, 0.0)

        def tell(num_games: int) -> None:
            nonlocal progress
            progress = progress._replace(num_games=num_games)

        def stop() -> bool:
            # Again and again, as roles do: who says nothing for long counts as lost.
            outbox.report(progress)
            return outbox.should_stop()

        return work(*args, stop=stop, tell=tell)


def run_role(build: RoleBuilder, spec: Any, servers: ServerAddresses, address: RoleAddress) -> RoleResult:
    """Build the role on this host and step it until it is done, stopped, or its coordinator is gone."""
    leave_out_told_failures()
    with batch_thread():
        return _run_role(build, spec, servers, _connect(address), address.role)


def _run_role(build: RoleBuilder, spec: Any, servers: ServerAddresses, outbox: Outbox, name: str) -> RoleResult:
    role = build(spec, servers.connect(), outbox)
    try:
        while not role.done and not outbox.should_stop():
            role.step()
            outbox.report(role.progress())
    except BaseException:
        # The error counts, not what may come of it at the close; and without a result the last rows go as events.
        with contextlib.suppress(Exception):
            role.close()
        outbox.send_all()
        raise
    role.close()
    progress = role.progress()
    outbox.report(progress)
    return RoleResult(name, outbox.stop_reason or "done", outbox.drain(), progress)


def _connect(address: RoleAddress) -> Outbox:
    """Raises UnreachableError if the scheduler does not let this host in before the coordinator's lease is over."""
    worker, name = get_worker(), topic(address.run_id)
    variable = Variable(name, client=_client(address.lease_seconds))

    def read_control() -> dict[str, object] | None:
        with contextlib.suppress(OSError, TimeoutError):
            # The first is the scheduler's own limit; one that stands still keeps it not.
            message: dict[str, object] = variable.get(timeout="2s", callback_timeout="4s")
            return message
        return None

    return Outbox(
        address.role,
        address.attempt,
        address.lease_seconds,
        publish=lambda message: worker.log_event(name, message),
        read_control=read_control,
        poll_seconds=poll_seconds_of(address.num_roles),
    )


def _client(limit_seconds: float) -> Client:
    watched = WatchedTime(longest_seconds=_LONGEST_TRY_SECONDS)
    while True:
        try:
            return get_client()
        except OSError as error:  # a scheduler that stands still may go on
            if watched.now() >= limit_seconds:
                raise UnreachableError(f"the scheduler did not let this host in: {error}") from error
            time.sleep(_RETRY_SECONDS)
