"""Hosts of one scheduler that several commands use: who holds what of them, in the books that sweeps keep there, too.

A run holds what its plan says until its client closes. Others are placed on what is left, and a sweep gives its jobs
nothing of it. Not here: waiting for others (`pipeline.experiments.room`), placing (`pipeline.cluster.placement`).
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace

from distributed import Client

from hydra_plugins.dask_launcher import holds
from pipeline.cluster.placement import Demand, Offer, Placement

_MOST_NAMED = 4


class Sharing:
    """What this command and others hold of the hosts. Where the scheduler lacks this project, nobody holds anything."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._keeps_books = holds.keeps_books(client)

    def left(self, offers: Sequence[Offer]) -> list[Offer]:
        """The offers with the threads and GPUs that nobody else holds; of free memory hosts tell by themselves."""
        held = self._held_by_others()
        return [
            replace(
                offer,
                num_threads=max(offer.num_threads - sum(part.num_threads for part in held[offer.address]), 0),
                num_gpus=max(offer.num_gpus - sum(part.num_gpus for part in held[offer.address]), 0),
            )
            if offer.address in held
            else offer
            for offer in offers
        ]

    def in_words(self) -> str:
        """Who else holds what; empty if nobody does."""
        others = self._others()
        named = [f"{name} ({_hosts(parts)})" for name, parts in others[:_MOST_NAMED]]
        return ", ".join([*named, *([f"{len(others) - _MOST_NAMED} more"] if len(others) > _MOST_NAMED else [])])

    def hold(self, name: str, placement: Placement, demands: Sequence[Demand], num_threads: Mapping[str, int]) -> bool:
        """Hold what was placed, in place of what was held before; False if others have taken too much of it meanwhile.

        `num_threads`: those of each host, by address.
        """
        if not self._keeps_books:
            return True
        sizes = [holds.HostSize(address, threads, sys.maxsize, sys.maxsize) for address, threads in num_threads.items()]
        return holds.hold(self._client, name, _parts(placement, demands, num_threads), sizes)

    def _others(self) -> list[tuple[str, dict[str, holds.Part]]]:
        return holds.others(self._client) if self._keeps_books else []

    def _held_by_others(self) -> dict[str, list[holds.Part]]:
        held: dict[str, list[holds.Part]] = {}
        for _, parts in self._others():
            for address, part in parts.items():
                held.setdefault(address, []).append(part)
        return held


def _parts(placement: Placement, demands: Sequence[Demand], num_threads: Mapping[str, int]) -> dict[str, holds.Part]:
    parts: dict[str, holds.Part] = {}
    for demand in demands:
        if demand.role not in placement:
            continue
        address = placement[demand.role].address
        before = parts.get(address, holds.Part(0))
        # A host of its own is held whole, whatever the role computes with.
        threads = max(num_threads.get(address, 0) if demand.alone else 0, before.num_threads + demand.num_threads)
        parts[address] = holds.Part(
            threads, before.memory_bytes + demand.memory_bytes, before.num_gpus + demand.num_gpus
        )
    return parts


def _hosts(parts: Mapping[str, holds.Part]) -> str:
    return ", ".join(
        f"{part.num_threads} thread{'s' * (part.num_threads != 1)} on {address}" for address, part in parts.items()
    )
