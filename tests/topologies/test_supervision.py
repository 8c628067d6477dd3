"""Decisions about roles: what was seen goes in, what is ordered comes out; no Dask, no clock, no waiting."""

import pytest

from pipeline.cluster.coordination.channel import LEASE_LAPSED, STOPPED
from pipeline.cluster.placement import Demand
from pipeline.errors import (
    BrokenQuorumError,
    DivergedError,
    PipelineError,
    RemoteLostError,
    RoleFailedError,
    StarvedError,
    UnreachableError,
)
from pipeline.topologies.looks import (
    Cancelled,
    End,
    Failed,
    HostGone,
    NoFarewell,
    NotArrived,
    Returned,
    StillThere,
)
from pipeline.topologies.orders import Cancel, Fail, Say, Start
from pipeline.topologies.patience import Patience
from tests.topologies.supervised import SLOW, TERMS, WORKERS, World, failure, offer, sentences, starts

BROKEN = Failed(UnreachableError("shard-0: the connection broke"))
STARVED = Failed(StarvedError("it was held back for too long"))
DONE = Returned("done")


# The start.


def test_all_roles_begin_on_their_hosts() -> None:
    assert World().begun == [
        Start("worker-0", "host-0", 1),
        Start("worker-1", "host-1", 1),
        Start("worker-2", "host-2", 1),
    ]


def test_a_role_without_a_host_waits_for_one_and_is_started_when_it_comes() -> None:
    world = World(without="worker-2", quorum=2)
    assert [start.role for start in world.begun] == ["worker-0", "worker-1"]
    assert world.supervision.lost == ("worker-2",) and world.look() == []
    assert world.find_hosts() == [
        Start("worker-2", "host-2", 1),
        Say("worker-2 was lost (there was no host for it) and started again on host-2"),
    ]


def test_a_second_beginning_counts_the_starts_on() -> None:
    world = World()
    world.lose("worker-2")
    assert [start.number for start in world.supervision.begin(world.placement, world.now)] == [2, 2, 2]
    assert world.supervision.lost == ()


# Lost hosts.


def test_of_a_look_at_which_nothing_has_changed_nothing_comes() -> None:
    assert World().look() == []


def test_a_role_whose_host_is_gone_is_lost_and_waits() -> None:
    world = World()
    assert world.lose("worker-1") == [Cancel("worker-1")]
    assert world.supervision.lost == ("worker-1",) and world.supervision.watched == ("worker-0", "worker-2")
    assert world.look() == [], "it is lost once"


def test_the_lost_host_of_a_shard_ends_the_generation_and_no_role_is_judged_any_more() -> None:
    world = World()
    world.ended["worker-1"] = SLOW
    orders = world.lose("worker-0")
    assert len(orders) == 1 and type(failure(orders)) is RemoteLostError
    assert str(failure(orders)) == "shard-0 is lost with its host host-0" and world.supervision.lost == ()


def test_a_role_whose_host_leaves_because_its_time_is_over_is_started_again_as_often_as_it_takes() -> None:
    world = World(max_restarts=0)
    for number in range(2, 5):
        world.served.add("host-1")
        assert world.lose("worker-1") == [Cancel("worker-1")]
        world.hosts["host-1"] = offer("host-1")
        said = Say("worker-1 was lost (the time of its host host-1 was over) and started again on host-1")
        assert world.find_hosts() == [Start("worker-1", "host-1", number), said]
    world.served.clear()
    assert isinstance(failure(world.lose("worker-1")), RoleFailedError), "this one counts"


def test_of_a_shard_s_host_it_is_said_that_its_time_was_over() -> None:
    world = World()
    world.served.add("host-0")
    assert str(failure(world.lose("worker-0"))) == "shard-0 is lost with its host host-0, whose time was over"


def test_a_role_that_was_lost_just_before_a_shard_is_named_with_it() -> None:
    world = World()
    world.lose("worker-1")
    before = "; worker-1 was lost before (its host host-1 is gone)"
    assert str(failure(world.lose("worker-0"))) == f"shard-0 is lost with its host host-0{before}"
    world = World()
    world.lose("worker-1")
    heard = world.end("worker-2", Failed(RemoteLostError("shard-0: its host is gone")))
    assert type(failure(heard)) is RemoteLostError and str(failure(heard)) == f"shard-0: its host is gone{before}"


def test_nothing_is_ordered_after_an_error_that_ends_the_fleet() -> None:
    world = World()
    world.ended = {"worker-0": SLOW, "worker-1": Cancelled(), "worker-2": SLOW}
    orders = world.look()
    assert orders[:-1] == [Cancel("worker-0")] and isinstance(failure(orders), RoleFailedError)
    assert world.supervision.lost == ("worker-0",)


# How roles end.


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        pytest.param(SLOW, "shard-0 was slow", id="a call that timed out"),
        pytest.param(BROKEN, "shard-0: the connection broke", id="its first broken connection"),
        pytest.param(Returned(LEASE_LAPSED), "it heard nothing of its coordinator for 30 s", id="its lease lapsed"),
        pytest.param(NotArrived(), "what it returned did not arrive", id="its result did not arrive"),
    ],
)
def test_a_role_that_cannot_help_its_end_is_started_again(end: End, reason: str) -> None:
    said = f"worker-1 was lost ({reason}) and started again on host-1"
    assert World().end_and_restart("worker-1", end) == [
        Cancel("worker-1"),
        Start("worker-1", "host-1", 2),
        Say(said),
    ]


@pytest.mark.parametrize("error", [RemoteLostError("shard-0: its host is gone"), BrokenQuorumError("not all agree")])
def test_a_role_that_found_a_shard_lost_ends_the_generation_with_its_error(error: RemoteLostError) -> None:
    assert World(quorum=1).end("worker-1", Failed(error)) == [Fail(error)]


@pytest.mark.parametrize("error", [ValueError("a bug"), DivergedError("the loss is nan"), StarvedError("held back")])
def test_an_error_of_its_own_ends_the_run_and_is_its_cause(error: Exception) -> None:
    failed = failure(World(quorum=1).end("worker-1", Failed(error)))
    assert isinstance(failed, RoleFailedError) and str(failed) == f"worker-1 failed: {error!r}"
    assert failed.__cause__ is error


def test_a_cancelled_role_ends_the_run_which_can_be_resumed() -> None:
    failed = failure(World(quorum=1).end("worker-1", Cancelled()))
    assert isinstance(failed, RoleFailedError)
    assert str(failed).startswith("the connection to the scheduler broke") and "resume=true" in str(failed)


def test_a_connection_that_breaks_twice_without_a_quorum_is_a_lost_shard() -> None:
    world = World()
    world.end_and_restart("worker-1", BROKEN)
    assert isinstance(BROKEN.error, UnreachableError)
    assert world.end("worker-1", BROKEN) == [Fail(BROKEN.error)]


def test_connections_of_different_roles_may_break_once_each() -> None:
    world = World()
    world.end_and_restart("worker-1", BROKEN)
    assert world.end("worker-2", BROKEN) == [Cancel("worker-2")]


def test_a_connection_may_break_again_where_the_others_make_the_quorum() -> None:
    world = World(quorum=2, max_restarts=2)
    world.end_and_restart("worker-1", BROKEN)
    assert world.end("worker-1", BROKEN) == [Cancel("worker-1")]


def test_a_role_that_starved_beside_a_lost_one_is_started_again_and_excused() -> None:
    fits_nowhere = Demand("worker-2", num_threads=9, memory_bytes=0)
    world = World(
        without="worker-2", demands=(*TERMS.demands[:2], *TERMS.demands[3:], fits_nowhere), quorum=2, max_restarts=0
    )
    for number in (2, 3, 4):
        assert world.end("worker-1", STARVED) == [Cancel("worker-1")]
        assert starts(world.find_hosts()) == [Start("worker-1", "host-1", number)]
    assert world.supervision.lost == ("worker-2",)
    assert isinstance(failure(world.end("worker-1", SLOW)), RoleFailedError), "this it has to answer for"


def starved_beside(world: World, worker: str, after_seconds: float) -> bool:
    """Whether this worker is started again that starves so much later."""
    world.now += after_seconds
    return world.end(worker, STARVED) == [Cancel(worker)]


def test_a_role_that_starved_for_want_of_one_that_is_just_started_again_is_excused() -> None:
    for after_seconds in (100.0, 121.0):
        world = World(quorum=2)
        assert world.end_and_restart("worker-2", SLOW)[0] == Cancel("worker-2")
        assert starved_beside(world, "worker-1", after_seconds) is (after_seconds <= TERMS.held_back_seconds)


def test_a_role_that_starved_for_want_of_one_that_stands_still_is_excused() -> None:
    for silent_seconds in (60.0, 61.0):
        world = World(quorum=2, max_restarts=0)
        world.silent = {"worker-2": silent_seconds}
        world.look()
        assert starved_beside(world, "worker-1", 50.0) is (silent_seconds > 60.0)


def test_roles_that_starve_one_after_the_other_excuse_each_other_not() -> None:
    world = World(quorum=1, max_restarts=9)
    world.end_and_restart("worker-2", SLOW)
    assert starved_beside(world, "worker-1", 100.0)
    world.look()
    world.find_hosts()
    assert not starved_beside(world, "worker-0", 50.0)


def test_a_role_that_has_left_is_never_lost() -> None:
    world = World()
    assert world.end("worker-1", DONE) == [] == world.lose("worker-1")
    assert world.supervision.lost == () and "worker-1" not in world.supervision.watched


def test_a_fleet_is_finished_when_all_roles_have_left_and_none_waits() -> None:
    world = World(quorum=1)
    world.end("worker-0", DONE)
    world.end("worker-1", Returned(STOPPED))
    assert not world.supervision.is_finished
    world.lose("worker-2")
    assert not world.supervision.is_finished, "it is to be started again"
    world.hosts["host-3"] = offer("host-3")
    world.find_hosts()
    world.end("worker-2", DONE)
    assert world.supervision.is_finished


# Silence.


def test_an_odd_silence_is_named_once_and_again_after_it_was_broken() -> None:
    world, named = World(), [Say("nothing was heard of worker-1 on host-1 for 60 s")]
    looks = []
    for seconds in (60.0, 61.0, 62.0, 0.0, 61.0):
        world.silent = {"worker-0": 0.0, "worker-1": seconds}
        looks.append(world.look())
    assert looks == [[], named, [], [], named]


def test_a_silent_role_counts_as_lost_after_a_quarter_of_an_hour() -> None:
    world = World()
    world.silent = {"worker-1": 900.0}
    assert Cancel("worker-1") not in world.look()
    world.silent = {"worker-1": 900.5}
    assert world.look() == [Cancel("worker-1")]
    assert sentences(world.find_hosts()) == [
        "worker-1 was lost (nothing was heard of it for 900 s) and started again on host-1"
    ]


def test_a_silent_role_may_be_in_three_calls_that_all_wait_for_their_deadline() -> None:
    world = World(call_timeout_seconds=600.0)
    world.silent = {"worker-1": 1800.0}
    assert Cancel("worker-1") not in world.look()
    world.silent = {"worker-1": 1801.0}
    assert Cancel("worker-1") in world.look()


def test_how_long_a_silence_may_last_is_a_setting() -> None:
    world = World(patience=Patience(odd_silence_seconds=2.0, lost_silence_seconds=4.0, calls_in_a_step=0))
    world.silent = {"worker-1": 5.0}
    assert world.look() == [Say("nothing was heard of worker-1 on host-1 for 2 s"), Cancel("worker-1")]


def test_a_role_that_has_ended_is_not_judged_by_its_silence() -> None:
    world = World()
    world.silent = {"worker-1": 5000.0}
    assert Cancel("worker-1") not in world.end("worker-1", DONE)


# Giving up.


def test_a_role_that_is_lost_too_often_ends_the_run() -> None:
    world = World(max_restarts=1)
    world.end_and_restart("worker-1", SLOW)
    orders = world.end("worker-1", SLOW)
    assert orders[:-1] == [Cancel("worker-1")] and isinstance(failure(orders), RoleFailedError)
    assert str(failure(orders)) == "worker-1 was lost 2 times, the last time because shard-0 was slow"


def test_a_role_that_is_lost_too_often_is_given_up_if_the_others_make_the_quorum() -> None:
    world = World(max_restarts=0, quorum=2)
    assert world.lose("worker-1") == [
        Cancel("worker-1"),
        Say(
            "worker-1 was lost because its host host-1 is gone; the others make the quorum, and it is not started again"
        ),
    ]
    assert world.supervision.lost == () and world.supervision.watched == ("worker-0", "worker-2")
    for worker in ("worker-0", "worker-2"):
        world.end(worker, DONE)
    assert world.supervision.is_finished


def test_of_a_quorum_no_more_are_given_up_than_it_can_spare() -> None:
    world = World(max_restarts=0, quorum=2)
    world.lose("worker-1")
    assert str(failure(world.lose("worker-2"))) == "worker-2 was lost because its host host-2 is gone"


# The end.


@pytest.mark.parametrize("how", [HostGone(), SLOW, BROKEN])
def test_of_a_role_that_was_lost_before_it_could_leave_no_more_is_asked(how: NoFarewell) -> None:
    assert World().supervision.not_left("worker-1", how) == []


def test_an_error_of_a_role_that_leaves_ends_the_run() -> None:
    supervision, bug, ours = World().supervision, ValueError("a bug"), PipelineError("a full disk")
    assert supervision.not_left("worker-1", Failed(ours)) == [Fail(ours)]
    failed = failure(supervision.not_left("worker-1", Failed(bug)))
    assert isinstance(failed, RoleFailedError) and failed.__cause__ is bug
    assert "resume=true" in str(failure(supervision.not_left("worker-1", Cancelled())))


def test_a_run_ends_without_a_role_that_is_still_at_it_and_says_so_unless_the_others_make_the_quorum() -> None:
    late = StillThere(60.0)
    told = Say("worker-1 did not leave within 60 s: what it did since its last word is not counted")
    assert World(quorum=2).supervision.not_left("worker-1", late) == []
    assert World(quorum=3).supervision.not_left("worker-1", late) == [told]
    assert World().supervision.not_left("worker-1", late) == [told]


def test_roles_that_leave_as_they_are_told_have_finished() -> None:
    supervision = World().supervision
    for worker in WORKERS:
        assert not supervision.is_finished
        supervision.left(worker)
    assert supervision.is_finished


def test_a_quorum_is_made_of_those_that_stand() -> None:
    world = World(quorum=2)
    assert world.supervision.has_quorum(without="worker-0")
    world.lose("worker-1")
    assert world.supervision.has_quorum() and not world.supervision.has_quorum(without="worker-0")
    assert not World(quorum=None).supervision.has_quorum()
