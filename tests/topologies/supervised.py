"""A supervision without a fleet: hosts that a test takes away and brings, roles that end as it says, no Dask."""

from dataclasses import replace
from typing import Any

from pipeline.cluster.placement import Demand, Offer, Placement, place
from pipeline.errors import CallTimeoutError, PlacementError
from pipeline.topologies.looks import End, Failed, Look
from pipeline.topologies.orders import Cancel, Fail, Order, Say, Start
from pipeline.topologies.supervision import Supervision, Terms

WORKERS = ("worker-0", "worker-1", "worker-2")
HOST_TIMEOUT_SECONDS = 120.0
_LEARNS = tuple(Demand(worker, num_threads=1, memory_bytes=0) for worker in WORKERS)
SHARD = Demand("shard-0", num_threads=0, memory_bytes=0, beside=WORKERS[0])
EVALUATOR = Demand("evaluator", num_threads=1, memory_bytes=0)
TERMS = Terms(
    roles=WORKERS,
    demands=(*_LEARNS, SHARD),
    quorum=None,
    max_restarts=1,
    lease_seconds=30.0,
    call_timeout_seconds=60.0,
    has_own_replay=False,
    held_back_seconds=120.0,
)
SLOW = Failed(CallTimeoutError("shard-0 was slow"))
"""How a role ends that may be started again."""


def offer(address: str, num_threads: int = 1) -> Offer:
    """A host on a machine of its own."""
    return Offer(address, machine=address, num_threads=num_threads, memory_bytes=1, num_cores=num_threads)


class World:
    """Three workers, each on a host of its own ("host-0" and so on), and a shard beside the first one."""

    def __init__(self, without: str | None = None, num_hosts: int = 3, **terms: Any) -> None:
        """`terms` are changes of TERMS. There is no host for `without`."""
        self.terms = replace(TERMS, **terms)
        self.hosts = {address: offer(address) for address in (f"host-{i}" for i in range(num_hosts))}
        self.now = 1000.0
        self.ended: dict[str, End] = {}
        self.silent: dict[str, float] = {}
        self.silent_hosts: OSError | None = None
        """What comes of asking hosts what they offer."""
        self.taken_by_others: set[str] = set()
        """Hosts of which nothing can be held."""
        self.served: set[str] = set()
        """Hosts whose time is over when they go."""
        self.host_timeout_seconds = HOST_TIMEOUT_SECONDS
        wanted = [demand for demand in self.terms.demands if demand.role != without]
        self.placement: Placement = place(wanted, list(self.hosts.values()))
        self.supervision = Supervision(self.terms)
        self.begun = self.supervision.begin(self.placement, self.now)
        """Who was started first."""

    def seen(self) -> Look:
        """What a fleet would see."""
        present = self.hosts.keys()
        watched = {role for role in self.supervision.watched if self.placement[role].address in present}
        return Look(
            now=self.now,
            present=present,
            placement=self.placement,
            servers={SHARD.role: self.placement[SHARD.role].address},
            ended={role: end for role, end in self.ended.items() if role in watched},
            silent_seconds=self.silent,
            served=self.served - present,
        )

    def look(self, after_seconds: float = 0.0) -> list[Order]:
        """What is ordered of a look; ends and silences are told of once."""
        self.now += after_seconds
        orders = self.supervision.look(self.seen())
        self.ended, self.silent = {}, {}
        return self._carried_out(orders)

    def find_hosts(self, after_seconds: float = 0.0) -> list[Order]:
        """What is ordered after hosts were asked what they offer to those that wait."""
        self.now += after_seconds
        if self.silent_hosts is not None:
            return self._not_found(self.silent_hosts)
        search = self.supervision.search(self.placement, self.seen().servers, list(self.hosts.values()))
        orders: list[Order] = []
        while (proposal := search.propose()) is not None:
            if self.taken_by_others & {proposal.placement[role].address for role in proposal.roles}:
                search.refused("others (1 thread)")
                continue
            self.placement = proposal.placement
            search.taken(proposal)
            orders += self.supervision.found(proposal)
        return orders if search.failure is None else self._not_found(search.failure)

    def lose(self, worker: str) -> list[Order]:
        """What is ordered when a worker's host dies."""
        del self.hosts[self.placement[worker].address]
        return self.look()

    def end(self, worker: str, end: End) -> list[Order]:
        """What is ordered when a worker ends so, its host being there."""
        self.ended[worker] = end
        return self.look()

    def end_and_restart(self, worker: str, end: End) -> list[Order]:
        """The same, and a start on the host that it was on."""
        return self.end(worker, end) + self.find_hosts()

    def _not_found(self, why: OSError | PlacementError) -> list[Order]:
        return self._carried_out(self.supervision.not_found(why, self.host_timeout_seconds, self.now))

    def _carried_out(self, orders: list[Order]) -> list[Order]:
        """The same, behind what a fleet does to its placement."""
        cancelled = {order.role for order in orders if isinstance(order, Cancel)}
        given_up = cancelled - set(self.supervision.lost)
        self.placement = {role: offer for role, offer in self.placement.items() if role not in given_up}
        return orders


def sentences(orders: list[Order]) -> list[str]:
    """What is said."""
    return [order.sentence for order in orders if isinstance(order, Say)]


def starts(orders: list[Order]) -> list[Start]:
    """Who is started."""
    return [order for order in orders if isinstance(order, Start)]


def failure(orders: list[Order]) -> Exception:
    """The error that the orders end with."""
    assert isinstance(orders[-1], Fail)
    return orders[-1].error
