"""Hosts for roles that have lost theirs: which of them go where, by what hosts offer at one moment. Logic without I/O.

    all of them at once        the rule: a fleet is placed as a whole
    whoever fits               where updates wait for a number of roles: one host for two of them is one more

Not here: when roles count as lost, and how long they wait (`pipeline.topologies.supervision`), the rules of placement
(`pipeline.cluster.placement`).
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from pipeline.cluster.placement import Demand, Offer, Placement, place
from pipeline.errors import PlacementError


class StandsStillError(PlacementError):
    """A host that has a role or a shard cannot be asked, and nobody has missed it yet."""


class Scene(NamedTuple):
    """What stands where, and what there is to choose from."""

    demands: Sequence[Demand]
    """Of all roles and shards, and of what else was placed with them."""
    placement: Mapping[str, Offer]
    standing: AbstractSet[str]
    """Roles and shards that have their host."""
    offers: Sequence[Offer]


class Proposal(NamedTuple):
    """Roles that could be started again."""

    roles: tuple[str, ...]
    placement: Placement
    """Of everything, these roles among it."""


class Search:
    """One search for hosts. Each proposal is answered, by `taken` or `refused`, before the next one is asked for."""

    def __init__(self, waiting: Sequence[str], scene: Scene, *, may_split: bool) -> None:
        """`may_split`: where not all of those that wait fit, those that do are started alone."""
        self._waiting = set(waiting)
        self._scene = scene
        self._tries = [tuple(waiting)]
        alone: list[tuple[str, ...]] = [(role,) for role in waiting]
        self._alone = alone if may_split and len(waiting) > 1 else []
        """What is tried if the first try fails."""
        self._has_found = False
        self._error: PlacementError | None = None

    @property
    def failure(self) -> PlacementError | None:
        """Why no role has found a host so far; None if one has."""
        return None if self._has_found else self._error

    def propose(self) -> Proposal | None:
        """The next roles that could be started, and where; None when there are no more."""
        while self._tries:
            roles = self._tries.pop(0)
            try:
                placed = place_again(roles, self._waiting, self._scene)
            except PlacementError as error:
                self._fails(error)
            else:
                return Proposal(roles, {**self._scene.placement, **placed})
        return None

    def taken(self, proposal: Proposal) -> None:
        """These roles have their hosts."""
        self._has_found = True
        self._waiting -= set(proposal.roles)
        standing = self._scene.standing | set(proposal.roles)
        self._scene = self._scene._replace(placement=proposal.placement, standing=standing)

    def refused(self, others: str) -> None:
        """Others, in words, were faster than the last proposal."""
        self._fails(PlacementError(f"others have just taken hosts of these roles: {others}"))

    def _fails(self, error: PlacementError) -> None:
        self._error = error
        self._tries, self._alone = self._tries + self._alone, []


def no_host_came(lost: str, timeout_seconds: float, why: Exception) -> PlacementError:
    """The end of a run that has lost a host: who was lost and how, in words, how long was waited, what to do."""
    waited = f"no other one has come within {timeout_seconds:g} s" if timeout_seconds else "no other one is free"
    error = PlacementError(
        f"{lost}, and {waited}. Start hosts in place of those that were lost, for example by `dask worker`, or ask for "
        f"fewer roles (topology.num_*): resume=true goes on from the newest checkpoint.\nWhat there was: {why}"
    )
    error.__cause__ = why
    return error


def place_again(roles: Sequence[str], waiting: AbstractSet[str], scene: Scene) -> Placement:
    """Hosts for these of the roles that wait, and for all that stands, which stays where it is.

    What stands aside, as the evaluator does, stays as long as its host does, and is left without one otherwise.
    Raises PlacementError if they do not fit.
    """
    keep = {role: offer for role, offer in scene.placement.items() if role not in waiting}
    present = {offer.address for offer in scene.offers}
    if gone := sorted(role for role in scene.standing & keep.keys() if keep[role].address not in present):
        # Not yet missed by the supervision: placed elsewhere it would count as moved, and nobody would start it.
        raise StandsStillError(f"the host of {gone[0]} cannot be asked")
    # What stands aside and has lost its host, too, must not hold up the roles.
    aside = {role for role in keep.keys() - scene.standing if keep[role].address in present}
    wanted = [demand for demand in scene.demands if demand.role in {*scene.standing, *roles, *aside}]
    beside = {demand.beside for demand in wanted if demand.role not in keep}
    missing = beside - {None} - {demand.role for demand in wanted}
    if missing:
        raise PlacementError(f"{missing.pop()} waits for a host, and others stand beside it")
    return place(wanted, scene.offers, keep)
