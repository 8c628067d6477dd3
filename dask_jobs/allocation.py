"""Which hosts a job gets: pure functions from what it needs and what is free, all or nothing.

A job goes to one host if one can hold all of it: of those, the one with the fewest GPUs and then the fewest threads
free, so that large hosts stay whole for large jobs, and hosts with GPUs for jobs that use them. Otherwise its parts are
spread, the largest first, each to the first host with room in the order of free threads: as few hosts as that gives.
If they do not fit so, each goes to the host that has the fewest threads to spare.
Not here: who is next (`queue`), who holds what (`grants`).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from dask_jobs.needs import JobNeeds, Part


class HostSize(NamedTuple):
    """A host with all that jobs may use there, or with what of it is free."""

    address: str
    num_threads: int
    memory_bytes: int
    num_gpus: int = 0

    def holds(self, part: Part) -> bool:
        """True if there is room for this part."""
        return (
            part.num_threads <= self.num_threads
            and part.memory_bytes <= self.memory_bytes
            and part.num_gpus <= self.num_gpus
        )

    def without(self, part: Part) -> "HostSize":
        """What is left beside this part."""
        return self._replace(
            num_threads=self.num_threads - part.num_threads,
            memory_bytes=self.memory_bytes - part.memory_bytes,
            num_gpus=self.num_gpus - part.num_gpus,
        )


class Allocation(NamedTuple):
    """What a job holds."""

    hosts: dict[str, Part]
    """Address of each of its hosts -> all that the job has there. The host of its first part is the first."""
    seats: tuple[str, ...]
    """Address of the host of each part, in the parts' order."""


def allocate(needs: JobNeeds, free: Sequence[HostSize]) -> Allocation | None:
    """Hosts for every part, from what is free; None if there is no room for all of them at once."""
    whole = total(needs.parts)
    roomy = [host for host in free if host.holds(whole)]
    if roomy:
        host = min(roomy, key=lambda host: (host.num_gpus, host.num_threads))
        return Allocation({host.address: whole}, (host.address,) * len(needs.parts))
    return _spread(needs, free, fewest_hosts=True) or _spread(needs, free, fewest_hosts=False)


def _spread(needs: JobNeeds, free: Sequence[HostSize], fewest_hosts: bool) -> Allocation | None:
    """The largest part first, each to the first host with room, or to the one that it fits most tightly."""
    left = sorted(free, key=lambda host: -host.num_threads)
    seats: dict[int, str] = {}
    for number, part in sorted(enumerate(needs.parts), key=lambda item: _size(item[1]), reverse=True):
        roomy = [i for i, host in enumerate(left) if host.holds(part)]
        if not roomy:
            return None
        index = roomy[0] if fewest_hosts else min(roomy, key=lambda i: left[i].num_threads)
        seats[number] = left[index].address
        left[index] = left[index].without(part)
    in_order = tuple(address for _, address in sorted(seats.items()))
    hosts = {
        address: total(part for part, seat in zip(needs.parts, in_order, strict=True) if seat == address)
        for address in in_order
    }
    return Allocation(hosts, in_order)


def free_hosts(hosts: Sequence[HostSize], taken: Iterable[Mapping[str, Part]]) -> list[HostSize]:
    """What is left of the hosts beside what jobs hold there; parts on hosts that are gone count nowhere."""
    left = {host.address: host for host in hosts}
    for held in taken:
        for address, part in held.items():
            if address in left:
                left[address] = left[address].without(part)
    # Another command may know these hosts to be larger.
    return [HostSize(host.address, *(max(free, 0) for free in host[1:])) for host in left.values()]


def refusal(needs: JobNeeds, hosts: Sequence[HostSize]) -> str:
    """Why a job can never start on these hosts, with the wanted and the offered numbers."""
    parts = f" in {len(needs.parts)} parts" if len(needs.parts) > 1 else ""
    largest = max(needs.parts, default=Part(0))
    most = ", the largest part with " + _words(largest) if len(needs.parts) > 1 else ""
    return (
        f"the job needs {_words(total(needs.parts))}{parts}{most}; {len(hosts)} host{'s' * (len(hosts) != 1)} offer "
        f"{_words(total(hosts))} in all, at most {_words(_most(hosts))} on one"
        + (", on which the parts do not fit side by side" if len(needs.parts) > 1 else "")
        + ". Lower what it needs, or give the cluster more or larger hosts"
    )


def total(parts: Iterable[Part | HostSize]) -> Part:
    """The sum of these parts."""
    listed = list(parts)
    return Part(
        sum(part.num_threads for part in listed),
        sum(part.memory_bytes for part in listed),
        sum(part.num_gpus for part in listed),
    )


def _size(part: Part) -> tuple[int, int, int]:
    return part.num_gpus, part.num_threads, part.memory_bytes


def _most(hosts: Sequence[HostSize]) -> Part:
    return Part(
        max((host.num_threads for host in hosts), default=0),
        max((host.memory_bytes for host in hosts), default=0),
        max((host.num_gpus for host in hosts), default=0),
    )


def _words(part: Part) -> str:
    words = [f"{part.num_threads} thread{'s' * (part.num_threads != 1)}"]
    if part.memory_bytes:
        words.append(f"{part.memory_bytes / 2**30:.2f} GiB")
    if part.num_gpus:
        words.append(f"{part.num_gpus} GPU{'s' * (part.num_gpus != 1)}")
    return " and ".join(words)
