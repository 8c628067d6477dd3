"""Which lost role goes to which host, on offers written by hand."""

from collections.abc import Sequence

import pytest

from pipeline.cluster.placement import Demand, Offer, place
from pipeline.errors import PlacementError
from pipeline.topologies.restarts import Scene, Search, place_again
from tests.topologies.supervised import EVALUATOR, offer

DEMANDS = (
    *(Demand(name, num_threads=1, memory_bytes=0) for name in ("actor-0", "actor-1", "actor-2")),
    Demand("replay-0", num_threads=0, memory_bytes=0, beside="actor-1"),
)
PLACEMENT = place(DEMANDS, [offer("host-0"), offer("host-1"), offer("host-2")])


def scene(lost: Sequence[str], offers: Sequence[Offer], demands: Sequence[Demand] = DEMANDS) -> Scene:
    """All stand where they were placed, but for these."""
    return Scene(demands, PLACEMENT, PLACEMENT.keys() - set(lost), offers)


def searching(*offers: str, may_split: bool) -> Search:
    """A search for the first and the last actor; the one between them stays."""
    lost = ("actor-0", "actor-2")
    return Search(lost, scene(lost, [offer("host-1"), *map(offer, offers)]), may_split=may_split)


def test_those_that_stand_stay_where_they_are() -> None:
    offers = [offer("host-9", num_threads=8), offer("host-1"), offer("host-2")]
    placed = place_again(["actor-0"], {"actor-0"}, scene(["actor-0"], offers))
    assert {role: host.address for role, host in placed.items()} == {
        "actor-0": "host-9",
        "actor-1": "host-1",
        "actor-2": "host-2",
        "replay-0": "host-1",
    }


def test_while_the_host_of_one_that_stands_cannot_be_asked_nobody_is_placed() -> None:
    with pytest.raises(PlacementError, match="the host of actor-2 cannot be asked"):
        place_again(["actor-0"], {"actor-0"}, scene(["actor-0"], [offer("host-1"), offer("host-9", 8)]))


def test_one_that_stands_beside_another_waits_for_it() -> None:
    lost = ["actor-1", "replay-0"]
    offers = [offer("host-0"), offer("host-2"), offer("host-9", 8)]
    with pytest.raises(PlacementError, match="actor-1 waits for a host, and others stand beside it"):
        place_again(["replay-0"], set(lost), scene(lost, offers))
    assert place_again(lost, set(lost), scene(lost, offers))["replay-0"].address == "host-9"


@pytest.mark.parametrize(("stands_at", "is_placed"), [("host-9", True), ("host-gone", False)])
def test_what_stands_aside_is_placed_as_long_as_its_host_is_there(stands_at: str, is_placed: bool) -> None:
    there = scene(["actor-0"], [*(offer(f"host-{i}") for i in (1, 2, 8, 9))], (*DEMANDS, EVALUATOR))
    there = there._replace(placement=PLACEMENT | {"evaluator": offer(stands_at)})
    placed = place_again(["actor-0"], {"actor-0"}, there)
    assert ("evaluator" in placed) is is_placed and placed["actor-0"].address == "host-8"


def test_a_search_begins_with_all_of_them_together() -> None:
    search = searching("host-8", "host-9", may_split=True)
    proposal = search.propose()
    assert proposal is not None and proposal.roles == ("actor-0", "actor-2")
    assert proposal.placement.keys() == PLACEMENT.keys()
    search.taken(proposal)
    assert search.propose() is None and search.failure is None


def test_a_search_that_may_not_split_ends_where_not_all_fit() -> None:
    search = searching("host-9", may_split=False)
    assert search.propose() is None and "no host is left for actor-2" in str(search.failure)


def test_a_search_that_may_split_goes_on_with_whoever_fits() -> None:
    search = searching("host-9", may_split=True)
    proposal = search.propose()
    assert proposal is not None and proposal.roles == ("actor-0",)
    search.taken(proposal)
    assert search.propose() is None, "its host is taken"
    assert search.failure is None


def test_whoever_was_outrun_lets_the_next_one_try() -> None:
    search, tried = searching("host-8", "host-9", may_split=True), []
    while (proposal := search.propose()) is not None:
        tried.append(proposal.roles)
        search.refused("a run of others (2 threads)")
    assert tried == [("actor-0", "actor-2"), ("actor-0",), ("actor-2",)]
    assert str(search.failure) == "others have just taken hosts of these roles: a run of others (2 threads)"
