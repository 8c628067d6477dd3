"""A worker's end against real shards and a real leader in this thread."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pipeline.errors import CallTimeoutError
from pipeline.interfaces import Call, ClosedUpdate, Commit, CommitAnswer, Push
from pipeline.param_server import synchronous_client
from pipeline.param_server.leader import DirectLeader
from pipeline.param_server.synchronous_client import SynchronousClient, reaches
from pipeline.types import Receipt
from tests.param_server.conftest import Copy, MakeServer
from tests.param_server.synchronous_server import LossyShard, SynchronousServer

START = [1.0, 2.0, 3.0]
ONES = np.ones(3, np.float32)


def follow(server: SynchronousServer, sender: str, **settings: object) -> tuple[SynchronousClient, Copy]:
    client = server.client(sender, **settings)
    return client, Copy(client, size=3)


def noted(calls: list[object], method: Callable[..., Any]) -> Callable[..., Any]:
    """`method`, with the arguments of each call added to `calls`."""

    def call(*args: object) -> Any:
        calls.append(args)
        return method(*args)

    return call


def test_receipts_tell_what_became_of_the_gradient() -> None:
    server = SynchronousServer(START)
    assert server.client("worker-0").push(ONES, (0, 0)) == (Receipt(True, "", 0, 0),) * 2
    assert server.client("worker-1").push(ONES, (0, 0)) == (Receipt(True, "", 0, 0),) * 2
    # The shards are past version 0, and keep nothing of it.
    assert server.client("worker-2").push(ONES, (0, 0)) == (Receipt(False, "late", 1, 1),) * 2


def test_a_gradient_that_is_kept_by_all_shards_and_too_late_for_the_leader_is_late() -> None:
    server = SynchronousServer(START)
    for handle in server.handles:
        handle.lose()
    assert [server.push(f"worker-{i}", ONES, 0) for i in range(3)] == ["", "", "late"]


def test_a_second_gradient_of_a_sender_at_a_version_is_a_duplicate() -> None:
    server = SynchronousServer(START)
    client = server.client("worker-0")
    assert client.push(ONES, (0, 0))[0].reason == ""
    assert [receipt.reason for receipt in client.push(5 * ONES, (0, 0))] == ["duplicate", "duplicate"]
    server.push("worker-1", ONES, 0)
    assert server.handles[0].told == [ClosedUpdate(1, 0, ("worker-0", "worker-1"))]
    assert server.shards[0].snapshot().slots["sum_of_squares"].tolist() == [1.0, 1.0]


def test_a_client_of_an_old_generation_is_told_so() -> None:
    server = SynchronousServer(START, generation=2)
    client = SynchronousClient(server.handles, DirectLeader(server.leader), server.layout, "worker-0", 1, server.config)
    assert {receipt.reason for receipt in client.push(ONES, (0, 0))} == {"old_generation"}


class _SilentShard(LossyShard):
    """Its receipts never come; with `drops` the pushes do not arrive either."""

    drops = False

    def push(self, push: Push) -> "_NoReceipt":  # type: ignore[override]
        if not self.drops:
            super().push(push)
        return _NoReceipt()


class _NoReceipt:
    def result(self, timeout_seconds: float) -> Receipt:
        raise CallTimeoutError("no receipt")


@pytest.mark.parametrize("drops", [False, True], ids=["receipt lost", "push lost"])
def test_a_worker_lost_between_two_shards_has_not_committed_and_is_not_waited_for(drops: bool) -> None:
    server = SynchronousServer(START)
    silent = _SilentShard(server.shards[1])
    silent.drops = drops
    leader = DirectLeader(server.leader)
    dying = SynchronousClient([server.handles[0], silent], leader, server.layout, "worker-0", 1, server.config)
    with pytest.raises(CallTimeoutError, match="no receipt"):
        dying.push(100 * ONES, (0, 0))
    assert [server.push(f"worker-{i}", ONES, 0) for i in (1, 2)] == ["", ""]
    assert server.handles[0].told == [ClosedUpdate(1, 0, ("worker-1", "worker-2"))]
    assert server.snapshot().slots["sum_of_squares"].tolist() == [1.0, 1.0, 1.0]


def test_a_gradient_that_one_shard_refuses_is_not_committed() -> None:
    server = SynchronousServer(START)
    silent = _SilentShard(server.shards[1])
    silent.drops = True
    leader = DirectLeader(server.leader)
    client = SynchronousClient([server.handles[0], silent], leader, server.layout, "worker-0", 1, server.config)
    with pytest.raises(CallTimeoutError):
        client.push(ONES, (0, 0))
    # The first shard has the first gradient, the second one would keep the other: nothing that can be joined.
    again = server.client("worker-0")
    again.push(ONES, (9, 9))  # uses up the first number; no shard keeps it
    assert again.push(-ONES, (0, 0)) == (Receipt(False, "duplicate", 0, 0),) * 2
    assert [server.push(f"worker-{i}", ONES, 0) for i in (1, 2)] == ["", ""]
    assert server.handles[0].told == [ClosedUpdate(1, 0, ("worker-1", "worker-2"))]


def test_a_worker_lost_after_its_commit_counts_and_so_does_the_one_started_again_under_its_new_name() -> None:
    server = SynchronousServer(START)
    assert server.push("worker-0/1", [1.0, 2.0, 3.0], 0) == ""
    assert server.push("worker-0/2", [3.0, 4.0, 5.0], 0) == ""
    assert server.versions == [1, 1]
    # Of the mean, in which both have their part.
    assert server.snapshot().slots["sum_of_squares"].tolist() == [4.0, 9.0, 16.0]


class _Journal(LossyShard):
    """Writes down when it is asked for a receipt and when for its answer."""

    journal: list[str] = []  # noqa: RUF012  # shared on purpose, with the leader's

    def push(self, push: Push) -> "_Noted":  # type: ignore[override]
        self.journal.append("push")
        return _Noted(self.journal, super().push(push))


class _Noted:
    def __init__(self, journal: list[str], call: Call[Receipt]) -> None:
        self._journal = journal
        self._call = call

    def result(self, timeout_seconds: float) -> Receipt:
        self._journal.append("receipt")
        return self._call.result(timeout_seconds)


class _JournalLeader(DirectLeader):
    def commit(self, commit: Commit) -> Call[CommitAnswer]:  # type: ignore[override]
        _Journal.journal.append("commit")
        return super().commit(commit)


def test_the_commit_comes_after_the_receipts_of_all_shards() -> None:
    server = SynchronousServer(START)
    shards = [_Journal(shard) for shard in server.shards]
    client = SynchronousClient(shards, _JournalLeader(server.leader), server.layout, "worker-0", 1, server.config)
    client.push(ONES, (0, 0))
    assert _Journal.journal == ["push", "push", "receipt", "receipt", "commit"]


def test_a_worker_is_ready_at_first_and_then_when_the_update_that_it_pushed_for_is_everywhere() -> None:
    server = SynchronousServer(START)
    client = server.client("worker-0")
    assert client.ready(0.0)
    client.push(ONES, (0, 0))
    assert not client.ready(0.0)
    server.push("worker-1", ONES, 0)
    assert client.ready(0.0) and client.ready(0.0)


def test_a_late_worker_goes_on_with_the_others() -> None:
    server = SynchronousServer(START)
    client = server.client("worker-2")
    for sender in ("worker-0", "worker-1"):
        server.push(sender, ONES, 0)
    client.push(ONES, (0, 0))
    assert client.ready(0.0)
    server.push("worker-0", ONES, 1)
    assert client.push(ONES, (1, 1))[0].admitted


def test_a_lost_apply_is_repaired_by_whoever_waits_for_it() -> None:
    server = SynchronousServer(START)
    client = server.client("worker-0")
    client.push(ONES, (0, 0))
    server.handles[1].lose()
    server.push("worker-1", ONES, 0)
    assert not client.ready(0.0)
    assert server.versions == [1, 0]
    server.handles[1].loses = None
    assert not client.ready(0.0)  # it has reminded the leader
    assert server.versions == [1, 1]
    assert client.ready(0.0)


def test_a_long_wait_reminds_on_its_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synchronous_client, "_REMIND_SECONDS", 0.001)
    server = SynchronousServer(START)
    client = server.client("worker-0")
    client.push(ONES, (0, 0))
    server.handles[1].lose()
    server.push("worker-1", ONES, 0)
    server.handles[1].loses = None
    assert reaches(server.handles, DirectLeader(server.leader), 1, wait_seconds=60.0, timeout_seconds=1.0)


def test_a_worker_that_asks_whether_it_is_ready_asks_each_shard_and_the_leader_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(synchronous_client, "_REMIND_SECONDS", 0.001)
    server = SynchronousServer(START)
    client = server.client("worker-0")
    client.push(ONES, (0, 0))
    asked: list[object] = []
    for shard in server.handles:
        monkeypatch.setattr(shard, "wait_version", noted(asked, shard.wait_version))
    monkeypatch.setattr(server.leader, "remind", noted(asked, server.leader.remind))
    assert not client.ready(0.02)
    assert asked == [(1, 0.02), (1, 0.02), ()]


def test_a_pull_brings_all_slices_of_one_version_and_only_what_is_new() -> None:
    server = SynchronousServer(START)
    _, copy = follow(server, "worker-0")
    assert copy.pull().versions == (0, 0) and copy.flat.tolist() == START
    assert copy.pull().loaded == []
    for sender in ("worker-0", "worker-1"):
        server.push(sender, ONES, 0)
    assert copy.pull().versions == (1, 1) and copy.loaded == [0, 2]
    np.testing.assert_array_equal(copy.flat, server.snapshot().params)


def test_a_pull_between_two_applies_waits_for_the_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synchronous_client, "_REMIND_SECONDS", 0.001)
    server = SynchronousServer(START)
    _, copy = follow(server, "worker-2", timeout_seconds=60.0)
    server.handles[1].lose()
    for sender in ("worker-0", "worker-1"):
        server.push(sender, ONES, 0)
    server.handles[1].loses = None
    assert copy.pull().versions == (1, 1)
    np.testing.assert_array_equal(copy.flat, server.snapshot().params)


def test_a_pull_that_finds_no_single_version_until_its_deadline_says_which_it_found() -> None:
    server = SynchronousServer(START)
    _, copy = follow(server, "worker-2", timeout_seconds=0.01)
    server.handles[1].lose()
    for sender in ("worker-0", "worker-1"):
        server.push(sender, ONES, 0)
    with pytest.raises(CallTimeoutError, match=r"after 0.01 s .* different versions \(1, 0\)"):
        copy.pull()


def test_an_overlapping_server_config_overlaps_nothing_here() -> None:
    server = SynchronousServer(START, overlap=True)
    assert server.push("worker-0", ONES, 0) == "" == server.push("worker-1", ONES, 0)
    assert server.versions == [1, 1]


def test_in_bfloat16_the_mean_of_what_travelled_is_applied(make_server: MakeServer) -> None:
    server = SynchronousServer(START, wire_dtype="bfloat16")
    reference = make_server(START, wire_dtype="bfloat16")
    value = 1 + 2.0**-10  # 1 in bfloat16
    for sender in ("worker-0", "worker-1"):
        server.push(sender, [value] * 3, 0)
    reference.client().push(ONES, (0,))
    np.testing.assert_array_equal(server.snapshot().params, reference.shards[0].snapshot().params)


def test_wrong_versions_are_refused_before_anything_is_sent() -> None:
    server = SynchronousServer(START)
    client = server.client("worker-0")
    with pytest.raises(ValueError, match=r"versions \(0, 1\): a synchronous gradient"):
        client.push(ONES, (0, 1))
    with pytest.raises(ValueError, match="1 versions for 2 shards"):
        client.push(ONES, (0,))
    assert server.push("worker-0", ONES, 0) == ""
