"""Which host runs what: a pure function from what a run wants and what hosts offer to a placement, all or nothing.

Rules, in order: a role that wants a host of its own gets one first; the others go where most threads are free, the
first host in order on a tie; a role that stands beside another gets that one's host. Hosts on one machine share its
memory.
Not here: starting hosts (`pipeline.cluster.session`), asking them what they have (`pipeline.cluster.hosts`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipeline.errors import PlacementError


@dataclass(frozen=True)
class Demand:
    """What one role wants of its host."""

    role: str
    num_threads: int
    """Compute threads; 0 for a role that computes only in its callers' time."""
    memory_bytes: int
    beside: str | None = None
    """Name of an earlier role whose host it shares."""
    alone: bool = False
    """No other role on its host."""


@dataclass(frozen=True)
class Offer:
    """One host, as it reported itself."""

    address: str
    machine: str
    """Hosts with the same machine share its memory and its cores."""
    num_threads: int
    """Dask threads: roles that can run at once."""
    memory_bytes: int
    """What roles may plan with on this machine."""
    num_cores: int
    """Cores of the machine."""


Placement = dict[str, Offer]
"""Role -> host, in the order of the demands."""


def place(demands: Sequence[Demand], offers: Sequence[Offer], keep: Mapping[str, Offer] | None = None) -> Placement:
    """A host for every role. Raises PlacementError with the wanted and the offered numbers when there is none.

    Roles in `keep` stay where they are, as long as that host is still offered; they have taken their memory already.
    """
    by_address = {offer.address: offer for offer in offers}
    free = {offer.address: offer.num_threads for offer in offers}
    placement: Placement = {}
    closed: set[str] = set()

    def put(demand: Demand, address: str) -> None:
        placement[demand.role] = by_address[address]
        free[address] -= demand.num_threads
        if demand.alone:
            closed.add(address)

    for demand in demands:
        if keep is not None and demand.role in keep and keep[demand.role].address in by_address:
            put(demand, keep[demand.role].address)
    kept = set(placement)
    waiting = [demand for demand in demands if demand.role not in placement and demand.beside is None]
    for demand in sorted(waiting, key=lambda demand: not demand.alone):
        used = {offer.address for offer in placement.values()}
        shut = used if demand.alone else closed
        candidates = [o for o in offers if o.address not in shut and free[o.address] >= demand.num_threads]
        if not candidates:
            raise PlacementError(_no_host(demand, demands, offers))
        put(demand, max(candidates, key=lambda offer: free[offer.address]).address)
    for demand in demands:
        if demand.beside is not None and demand.role not in placement:
            put(demand, placement[demand.beside].address)
    _check_memory([demand for demand in demands if demand.role not in kept], placement)
    return {demand.role: placement[demand.role] for demand in demands}


def _no_host(demand: Demand, demands: Sequence[Demand], offers: Sequence[Offer]) -> str:
    alone = sum(d.alone for d in demands)
    wanted = f"{alone} hosts of their own and " if alone else ""
    threads = sum(d.num_threads for d in demands)
    most = max((offer.num_threads for offer in offers), default=0)
    return (
        f"the run wants {wanted}{threads} threads in all; offered are {len(offers)} hosts with "
        f"{sum(offer.num_threads for offer in offers)} threads (at most {most} on one host): "
        f"no host is left for {demand.role} with {demand.num_threads} threads"
        f"{', which wants a host of its own' if demand.alone else ''}. "
        "Start more hosts, or lower topology.num_bundles, topology.compute_threads or param_server.num_shards"
    )


def _check_memory(demands: Sequence[Demand], placement: Placement) -> None:
    wanted: dict[str, int] = {}
    for demand in demands:
        machine = placement[demand.role].machine
        wanted[machine] = wanted.get(machine, 0) + demand.memory_bytes
    for machine, num_bytes in wanted.items():
        offered = min(offer.memory_bytes for offer in placement.values() if offer.machine == machine)
        if num_bytes > offered:
            raise PlacementError(
                f"the roles on {machine} want {num_bytes / 2**30:.2f} GiB, offered are {offered / 2**30:.2f} GiB: "
                "lower replay.capacity or topology.num_bundles, or use more machines"
            )
