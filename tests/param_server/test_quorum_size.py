"""How many gradients an update waits for: the rule by hand, and workers on a clock that the test moves."""

import heapq
from collections.abc import Callable

import pytest

from pipeline.interfaces import Commit
from pipeline.param_server.quorum import Quorum
from pipeline.param_server.quorum_size import QuorumRange, QuorumSize, best_size


@pytest.mark.parametrize(
    ("seconds", "size", "best"),
    [
        # Gradients a second: 1, 2, 3, 0.4.
        ([1.0, 1.0, 1.0, 10.0], QuorumRange(1, 4), 3),
        ([1.0, 1.0, 1.0, 10.0], QuorumRange(4, 4), 4),
        ([1.0, 1.0, 1.0, 10.0], QuorumRange(1, 2), 2),
        # With B = 1, k / (k + 1) of it: 1/2, 2/3, 3/4, 4/5 in 1, 1.2, 1.4, 1.6 s are 0.5, 0.556, 0.536, 0.5 a second.
        ([1.0, 1.2, 1.4, 1.6], QuorumRange(1, 4, noise_scale=1.0), 2),
        # Without, 1, 1.67, 2.14 and 2.5.
        ([1.0, 1.2, 1.4, 1.6], QuorumRange(1, 4), 4),
        # As good: the larger one.
        ([1.0, 2.0], QuorumRange(1, 2), 2),
        # Of workers that are not known nobody can say how long they take.
        ([1.0, 1.0], QuorumRange(1, 4), 2),
        ([], QuorumRange(3, 4), 3),
    ],
)
def test_what_makes_the_most_progress_a_second_is_chosen(seconds: list[float], size: QuorumRange, best: int) -> None:
    assert best_size(seconds, size) == best


def test_a_number_is_always_that_one() -> None:
    size = QuorumSize(3)
    size.committed("a", 1.0, waits=False)
    size.opened(2.0)
    size.look(100.0)
    assert size.now == 3


def test_the_times_until_the_kth_are_means_over_the_newest_gradients_of_each() -> None:
    size = QuorumSize(QuorumRange(1, 2))
    for second in range(41):
        size.committed("steady", 2.0 * second, waits=False)
    for start in range(0, 40, 4):
        size.committed("fitful", float(start), waits=False)
        size.committed("fitful", start + 1.0, waits=False)
    # 1 s and 3 s in turn beside 2 s: the first of two after 1 or 2, the second after 2 or 3.
    assert list(size.seconds(at=38.0)) == pytest.approx([1.5, 2.5], abs=0.06)


class World:
    """Workers around a quorum, on a clock of its own. `seconds_of` may be changed while they work."""

    def __init__(self, size: int | QuorumRange, seconds_of: dict[str, Callable[[], float]]) -> None:
        self.seconds_of = seconds_of
        self.quorum = Quorum(size, version=0, generation=1)
        self.now = 0.0
        self.sizes: list[int] = []
        self._due = [(seconds(), name, 0) for name, seconds in seconds_of.items()]
        heapq.heapify(self._due)

    @property
    def next_due(self) -> float:
        return self._due[0][0]

    def step(self) -> None:
        self.now, name, version = heapq.heappop(self._due)
        answer, closed = self.quorum.commit(Commit(name, 1, version), self.now)
        if closed is not None:
            self.sizes.append(len(closed.senders))
            for sender in closed.senders:
                self._begin(sender)
        if answer.reason == "late":
            self._begin(name)

    def look(self) -> None:
        closed = self.quorum.look(self.now)
        if closed is not None:
            self.sizes.append(len(closed.senders))

    def _begin(self, name: str) -> None:
        heapq.heappush(self._due, (self.now + self.seconds_of[name](), name, self.quorum.version))


def test_a_worker_that_is_slow_is_left_out_and_waited_for_again_when_it_is_not() -> None:
    slow = [10.0]
    world = World(QuorumRange(1, 3), {"a": lambda: 1.0, "b": lambda: 1.1, "c": lambda: slow[0]})
    while len(world.sizes) < 60:
        world.step()
    assert world.sizes[-20:] == [2] * 20
    slow[0] = 1.2
    while len(world.sizes) < 160:
        world.step()
    assert world.sizes[-20:] == [3] * 20


def test_an_update_that_waits_for_one_that_hangs_is_closed_by_the_others() -> None:
    hangs = [1.0]
    world = World(QuorumRange(1, 3), {"a": lambda: 1.0, "b": lambda: 1.0, "c": lambda: hangs[0]})
    while len(world.sizes) < 40:
        world.step()
    assert world.sizes[-1] == 3
    hangs[0] = 1e9
    while world.next_due < 1e8:
        world.step()
    num_closed, stood_still_at = len(world.sizes), world.now
    while len(world.sizes) == num_closed:
        world.now += 1.0
        world.look()
    assert world.sizes[-1] == 2 and world.now - stood_still_at < 5


def test_an_update_that_was_held_does_not_wait_for_ever_for_one_that_came_late_to_it_and_died() -> None:
    quorum = Quorum(QuorumRange(2, 3), version=0, generation=1)

    def commit(name: str, version: int, at: float) -> str:
        return quorum.commit(Commit(name, 1, version), at)[0].reason

    for version, at in ((0, 1.0), (1, 2.0)):
        reasons = [commit(name, version, at + 0.1 * late) for late, name in enumerate("abc")]
        assert reasons == ["", "", "late"], "of c it is not known how long it takes"
    quorum.hold()
    assert [commit(name, 2, 3.0) for name in "abc"] == ["", "", "late"]
    closed = quorum.release(3.0)
    assert closed is not None and closed.senders == ("a", "b")
    # It has taken as long as the others, and is waited for; it never comes.
    assert [commit(name, 3, 4.0) for name in "ab"] == ["", ""] and quorum.version == 3
    assert quorum.look(4.4) is None
    closed = quorum.look(5.0)
    assert closed is not None and closed.senders == ("a", "b")


def test_one_that_was_started_in_place_of_another_pushes_it_out() -> None:
    size = QuorumSize(QuorumRange(1, 2))
    for at in range(5):
        for sender in ("worker-0/1", "worker-1/1"):
            size.committed(sender, float(at), waits=False)
    for at in range(5, 10):
        for sender in ("worker-0/1", "worker-1/2"):
            size.committed(sender, float(at), waits=False)
    assert len(size.seconds(at=9.0)) == 2 and max(size.seconds(at=9.0)) == 1.0
