"""Tasks that were told to end and have not: threads and GPUs that they keep from whatever comes next on their hosts.

Dask cancels a task that runs by forgetting it. Its thread goes on, and what is sent there next waits behind it, maybe
for ever: a host is asked for no more threads and GPUs than are left.
Not here: how long a task is waited for (`pipeline.topologies.last_wait`), what others hold
(`pipeline.cluster.sharing`).
"""

from collections import Counter
from collections.abc import Container, Mapping
from typing import NamedTuple, Protocol


class Running(Protocol):
    """What is asked of a task."""

    def done(self) -> bool:
        """Whether it has ended, however."""
        ...


class _Stays(NamedTuple):
    task: Running
    name: str
    host: str
    num_gpus: int


class Staying:
    """Of one run; nobody stays at its beginning."""

    def __init__(self) -> None:
        self._all: list[_Stays] = []

    def add(self, task: Running, name: str, host: str, num_gpus: int = 0) -> None:
        """The task of role `name` is still there, on the host with this address, with its GPUs, until it is done.

        It must not be cancelled: Dask calls it done then, whatever its thread does.
        """
        self._all.append(_Stays(task, name, host, num_gpus))

    def threads_left(self, num_threads: Mapping[str, int]) -> dict[str, int]:
        """Address -> threads of each host, less those that are kept from others now; without hosts that have none."""
        kept = self.threads_kept()
        return {host: num - kept[host] for host, num in num_threads.items() if num > kept[host]}

    def threads_kept(self) -> Counter[str]:
        """Address -> threads of each host that are kept from others now."""
        return Counter(one.host for one in self._now())

    def gpus_kept(self) -> Counter[str]:
        """Address -> GPUs of each host that are kept from others now."""
        kept: Counter[str] = Counter()
        for one in self._now():
            kept[one.host] += one.num_gpus
        return kept

    def in_words(self, hosts: Container[str]) -> str:
        """Who stays on which of these hosts now; empty if nobody does."""
        return ", ".join(f"{one.name} on {one.host}" for one in self._now() if one.host in hosts)

    def _now(self) -> list[_Stays]:
        self._all = [one for one in self._all if not one.task.done()]
        return self._all
