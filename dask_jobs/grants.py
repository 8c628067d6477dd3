"""Who holds what of a cluster. Kept by its scheduler, because several commands may share it, and any of them may die.

    take(client, 7, needs, sizes)                                              a sweep, for a job
    hold(client, "gorila on Pong", {"tcp://…:1": Part(2)}, sizes)              a program that is no job, for itself
    others(client)          [("job 7 of a sweep", {"tcp://…:2": Part(1)})]     either

The scheduler runs these functions one at a time, so that two commands cannot both take the last thread. When a command
is gone, what it held is free, though its jobs may need a moment yet to end. The scheduler's Python needs this package.
Not here: which hosts would suit a job (`allocation`).
"""

import contextlib
from collections.abc import Collection, Mapping, Sequence

from distributed import Client, Scheduler, SchedulerPlugin

from dask_jobs.allocation import Allocation, HostSize, allocate, free_hosts
from dask_jobs.needs import JobNeeds, Part

_NAME = "dask-launcher-grants"
_ANSWER_SECONDS = 60.0
"""How long a program that is no job waits for a scheduler that stands still."""
_STILL_SECONDS = 10.0
"""The same of a sweep, which has signals to hear meanwhile and asks again."""


def take(
    client: Client, job: int, needs: JobNeeds, hosts: Sequence[HostSize], running: Collection[int] | None = None
) -> Allocation | None:
    """Hosts for this job of this client, out of what nobody holds; None if there is no room for all of it now.

    `running`: the client's jobs that hold something; what it holds for others was to be given back, or was never heard
    of, while the scheduler stood still. None: all that are known.
    """
    held = None if running is None else set(running)
    with contextlib.suppress(OSError):  # it stands still, or a connection to it broke: the next call may go through
        allocation: Allocation | None = client.run_on_scheduler(
            _take, client.id, job, needs, hosts, held, callback_timeout=_STILL_SECONDS
        )
        return allocation
    return None


def give_back(client: Client, job: int) -> None:
    """This job has ended."""
    with contextlib.suppress(OSError):  # the next `take` says which jobs are left
        client.run_on_scheduler(_give_back, client.id, job, callback_timeout=_STILL_SECONDS)


def hold(client: Client, name: str, hosts: Mapping[str, Part], sizes: Sequence[HostSize]) -> bool:
    """Take these parts of hosts for this client, in place of what it held; False if others have too much there.

    `name` tells people who it is; `sizes` are all that each host has; parts on hosts without a size count nowhere.
    Raises OSError if the scheduler does not answer, as all of these but a sweep's.
    """
    taken: bool = client.run_on_scheduler(
        _hold, client.id, name, dict(hosts), list(sizes), callback_timeout=_ANSWER_SECONDS
    )
    return taken


def others(client: Client) -> list[tuple[str, dict[str, Part]]]:
    """Of all but this client: the name of each holder, and address -> what it holds there."""
    found: list[tuple[str, dict[str, Part]]] = client.run_on_scheduler(
        _others, client.id, callback_timeout=_ANSWER_SECONDS
    )
    return found


def keeps_books(client: Client) -> bool:
    """Whether the scheduler can keep them. Raises OSError if it does not answer."""
    try:
        others(client)
    except OSError:
        raise
    except Exception:  # whatever its Python raises where it does not have this package, or an older one
        return False
    return True


def prepare(client: Client) -> None:
    """Have the scheduler keep grants. Raises whatever its Python fails of where it does not have this package.

    OSError: it does not answer.
    """
    client.run_on_scheduler(_prepare, callback_timeout=_ANSWER_SECONDS)


class _Grants(SchedulerPlugin):
    name = _NAME

    def __init__(self) -> None:
        self.held: dict[str, dict[int | str, Allocation]] = {}
        """Client -> number of a job, or the name of a program that is none -> what it holds."""

    def remove_client(self, scheduler: Scheduler, client: str) -> None:
        self.held.pop(client, None)


def _take(
    owner: str,
    job: int,
    needs: JobNeeds,
    hosts: Sequence[HostSize],
    running: set[int] | None,
    dask_scheduler: Scheduler,
) -> Allocation | None:
    held = _held(dask_scheduler)
    if running is not None and owner in held:
        held[owner] = {one: of for one, of in held[owner].items() if isinstance(one, str) or one in running}
    taken = [allocation.hosts for jobs in held.values() for allocation in jobs.values()]
    allocation = allocate(needs, free_hosts(hosts, taken))
    if allocation is not None:
        held.setdefault(owner, {})[job] = allocation
    return allocation


def _give_back(owner: str, job: int, dask_scheduler: Scheduler) -> None:
    _held(dask_scheduler).get(owner, {}).pop(job, None)


def _hold(owner: str, name: str, hosts: dict[str, Part], sizes: list[HostSize], dask_scheduler: Scheduler) -> bool:
    held = _held(dask_scheduler)
    # A request that arrives when its client has gone would be held for ever.
    if owner not in dask_scheduler.clients:
        return False
    taken = [allocation.hosts for who, jobs in held.items() if who != owner for allocation in jobs.values()]
    left = {host.address: host for host in free_hosts(sizes, taken)}
    there = {address: part for address, part in hosts.items() if address in left}
    shared = there.keys() & {address for parts in taken for address in parts}
    # On a host of its own a program may do as it likes, more than the host has threads for as well.
    if not all(left[address].holds(there[address]) for address in shared):
        return False
    # Jobs of the same client stay.
    kept = {job: allocation for job, allocation in held.get(owner, {}).items() if not isinstance(job, str)}
    held[owner] = kept | {name: Allocation(there, ())}
    return True


def _others(owner: str, dask_scheduler: Scheduler) -> list[tuple[str, dict[str, Part]]]:
    return [
        (job if isinstance(job, str) else f"job {job} of a sweep", allocation.hosts)
        for who, jobs in _held(dask_scheduler).items()
        if who != owner
        for job, allocation in jobs.items()
    ]


def _prepare(dask_scheduler: Scheduler) -> None:
    _held(dask_scheduler)


def _held(scheduler: Scheduler) -> dict[str, dict[int | str, Allocation]]:
    if _NAME not in scheduler.plugins:
        scheduler.add_plugin(_Grants())
    grants = scheduler.plugins[_NAME]
    assert isinstance(grants, _Grants)
    for owner in grants.held.keys() - scheduler.clients.keys():
        del grants.held[owner]
    return grants.held
