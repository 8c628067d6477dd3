"""Hosts of one scheduler that several commands use: who holds what of them, in the books that sweeps keep there, too.

A run holds what its plan says until its client closes. Others are placed on what is left, and a sweep gives its jobs
nothing of it. Not here: waiting for others (`pipeline.experiments.room`), placing (`pipeline.cluster.placement`).
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace

from distributed import Client

from dask_jobs import grants
from dask_jobs.allocation import HostSize
from dask_jobs.needs import Part
from pipeline.cluster.placement import Demand, Offer, Placement
from pipeline.cluster.scheduler import asked_of

_MOST_NAMED = 4


class Sharing:
    """What this command and others hold of the hosts. Where the scheduler lacks this project, nobody holds anything.

    All methods raise UnreachableError if the scheduler does not answer for long, SchedulerLostError if it is gone.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._parts: dict[str, Part] = {}
        """Address -> what this command holds there."""
        with asked_of(self._client):
            self._keeps_books = grants.keeps_books(client)

    def left(self, offers: Sequence[Offer]) -> list[Offer]:
        """Offers with the threads and GPUs that nobody else holds; of free memory hosts tell by themselves.

        A host of which nothing is left is no offer.
        """
        held = self._held_by_others()
        left = [
            replace(
                offer,
                num_threads=offer.num_threads - sum(part.num_threads for part in held.get(offer.address, ())),
                num_gpus=max(offer.num_gpus - sum(part.num_gpus for part in held.get(offer.address, ())), 0),
            )
            for offer in offers
        ]
        return [offer for offer in left if offer.num_threads > 0]

    def in_words(self) -> str:
        """Who else holds what; empty if nobody does."""
        others = self._others()
        named = [f"{name} ({_hosts(parts)})" for name, parts in others[:_MOST_NAMED]]
        return ", ".join([*named, *([f"{len(others) - _MOST_NAMED} more"] if len(others) > _MOST_NAMED else [])])

    def hold(
        self,
        name: str,
        placement: Placement,
        demands: Sequence[Demand],
        offers: Sequence[Offer],
        threads_kept: Mapping[str, int],
    ) -> bool:
        """Hold what was placed, in place of what was held before; False if others have taken too much of it meanwhile.

        `offers` are all that the hosts have; `threads_kept` (address -> number) are held beside what was placed.
        """
        parts = _parts(placement, demands)
        for address, num_threads in threads_kept.items():
            before = parts.get(address, Part(0))
            parts[address] = before._replace(num_threads=before.num_threads + num_threads)
        return self._write(name, parts, offers)

    def hold_also(self, name: str, address: str, num_threads: int, offers: Sequence[Offer]) -> bool:
        """Hold at least so many threads of this host, beside what is held elsewhere; False as for `hold`."""
        before = self._parts.get(address, Part(0))
        part = before._replace(num_threads=max(before.num_threads, num_threads))
        return self._write(name, self._parts | {address: part}, offers)

    def _write(self, name: str, parts: dict[str, Part], offers: Sequence[Offer]) -> bool:
        if not self._keeps_books:
            return True
        # Of memory hosts tell what is free by themselves.
        sizes = [HostSize(offer.address, offer.num_threads, sys.maxsize, offer.num_gpus) for offer in offers]
        with asked_of(self._client):
            is_held = grants.hold(self._client, name, parts, sizes)
        if is_held:
            self._parts = parts
        return is_held

    def _others(self) -> list[tuple[str, dict[str, Part]]]:
        if not self._keeps_books:
            return []
        with asked_of(self._client):
            return grants.others(self._client)

    def _held_by_others(self) -> dict[str, list[Part]]:
        held: dict[str, list[Part]] = {}
        for _, parts in self._others():
            for address, part in parts.items():
                held.setdefault(address, []).append(part)
        return held


def _parts(placement: Placement, demands: Sequence[Demand]) -> dict[str, Part]:
    parts: dict[str, Part] = {}
    for demand in demands:
        if demand.role not in placement:
            continue
        address = placement[demand.role].address
        before = parts.get(address, Part(0))
        parts[address] = Part(
            # A server on a host of its own computes in its callers' time, and there.
            before.num_threads + max(demand.num_threads, int(demand.alone)),
            before.memory_bytes + demand.memory_bytes,
            before.num_gpus + demand.num_gpus,
        )
    return parts


def _hosts(parts: Mapping[str, Part]) -> str:
    return ", ".join(
        f"{part.num_threads} thread{'s' * (part.num_threads != 1)} on {address}" for address, part in parts.items()
    )
