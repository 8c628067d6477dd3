"""Which host runs what: a pure function from what a run wants and what hosts offer to a placement, all or nothing.

A role of a group stands on hosts of that group, all others on hosts of none (`pipeline.cluster.groups`). Rules among
these, in order: a role that must have a GPU gets one first, then a role that wants a host of its own gets that; the
others, those with most threads first, go where most threads are free, then where fewest roles are, the first host in
order on a tie; a role that stands beside another gets that one's host. As long as there are others, hosts with a free
GPU are left to roles that use one. Hosts on one machine share its memory.
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
    num_gpus: int = 0
    """GPUs that its host must have, for this role alone."""
    prefers_gpu: bool = False
    """Takes a host with a GPU that nobody else uses, where there is one; runs without."""
    group: str | None = None
    """Kind of host that it must have; None: one of no group."""


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
    num_gpus: int = 0
    """GPUs of this host."""
    memory_is_total: bool = False
    """Whether `memory_bytes` is for all roles that ever stand there, and not what is free beside those that do."""
    groups: frozenset[str] = frozenset()
    """Groups that it is one of."""

    def is_for(self, group: str | None) -> bool:
        """Whether roles of this group may stand there; None: those of no group."""
        return not self.groups if group is None else group in self.groups


Placement = dict[str, Offer]
"""Role -> host, in the order of the demands."""


def place(demands: Sequence[Demand], offers: Sequence[Offer], keep: Mapping[str, Offer] | None = None) -> Placement:
    """A host for every role. Raises PlacementError with the wanted and the offered numbers when there is none.

    Roles in `keep` stay where they are, as long as that host is still offered; of free memory they have taken theirs.
    """
    by_address = {offer.address: offer for offer in offers}
    free = {offer.address: offer.num_threads for offer in offers}
    free_gpus = {offer.address: offer.num_gpus for offer in offers}
    num_roles = dict.fromkeys(free, 0)
    placement: Placement = {}
    closed: set[str] = set()

    def put(demand: Demand, address: str) -> None:
        placement[demand.role] = by_address[address]
        free[address] -= demand.num_threads
        num_roles[address] += 1
        # A role that only prefers a GPU may share one.
        free_gpus[address] = max(free_gpus[address] - _gpus_used(demand), 0)
        if demand.alone:
            closed.add(address)

    def preference(demand: Demand, address: str) -> tuple[bool, int, int]:
        wants_gpu = _gpus_used(demand) > 0
        return (free_gpus[address] > 0) == wants_gpu, free[address], -num_roles[address]

    for demand in demands:
        if keep is not None and demand.role in keep and keep[demand.role].address in by_address:
            put(demand, keep[demand.role].address)
    kept = set(placement)
    waiting = [demand for demand in demands if demand.role not in placement and demand.beside is None]
    for demand in sorted(waiting, key=_turn):
        used = {offer.address for offer in placement.values()}
        shut = used if demand.alone else closed
        candidates = [
            offer.address
            for offer in offers
            if offer.is_for(demand.group)
            and offer.address not in shut
            and free[offer.address] >= demand.num_threads
            and free_gpus[offer.address] >= demand.num_gpus
        ]
        if not candidates:
            raise PlacementError(_no_host(demand, demands, offers))
        put(demand, max(candidates, key=lambda address: preference(demand, address)))
    for demand in demands:
        if demand.beside is not None and demand.role not in placement:
            put(demand, placement[demand.beside].address)
    _check_memory([d for d in demands if d.role not in kept or placement[d.role].memory_is_total], placement)
    return {demand.role: placement[demand.role] for demand in demands}


def _gpus_used(demand: Demand) -> int:
    return demand.num_gpus or int(demand.prefers_gpu)


def _turn(demand: Demand) -> tuple[bool, bool, bool, int]:
    """Sorts those first that are hardest to please."""
    return demand.num_gpus == 0, not demand.alone, not demand.prefers_gpu, -demand.num_threads


def _no_host(demand: Demand, every_demand: Sequence[Demand], every_offer: Sequence[Offer]) -> str:
    demands = [one for one in every_demand if one.group == demand.group]
    offers = [offer for offer in every_offer if offer.is_for(demand.group)]
    alone = sum(d.alone for d in demands)
    own_hosts = f"{alone} hosts of their own and " if alone else ""
    gpus = sum(d.num_gpus for d in demands)
    wanted = f"{sum(d.num_threads for d in demands)} threads{_and_gpus(gpus)}"
    offered_gpus = _and_gpus(sum(offer.num_gpus for offer in offers)) or " and no GPU" if gpus else ""
    most = max((offer.num_threads for offer in offers), default=0)
    has_groups = any(one.group is not None for one in every_demand)
    text = (
        f"{_of_group(demand.group) if has_groups else 'the run'} wants {own_hosts}{wanted} in all; offered are "
        f"{len(offers)} hosts with {sum(offer.num_threads for offer in offers)} threads{offered_gpus} (at most {most} "
        f"threads on one host): no host is left for {demand.role} with {demand.num_threads} threads"
        f"{_and_gpus(demand.num_gpus)}{', which wants a host of its own' if demand.alone else ''}. "
        "Start more hosts or fewer roles (topology.num_*, param_server.num_shards), or lower topology.compute_threads"
    )
    if demand.group is not None:
        text += f"; a host declares its group with `dask worker --resources {demand.group}=1`"
    if demand.num_gpus == 0:
        return text
    return f"{text}; a host declares its GPU with `dask worker --resources GPU=1`, and device=auto does without"


def _of_group(group: str | None) -> str:
    return "what is in no group of hosts" if group is None else f"what is in the group {group} of hosts"


def _and_gpus(count: int) -> str:
    return f" and {count} GPU{'s' if count > 1 else ''}" if count else ""


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
