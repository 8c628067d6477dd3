"""The quorum, by pushed commits."""

import pytest

from pipeline.interfaces import ClosedUpdate, Commit, CommitAnswer
from pipeline.param_server.quorum import Quorum


def commit(sender: str, version: int = 0, generation: int = 1) -> Commit:
    return Commit(sender, generation, version)


def test_the_first_n_senders_close_the_update_in_sorted_order_and_the_rest_is_late() -> None:
    quorum = Quorum(size=2, version=0, generation=1)
    assert quorum.commit(commit("worker-2")) == (CommitAnswer("", 0), None)
    assert quorum.commit(commit("worker-0")) == (CommitAnswer("", 1), ClosedUpdate(1, 0, ("worker-0", "worker-2")))
    assert quorum.commit(commit("worker-1")) == (CommitAnswer("late", 1), None)
    assert quorum.commit(commit("worker-1", version=1)) == (CommitAnswer("", 1), None)


def test_a_quorum_of_one_closes_an_update_with_each_commit() -> None:
    quorum = Quorum(size=1, version=5, generation=1)
    for version in (5, 6, 7):
        assert quorum.commit(commit("worker-0", version))[1] == ClosedUpdate(1, version, ("worker-0",))
    assert quorum.version == 8


def test_a_second_commit_of_a_sender_does_not_count() -> None:
    quorum = Quorum(size=2, version=0, generation=1)
    quorum.commit(commit("worker-0"))
    assert quorum.commit(commit("worker-0")) == (CommitAnswer("duplicate", 0), None)
    assert quorum.commit(commit("worker-1"))[1] == ClosedUpdate(1, 0, ("worker-0", "worker-1"))
    # Its update is closed by now: the copy is late, whatever the first one was.
    assert quorum.commit(commit("worker-0")) == (CommitAnswer("late", 1), None)


@pytest.mark.parametrize(("version", "generation"), [(3, 1), (3, 3), (4, 2)], ids=["older", "newer", "yet to come"])
def test_a_commit_of_another_generation_or_of_a_version_yet_to_come_is_forgotten(version: int, generation: int) -> None:
    quorum = Quorum(size=1, version=3, generation=2)
    assert quorum.commit(commit("worker-0", version, generation)) == (CommitAnswer("old_generation", 3), None)
    assert quorum.commit(commit("worker-1", version=3, generation=2))[1] == ClosedUpdate(2, 3, ("worker-1",))


def test_a_worker_that_never_commits_is_missed_by_nobody_as_long_as_n_others_do() -> None:
    quorum = Quorum(size=2, version=0, generation=1)
    for version in (0, 1, 2):
        quorum.commit(commit("worker-1", version))
        closed = quorum.commit(commit("worker-2", version))[1]
        assert closed is not None and "worker-0" not in closed.senders
    assert quorum.version == 3


def test_a_worker_that_is_lost_after_its_commit_counts_and_so_does_the_one_started_in_its_place() -> None:
    quorum = Quorum(size=2, version=0, generation=1)
    quorum.commit(commit("worker-0/1"))
    assert quorum.commit(commit("worker-0/2"))[1] == ClosedUpdate(1, 0, ("worker-0/1", "worker-0/2"))


def test_while_updates_are_held_commits_count_and_the_first_n_stay_the_first() -> None:
    quorum = Quorum(size=2, version=4, generation=1)
    quorum.commit(commit("worker-2", version=4))
    assert quorum.hold() == 4
    assert quorum.commit(commit("worker-1", version=4)) == (CommitAnswer("", 4), None)
    assert quorum.commit(commit("worker-0", version=4)) == (CommitAnswer("late", 4), None)
    assert quorum.commit(commit("worker-2", version=4)) == (CommitAnswer("duplicate", 4), None)
    assert quorum.release() == ClosedUpdate(1, 4, ("worker-1", "worker-2"))
    assert quorum.version == 5


def test_a_release_without_a_complete_quorum_or_without_a_hold_closes_nothing() -> None:
    quorum = Quorum(size=2, version=0, generation=1)
    assert quorum.release() is None
    quorum.hold()
    quorum.commit(commit("worker-0"))
    assert quorum.release() is None
    assert quorum.commit(commit("worker-1"))[1] == ClosedUpdate(1, 0, ("worker-0", "worker-1"))


def test_another_generation_may_have_another_quorum_and_goes_on_at_its_version() -> None:
    quorum = Quorum(size=3, version=7, generation=2)
    assert quorum.commit(commit("worker-0/1", version=7, generation=1))[0].reason == "old_generation"
    for sender in ("worker-4", "worker-0/2"):
        assert quorum.commit(commit(sender, version=7, generation=2))[1] is None
    closed = quorum.commit(commit("worker-3", version=7, generation=2))[1]
    assert closed == ClosedUpdate(2, 7, ("worker-0/2", "worker-3", "worker-4"))
