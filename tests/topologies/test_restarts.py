"""Lost roles: which goes to which host, on offers written by hand, and how long they wait for one."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from pipeline.cluster.placement import Demand, Offer, place
from pipeline.errors import PlacementError
from pipeline.topologies.orders import Cancel, Say, Start
from pipeline.topologies.restarts import Scene, Search, place_again
from tests.topologies.supervised import (
    EVALUATOR,
    HOST_TIMEOUT_SECONDS,
    SLOW,
    TERMS,
    World,
    failure,
    offer,
    sentences,
    starts,
)

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


# Which host.


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
    assert proposal.placement["actor-2"] == PLACEMENT["actor-2"], "where it stood"
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


def test_one_that_waits_alone_is_tried_once() -> None:
    search = Search(
        ["actor-0"], scene(["actor-0"], [offer("host-1"), offer("host-2"), offer("host-9")]), may_split=True
    )
    assert search.propose() is not None
    search.refused("a run of others (1 thread)")
    assert search.propose() is None and search.failure is not None


def test_who_has_found_a_host_in_a_search_keeps_it_when_the_next_one_is_placed() -> None:
    demands = [replace(demand, num_threads=2) if demand.role == "actor-2" else demand for demand in DEMANDS]
    lost, offers = ("actor-0", "actor-2"), [offer("host-1"), offer("host-8", 2), offer("host-9", 2)]
    search = Search(lost, scene(lost, offers, demands), may_split=True)
    assert search.propose() is not None
    search.refused("a run of others (2 threads)")
    for role, host in (("actor-0", "host-8"), ("actor-2", "host-9")):
        proposal = search.propose()
        assert proposal is not None and proposal.roles == (role,)
        search.taken(proposal)
        assert [proposal.placement["actor-0"].address, proposal.placement[role].address] == ["host-8", host]


# Waiting for a host.


def test_a_lost_role_is_started_on_the_host_that_is_offered() -> None:
    world = World()
    world.lose("worker-1")
    world.hosts["host-3"] = offer("host-3")
    assert world.find_hosts() == [
        Start("worker-1", "host-3", 2),
        Say("worker-1 was lost (its host host-1 is gone) and started again on host-3"),
    ]
    assert world.placement["worker-1"].address == "host-3" and world.look() == []


def test_a_role_with_a_replay_of_its_own_begins_with_an_empty_one() -> None:
    (said,) = sentences(World(has_own_replay=True).end_and_restart("worker-1", SLOW))
    assert said.endswith("started again on host-1 with an empty replay")


def test_without_a_host_it_is_told_once_that_updates_wait_and_in_the_end_the_run_ends() -> None:
    world = World()
    world.lose("worker-1")
    assert world.find_hosts(5.0) == []
    assert world.find_hosts(1.0) == [Say("worker-1 lost (its host host-1 is gone); waiting up to 120 s for a host")]
    assert world.find_hosts(HOST_TIMEOUT_SECONDS - 6.0) == []
    failed = failure(world.find_hosts(0.1))
    assert isinstance(failed, PlacementError)
    assert str(failed).startswith(
        "worker-1 was lost (its host host-1 is gone), and no other one has come within 120 s. Start hosts in place of"
    )
    assert "resume=true goes on" in str(failed) and "no host is left for worker-1" in str(failed)


def test_with_another_loss_the_waiting_begins_anew_and_is_told_again() -> None:
    world = World()
    world.lose("worker-1")
    world.find_hosts(100.0)
    world.lose("worker-2")
    assert world.find_hosts(100.0) == [
        Say("worker-1, worker-2 lost (its host host-1 is gone); waiting up to 120 s for a host")
    ]


def test_where_no_host_will_come_the_run_ends_at_once() -> None:
    world = World()
    world.host_timeout_seconds = 0.0
    world.lose("worker-1")
    failed = failure(world.find_hosts(0.1))
    assert isinstance(failed, PlacementError) and "and no other one is free. Start hosts" in str(failed)


def test_a_role_that_nobody_waits_for_is_mentioned_now_and_then_for_ever() -> None:
    world, waits = World(quorum=2), Say("worker-1 still without a host; the others make the quorum and go on")
    world.lose("worker-1")
    assert world.find_hosts(HOST_TIMEOUT_SECONDS) == []
    assert world.find_hosts(1.0) == [waits]
    assert world.find_hosts(HOST_TIMEOUT_SECONDS) == []
    assert world.find_hosts(1.0) == [waits]


def test_where_no_host_will_come_a_role_that_nobody_waits_for_is_mentioned_once_a_minute() -> None:
    world = World(quorum=2)
    world.host_timeout_seconds = 0.0
    world.lose("worker-1")
    assert world.find_hosts(60.0) == [] != world.find_hosts(1.0)


def test_hosts_that_do_not_answer_are_waited_for_and_end_the_run_with_their_error() -> None:
    world = World()
    world.lose("worker-1")
    world.silent_hosts = OSError("a host died while it was asked")
    assert world.find_hosts(1.0) == []
    failed = failure(world.find_hosts(HOST_TIMEOUT_SECONDS))
    assert failed.__cause__ is world.silent_hosts and "a host died while it was asked" in str(failed)


def test_of_a_quorum_one_host_helps_one_of_two_lost_workers() -> None:
    world = World(quorum=2)
    world.lose("worker-1")
    world.lose("worker-2")
    world.hosts["host-3"] = offer("host-3")
    assert starts(world.find_hosts()) == [Start("worker-1", "host-3", 2)]
    assert world.supervision.lost == ("worker-2",) and world.supervision.has_quorum()


def test_without_a_quorum_two_lost_workers_are_started_together_or_not_at_all() -> None:
    world = World()
    world.lose("worker-1")
    world.lose("worker-2")
    world.hosts["host-3"] = offer("host-3")
    assert world.find_hosts() == []
    world.hosts["host-4"] = offer("host-4")
    assert starts(world.find_hosts()) == [Start("worker-1", "host-3", 2), Start("worker-2", "host-4", 2)]


def test_hosts_that_others_were_faster_to_take_are_no_hosts() -> None:
    world = World()
    world.lose("worker-1")
    world.hosts["host-3"] = offer("host-3")
    world.taken_by_others = {"host-3"}
    assert world.find_hosts() == [] and world.placement["worker-1"].address == "host-1"
    assert "others (1 thread)" in str(failure(world.find_hosts(HOST_TIMEOUT_SECONDS + 1.0)))


def test_nobody_moves_whose_loss_was_not_seen_yet() -> None:
    world = World()
    world.lose("worker-1")
    world.hosts["host-3"] = offer("host-3", num_threads=2)
    del world.hosts["host-2"]
    assert world.find_hosts() == [], "worker-2 must be missed first"
    assert world.look() == [Cancel("worker-2")]
    assert [start.host for start in starts(world.find_hosts())] == ["host-3", "host-3"]


def test_while_the_host_of_a_shard_cannot_be_asked_nobody_is_started() -> None:
    apart = Demand("shard-0", num_threads=1, memory_bytes=0, alone=True)
    world = World(demands=(*(demand for demand in TERMS.demands if demand.role != "shard-0"), apart), num_hosts=4)
    world.lose("worker-1")
    del world.hosts[world.placement["shard-0"].address]
    world.hosts["host-9"] = offer("host-9")
    assert world.find_hosts() == []


@pytest.mark.parametrize("host_timeout_seconds", [HOST_TIMEOUT_SECONDS, 0.0])
def test_the_host_of_a_shard_that_stands_still_is_waited_for_until_it_is_missed(host_timeout_seconds: float) -> None:
    # Then the run goes back to what is saved; before, it would end.
    apart = Demand("shard-0", num_threads=1, memory_bytes=0, alone=True)
    world = World(demands=(*(demand for demand in TERMS.demands if demand.role != "shard-0"), apart), num_hosts=4)
    world.host_timeout_seconds = host_timeout_seconds
    world.lose("worker-1")
    del world.hosts[world.placement["shard-0"].address]
    waits = Say("worker-1 lost (its host host-2 is gone); waiting up to 660 s for a host")
    assert world.find_hosts(600.0) == [waits] and world.find_hosts(50.0) == []
    assert isinstance(failure(world.find_hosts(20.0)), PlacementError), "nobody has missed it: that is no way to go on"


def test_an_evaluator_that_stands_aside_keeps_its_host_from_a_lost_worker() -> None:
    world = World(demands=(*TERMS.demands, EVALUATOR), quorum=2, without="evaluator")
    world.hosts["host-3"] = world.placement["evaluator"] = offer("host-3")
    world.lose("worker-1")
    assert world.find_hosts() == []


def test_an_evaluator_that_has_lost_its_host_holds_up_no_worker() -> None:
    world = World(demands=(*TERMS.demands, EVALUATOR), without="evaluator")
    world.placement["evaluator"] = offer("host-9")
    world.lose("worker-1")
    world.hosts["host-3"] = offer("host-3")
    assert [start.host for start in starts(world.find_hosts())] == ["host-3"]


def test_a_role_that_was_given_up_keeps_its_host_from_nobody() -> None:
    for given_up, host in (("worker-1", "host-1"), ("worker-0", "host-0")):
        world = World(max_restarts=0, quorum=2)
        world.end(given_up, SLOW)
        assert world.supervision.standing == {"worker-0", "worker-1", "worker-2"} - {given_up}
        world.served = {"host-2"}
        world.lose("worker-2")
        # A shard stays beside the place of one that is given up.
        assert starts(world.find_hosts()) == [Start("worker-2", host, 2)]
        assert given_up not in world.placement and world.placement["shard-0"].address == "host-0"


def test_restarts_are_counted_and_first_starts_and_losses_are_not() -> None:
    world = World(max_restarts=5)
    assert world.supervision.num_restarted == 0
    for worker in ("worker-1", "worker-1", "worker-2"):
        world.end_and_restart(worker, SLOW)
    world.lose("worker-1")
    assert world.supervision.num_restarted == 3
