"""A simulated server takes one message at a time, and the real rules decide what it keeps."""

from functools import partial

import numpy as np

from pipeline.interfaces import ClosedUpdate, Commit, Push
from pipeline.param_server.quorum import Quorum
from studies.simulation.clock import Clock, OwnCore
from studies.simulation.costs import ApplyCost, CallCost, Costs, Linear, Wire
from studies.simulation.servers import GENERATION, Leader, Server

COSTS = Costs(
    step_seconds=(1.0,),
    batch_size=1,
    num_params=10,
    bytes_per_param=4,
    push=CallCost(Linear(0.0), Linear(1.0)),
    pull=CallCost(Linear(0.0), Linear(1.0)),
    message=CallCost(Linear(0.0), Linear(0.5)),
    apply=ApplyCost(2.0, 0.0, 0.0),
    wire=Wire(0.0, float("inf")),
)


class Watched:
    """A server on a core of its own, and what happened when."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.server = Server(self.clock, OwnCore(self.clock), COSTS, num_params=10)
        self.happened: list[tuple[float, str]] = []

    def note(self, what: str) -> None:
        """Remember it."""
        self.happened.append((self.clock.now, what))

    def until(self, count: int) -> list[tuple[float, str]]:
        """The first so many."""
        self.clock.run_until(lambda: len(self.happened) == count)
        return self.happened


def push(sender: str, version: int, sequence: int = 1) -> Push:
    """A gradient without numbers."""
    return Push(np.empty(0, np.float32), sender, GENERATION, sequence, version)


def test_messages_are_worked_on_in_their_order_one_at_a_time() -> None:
    watched = Watched()
    watched.server.take(1.0, partial(watched.note, "a"))
    watched.server.take(2.0, partial(watched.note, "b"))
    assert watched.until(2) == [(1.0, "a"), (3.0, "b")]
    assert watched.server.busy_seconds == 3.0


def test_the_rest_of_a_message_comes_before_those_that_wait() -> None:
    watched = Watched()
    watched.server.take(1.0, partial(watched.server.take_next, 0.5, partial(watched.note, "the rest of a")))
    watched.server.take(2.0, partial(watched.note, "b"))
    assert watched.until(2) == [(1.5, "the rest of a"), (3.5, "b")]


def test_who_waits_for_a_version_is_answered_when_it_is_there_and_keeps_nobody_busy() -> None:
    watched = Watched()
    watched.server.answer_at(1, partial(watched.note, "version 1"))
    watched.server.keep(push("worker-0", 0))
    watched.server.take(3.0, partial(watched.server.apply, ClosedUpdate(GENERATION, 0, ("worker-0",))))
    assert watched.until(1) == [(3.5, "version 1")]
    watched.server.answer_at(1, partial(watched.note, "version 1 again"))
    assert watched.until(2)[1] == (4.0, "version 1 again")
    assert watched.server.busy_seconds == 4.0


def test_gradients_are_kept_until_their_update_and_refused_after_it() -> None:
    server = Watched().server
    assert server.keep(push("worker-0", 0)) == ""
    assert server.keep(push("worker-0", 0, sequence=2)) == "duplicate"
    server.apply(ClosedUpdate(GENERATION, 0, ("worker-0",)))
    assert server.keep(push("worker-1", 0)) == "late"
    assert server.keep(push("worker-0", 1, sequence=3)) == ""


def test_the_update_that_a_commit_closes_is_applied_before_messages_that_came_after_the_commit() -> None:
    watched = Watched()
    leader = Leader(watched.clock, COSTS, [watched.server], Quorum(1, 0, GENERATION))
    watched.server.keep(push("worker-0", 0))
    leader.commit(Commit("worker-0", GENERATION, 0), partial(watched.note, "answered"))
    watched.server.take(1.0, lambda: watched.note(f"worker-1: {watched.server.keep(push('worker-1', 0))}"))
    # The commit takes half a second, the update two, the push of the other worker one.
    assert watched.until(2) == [(2.5, "answered"), (3.5, "worker-1: late")]
    assert [update.senders for update in leader.updates] == [("worker-0",)]
