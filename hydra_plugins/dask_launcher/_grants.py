"""Who holds what of a cluster. Kept by its scheduler, because several commands may share it, and any of them may die.

The scheduler runs these functions one at a time, so that two commands cannot both take the last thread. When a command
is gone, what it held is free, though its jobs may need a moment yet to end.
Not here: which hosts would suit a job (`_allocation`).
"""

from collections.abc import Sequence

from distributed import Client, Scheduler, SchedulerPlugin

from hydra_plugins.dask_launcher._allocation import Allocation, HostSize, allocate, free_hosts
from hydra_plugins.dask_launcher._needs import JobNeeds

_NAME = "dask-launcher-grants"


def take(client: Client, job: int, needs: JobNeeds, hosts: Sequence[HostSize]) -> Allocation | None:
    """Hosts for this job of this client, out of what nobody holds; None if there is no room for all of it now."""
    allocation: Allocation | None = client.run_on_scheduler(_take, client.id, job, needs, hosts)
    return allocation


def give_back(client: Client, job: int) -> None:
    """This job has ended."""
    client.run_on_scheduler(_give_back, client.id, job)


def prepare(client: Client) -> None:
    """Have the scheduler keep grants. Raises whatever its Python fails of where it does not have this launcher."""
    client.run_on_scheduler(_prepare)


class _Grants(SchedulerPlugin):
    name = _NAME

    def __init__(self) -> None:
        self.held: dict[str, dict[int, Allocation]] = {}
        """Client -> job -> what it holds."""

    def remove_client(self, scheduler: Scheduler, client: str) -> None:
        self.held.pop(client, None)


def _take(
    owner: str, job: int, needs: JobNeeds, hosts: Sequence[HostSize], dask_scheduler: Scheduler
) -> Allocation | None:
    held = _held(dask_scheduler)
    taken = [allocation.hosts for jobs in held.values() for allocation in jobs.values()]
    allocation = allocate(needs, free_hosts(hosts, taken))
    if allocation is not None:
        held.setdefault(owner, {})[job] = allocation
    return allocation


def _give_back(owner: str, job: int, dask_scheduler: Scheduler) -> None:
    _held(dask_scheduler).get(owner, {}).pop(job, None)


def _prepare(dask_scheduler: Scheduler) -> None:
    _held(dask_scheduler)


def _held(scheduler: Scheduler) -> dict[str, dict[int, Allocation]]:
    if _NAME not in scheduler.plugins:
        scheduler.add_plugin(_Grants())
    grants = scheduler.plugins[_NAME]
    assert isinstance(grants, _Grants)
    return grants.held
