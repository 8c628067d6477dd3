"""The leader between commits and shards, with words that get lost."""

import threading

import numpy as np
import pytest

from pipeline.errors import BrokenQuorumError, CallTimeoutError, RemoteLostError
from pipeline.interfaces import ClosedUpdate, Commit, CommitAnswer, Push
from pipeline.param_server.leader import DirectLeader, QuorumLeader
from pipeline.param_server.quorum import Quorum
from tests.param_server.synchronous_server import SynchronousServer

ONES = np.ones(3, np.float32)


def server_with_a_lost_word() -> SynchronousServer:
    """Version 1 is closed and applied by shard 0; shard 1 has not heard of it."""
    server = SynchronousServer([1.0, 2.0, 3.0])
    server.handles[1].lose()
    for sender in ("worker-0", "worker-1"):
        assert server.push(sender, ONES, 0) == ""
    assert server.versions == [1, 0]
    return server


def test_the_commit_that_completes_a_quorum_has_the_update_applied_by_all_shards() -> None:
    server = SynchronousServer([1.0, 2.0, 3.0])
    server.push("worker-0", ONES, 0)
    assert server.versions == [0, 0]
    server.push("worker-1", ONES, 0)
    assert server.versions == [1, 1]
    assert [handle.told for handle in server.handles] == [[ClosedUpdate(1, 0, ("worker-0", "worker-1"))]] * 2


def test_a_shard_that_does_not_answer_holds_up_nobody() -> None:
    server = server_with_a_lost_word()
    assert server.push("worker-2", ONES, 0) == "late"
    assert DirectLeader(server.leader).commit(Commit("worker-3", 1, 0)).result(0.0) == CommitAnswer("late", 1)


@pytest.mark.parametrize(
    "loss", [CallTimeoutError("no answer"), RemoteLostError("connection reset")], ids=["no answer", "broken connection"]
)
def test_a_lost_word_is_said_again_to_the_shard_that_missed_it_and_to_no_other(loss: CallTimeoutError) -> None:
    server = server_with_a_lost_word()
    server.handles[1].loses = loss
    assert server.leader.remind() == 1
    assert server.versions == [1, 0]
    server.handles[1].loses = None
    assert DirectLeader(server.leader).remind().result(0.0) == 1
    assert server.versions == [1, 1]
    assert [len(handle.told) for handle in server.handles] == [1, 3]
    server.leader.remind()
    server.leader.remind()
    assert [len(handle.told) for handle in server.handles] == [1, 3]


def test_a_shard_that_was_put_back_to_an_older_version_breaks_the_quorum_in_words() -> None:
    server = SynchronousServer([1.0, 2.0, 3.0], quorum=1)
    old = SynchronousServer([1.0, 2.0, 3.0], quorum=1)
    server.push("worker-0", ONES, 0)
    # A push at version 1 belongs to updates that this shard has lost.
    assert old.shards[1].push(Push(ONES[2:], "worker-0", 1, 1, 1)).reason == "old_generation"
    mixed = QuorumLeader(Quorum(1, 1, 1), [server.handles[0], old.handles[1]])
    server.client("worker-0").push(ONES, (1, 1))
    with pytest.raises(BrokenQuorumError, match="version 0 was told to apply the update of version 1"):
        mixed.commit(Commit("worker-0", 1, 1))


def test_the_refusal_of_a_shard_elsewhere_comes_out_when_somebody_asks() -> None:
    server = server_with_a_lost_word()
    server.handles[1].loses = BrokenQuorumError("at version 0, told to apply version 1")
    server.leader.remind()
    with pytest.raises(BrokenQuorumError, match="told to apply version 1"):
        server.leader.remind()


def test_held_updates_wait_and_are_applied_at_the_release() -> None:
    server = SynchronousServer([1.0, 2.0, 3.0])
    assert server.leader.hold() == 0
    reasons = [server.push(f"worker-{i}", ONES, 0) for i in (2, 0, 1)]
    assert reasons == ["", "", "late"] and server.versions == [0, 0]
    assert server.snapshot().versions == (0, 0)
    assert server.leader.release() == 1
    assert server.versions == [1, 1]
    assert server.handles[0].told == [ClosedUpdate(1, 0, ("worker-0", "worker-2"))]


def test_a_leader_lost_between_two_words_costs_what_came_after_the_last_cut() -> None:
    lost = SynchronousServer([1.0, 2.0, 3.0])
    undisturbed = SynchronousServer([1.0, 2.0, 3.0])
    for server in (lost, undisturbed):
        for sender in ("worker-0", "worker-1"):
            server.push(sender, ONES, 0)
    cut = lost.snapshot()
    lost.handles[1].lose()
    for sender in ("worker-0", "worker-1"):
        lost.push(sender, -ONES, 1)
    assert lost.versions == [2, 1]

    again = SynchronousServer(cut, quorum=3, generation=2)
    assert again.versions == [1, 1]
    # Nobody of the old generation has a say, whatever was kept or closed there.
    ghost = Push(ONES[:2], "worker-0", 1, 2, 1)
    assert again.shards[0].push(ghost).reason == "old_generation"
    assert again.leader.commit(Commit("worker-0", 1, 1)).reason == "old_generation"
    with pytest.raises(BrokenQuorumError, match="generation 1"):
        again.shards[1].apply(ClosedUpdate(1, 1, ("worker-0", "worker-1")))
    for sender in ("worker-0/2", "worker-1/2", "worker-2/1"):
        again.push(sender, 2 * ONES, 1)
    for sender in ("worker-0", "worker-1"):
        undisturbed.push(sender, 2 * ONES, 1)
    assert again.versions == [2, 2]
    np.testing.assert_array_equal(again.snapshot().params, undisturbed.snapshot().params)


def test_commits_of_many_threads_close_each_version_once() -> None:
    num_workers, num_updates = 4, 50
    server = SynchronousServer(np.zeros(8), quorum=3)

    def work(sender: str) -> None:
        client = server.client(sender)
        versions: tuple[int, ...] = (0, 0)
        while versions[0] < num_updates:
            client.push(np.ones(8, np.float32), versions)
            while not client.ready(60.0):
                pass
            versions = tuple(server.versions[:1] * 2)

    threads = [threading.Thread(target=work, args=(f"worker-{i}",)) for i in range(num_workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert server.versions == [num_updates] * 2
    told = server.handles[0].told
    assert [update.version for update in told] == list(range(num_updates)) and told == server.handles[1].told
    assert all(len(set(update.senders)) == 3 for update in told)
    # All gradients were ones: so were all means.
    np.testing.assert_array_equal(server.snapshot().slots["sum_of_squares"], np.full(8, num_updates, np.float32))
