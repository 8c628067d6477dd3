"""One contract for shards, wherever they live: in the same thread, in the same process, in another process."""

import os
import sys
import threading
import traceback
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from distributed import Client

from pipeline.cluster.remotes.shards import HostedShard, OverlappedShard, RemoteShard, ShardAddress
from pipeline.cluster.session import Session, Task
from pipeline.errors import CallTimeoutError, RemoteLostError
from pipeline.interfaces import PulledSlice, Push, ShardHandle
from pipeline.optimizers.config import AdaGradConfig
from pipeline.param_server.layout import ParamLayout
from pipeline.param_server.shard import DirectShard, ParameterShard
from pipeline.param_server.slices import sliced
from pipeline.param_server.snapshot import ShardSnapshot, first_snapshot, split_snapshot
from pipeline.types import FactoredGradient, Float32Array, Receipt
from tests.clusters import LIMIT_SECONDS, kill_host, wait_until
from tests.param_server.configs import server_config

ADAGRAD = AdaGradConfig(
    kind="adagrad", learning_rate=0.1, learning_rate_changes=(), epsilon=1e-6, initial_accumulator=0.0
)
SERVER = server_config(max_staleness=2, target_period_updates=3)
GENERATION = 5
SIZE = 40_001  # enough that Dask sends it as a buffer of its own

MakeShard = Callable[[], ShardHandle]


def start() -> ShardSnapshot:
    snapshot = first_snapshot(np.linspace(-1, 1, SIZE, dtype=np.float32))
    return split_snapshot(snapshot, ParamLayout(SIZE, 1))[0]


def gradient(number: int) -> Float32Array:
    return np.random.default_rng(number).standard_normal(SIZE, dtype=np.float32)


def push_of(number: int, computed_at: int, generation: int = GENERATION) -> Push:
    return Push(gradient(number), "bundle-0", generation, number, computed_at)


def host_shard(session: Session, kind: type[HostedShard] = HostedShard) -> ShardAddress:
    name = f"shard-0-{uuid.uuid4().hex}"
    host = min(session.hosts)
    future = session.submit(kind, name, start(), ADAGRAD, SERVER, GENERATION, host=host, name="shard-0", actor=True)
    _KEPT.append(future)  # Dask frees an actor when its last future goes
    return ShardAddress(name, future.result(timeout=LIMIT_SECONDS))


_KEPT: list[Task] = []


@pytest.fixture(scope="module", autouse=True)
def forget_shards(threads_session: Session, processes_session: Session) -> Iterator[None]:
    yield
    _KEPT.clear()


@pytest.fixture(params=["same thread", "same process", "other process", "shared memory"])
def make_shard(request: pytest.FixtureRequest, threads_session: Session, processes_session: Session) -> MakeShard:
    """A new shard at each call."""

    def in_this_thread() -> ShardHandle:
        return DirectShard(ParameterShard(start(), ADAGRAD, SERVER, GENERATION))

    def behind(session: Session, handle_type: type) -> MakeShard:
        def make() -> ShardHandle:
            handle = host_shard(session).connect()
            assert type(handle) is handle_type
            return handle

        return make

    return {
        "same thread": in_this_thread,
        "same process": behind(threads_session, DirectShard),
        "other process": behind(processes_session, RemoteShard),
        "shared memory": lambda: sharing(behind(processes_session, RemoteShard)()),
    }[request.param]


def push(shard: ShardHandle, pushed: Push) -> Receipt:
    return shard.push(pushed).result(LIMIT_SECONDS)


def pull(shard: ShardHandle, known_version: int = -1) -> PulledSlice:
    return shard.pull(known_version).result(LIMIT_SECONDS)


def pulled(shard: ShardHandle) -> Float32Array:
    copy = np.full(SIZE, np.nan, np.float32)
    shard.read(-1, partial(np.copyto, copy)).result(LIMIT_SECONDS)
    return copy


def sharing(shard: ShardHandle) -> ShardHandle:
    """The same, once slices lie in memory of both processes."""
    assert isinstance(shard, RemoteShard)
    pulled(shard)
    lane = shard._lane
    wait_until(lane._is_taken, "the shard sees the memory")
    return shard


def test_a_pull_gives_the_slice_and_a_known_version_nothing(make_shard: MakeShard) -> None:
    shard = make_shard()
    assert pull(shard).version == 0
    np.testing.assert_array_equal(pulled(shard), start().params)
    assert pull(shard, 0) == PulledSlice(0, None)


def test_a_read_hands_over_the_slice_and_for_a_known_version_nothing(make_shard: MakeShard) -> None:
    shard = make_shard()
    copy = np.zeros(SIZE, np.float32)
    assert shard.read(-1, partial(np.copyto, copy)).result(LIMIT_SECONDS) == 0
    np.testing.assert_array_equal(copy, start().params)
    copy[:] = np.nan
    assert shard.read(0, partial(np.copyto, copy)).result(LIMIT_SECONDS) == 0
    assert np.isnan(copy).all()
    push(shard, push_of(1, computed_at=0))
    assert shard.read(0, partial(np.copyto, copy)).result(LIMIT_SECONDS) == 1
    np.testing.assert_array_equal(copy, pulled(shard))


def test_every_push_gets_a_receipt_and_is_applied_at_most_once(make_shard: MakeShard) -> None:
    shard = make_shard()
    receipts = [push(shard, push_of(number, computed_at)) for number, computed_at in ((1, 0), (1, 0), (2, 0), (1, 2))]
    assert receipts == [
        Receipt(True, "", 1, 0),
        Receipt(False, "duplicate", 1, 1),
        Receipt(True, "", 2, 1),
        Receipt(False, "duplicate", 2, 0),
    ]


def test_a_push_of_factors_is_that_of_the_numbers_that_they_stand_for(make_shard: MakeShard) -> None:
    shard, reference = make_shard(), make_shard()
    rng = np.random.default_rng(0)
    # Whole numbers: no sum is rounded, whatever its order.
    rest, delta, inputs = (rng.integers(-4, 5, shape).astype(np.float32) for shape in ((2,), (8, 201), (8, 199)))
    (slice_,) = sliced(FactoredGradient(rest, 1, delta, inputs), ParamLayout(SIZE, 1), "float32")
    numbers = np.concatenate([rest[:1], (delta.T @ inputs).ravel(), rest[1:]])
    for one, pushed in ((shard, slice_), (reference, numbers)):
        assert push(one, push_of(1, computed_at=0)._replace(gradient=pushed)) == Receipt(True, "", 1, 0)
    np.testing.assert_array_equal(pulled(shard), pulled(reference))


def test_a_push_of_another_generation_or_too_old_changes_nothing(make_shard: MakeShard) -> None:
    shard = make_shard()
    for number in (1, 2, 3):
        push(shard, push_of(number, computed_at=number - 1))
    before = pulled(shard).copy()
    assert push(shard, push_of(4, computed_at=3, generation=GENERATION - 1)).reason == "old_generation"
    assert push(shard, push_of(4, computed_at=0)).reason == "stale"
    assert pull(shard).version == 3
    np.testing.assert_array_equal(pulled(shard), before)


def test_the_target_is_renewed_every_period_and_only_then(make_shard: MakeShard) -> None:
    shard = make_shard()
    for number in (1, 2, 3):
        assert shard.pull_target(0).result(LIMIT_SECONDS) == PulledSlice(0, None)
        push(shard, push_of(number, computed_at=number - 1))
    at_three = pulled(shard).copy()
    push(shard, push_of(4, computed_at=3))
    version, target = shard.pull_target(0).result(LIMIT_SECONDS)
    assert version == 3 and target is not None
    np.testing.assert_array_equal(target, at_three)
    assert not np.array_equal(pulled(shard), at_three)


def test_an_array_that_was_handed_out_never_changes(make_shard: MakeShard) -> None:
    shard = make_shard()
    handed_out = [pulled(shard), shard.pull_target(-1).result(LIMIT_SECONDS).params]
    copies = [np.array(array) for array in handed_out]
    sent = push_of(1, computed_at=0)
    push(shard, sent)
    for number in (2, 3, 4):
        push(shard, push_of(number, computed_at=number - 1))
    for array, copy in zip(handed_out, copies, strict=True):
        np.testing.assert_array_equal(array, copy)
    np.testing.assert_array_equal(sent.gradient, gradient(1))


def test_the_memory_of_a_gradient_is_the_caller_s_again_after_the_receipt(make_shard: MakeShard) -> None:
    ours, reference = make_shard(), ParameterShard(start(), ADAGRAD, SERVER, GENERATION)
    buffer = np.empty(SIZE, np.float32)
    for number in (1, 2, 3, 4):
        buffer[:] = gradient(number)
        push(ours, push_of(number, computed_at=number - 1)._replace(gradient=buffer))
        buffer[:] = np.nan
        reference.push(push_of(number, computed_at=number - 1))
    np.testing.assert_array_equal(pulled(ours), reference.pull(-1).params)


def test_a_mistake_of_the_caller_comes_back_as_what_it_is(make_shard: MakeShard) -> None:
    short = Push(np.zeros(3, np.float32), "bundle-0", GENERATION, 1, 0)
    with pytest.raises(ValueError, match=r"\(3,\).*\(40001,\)"):
        push(make_shard(), short)


def test_a_python_that_cannot_make_such_memory_sends_slices_through_the_socket(
    processes_session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As one that was built against an old glibc, on a system that could.
    monkeypatch.delattr(os, "memfd_create", raising=False)
    shard = host_shard(processes_session).connect()
    assert isinstance(shard, RemoteShard)
    pulled(shard)
    assert push(shard, push_of(1, computed_at=0)).admitted
    assert not np.array_equal(pulled(shard), start().params)
    assert not shard._lane._is_possible


def test_an_overlapped_read_gives_what_the_one_before_asked_for(processes_session: Session) -> None:
    shard = host_shard(processes_session).connect().overlapped()
    assert isinstance(shard, OverlappedShard)
    copy = np.zeros(SIZE, np.float32)

    def read(known_version: int) -> int:
        version = shard.read(known_version, partial(np.copyto, copy)).result(LIMIT_SECONDS)
        # Calls travel on several connections: without this, the push that follows may overtake what was asked for.
        ahead: Any = shard._ahead
        ahead.pull.result(LIMIT_SECONDS)
        return version

    assert read(-1) == 0
    receipts = []
    for number in (1, 2, 3):
        # The slice of this read was asked for before the push that came last.
        receipts.append(push(shard, push_of(number, computed_at=max(number - 2, 0))))
        assert read(max(number - 2, 0)) == number - 1
    assert [receipt.staleness for receipt in receipts] == [0, 1, 1]
    before = pulled(shard)
    assert read(2) == 3
    np.testing.assert_array_equal(copy, before)


def test_a_shard_of_the_same_process_has_nothing_to_overlap(threads_session: Session) -> None:
    shard = host_shard(threads_session).connect()
    assert shard.overlapped() is shard


def test_a_role_on_a_third_process_reaches_the_same_shard(processes_session: Session) -> None:
    address = host_shard(processes_session)
    task = processes_session.submit(_push_from_here, address, host=max(processes_session.hosts), name="pusher")
    assert task.result(timeout=LIMIT_SECONDS) == ("RemoteShard", Receipt(True, "", 1, 0))
    assert pull(address.connect()).version == 1


def _push_from_here(address: ShardAddress) -> tuple[str, Receipt]:
    shard = address.connect()
    return type(shard).__name__, push(shard, push_of(1, computed_at=0))


def test_a_role_on_the_shard_s_host_calls_it_directly(processes_session: Session) -> None:
    address = host_shard(processes_session)
    task = processes_session.submit(_push_from_here, address, host=min(processes_session.hosts), name="pusher")
    assert task.result(timeout=LIMIT_SECONDS) == ("DirectShard", Receipt(True, "", 1, 0))


_GO_ON = threading.Event()


def _go_on() -> None:
    _GO_ON.set()


class SlowShard(HostedShard):
    """Answers a pull when its process is told to go on."""

    def pull(self, known_version: int) -> PulledSlice:
        """Wait, then pull."""
        assert _GO_ON.wait(LIMIT_SECONDS)
        return super().pull(known_version)


def test_a_call_past_its_deadline_is_a_timeout_and_the_shard_lives_on(processes_session: Session) -> None:
    shard = host_shard(processes_session, SlowShard).connect()
    with pytest.raises(CallTimeoutError, match=r"pull of shard-0-\w+ did not answer within 0.05 s"):
        shard.pull(-1).result(0.05)
    processes_session.client.run(_go_on)
    assert pull(shard).version == 0


def test_a_client_that_reaches_no_host_itself_calls_through_its_scheduler(
    processes_session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = host_shard(processes_session)
    scheduler: Any = processes_session.client.scheduler
    with Client(scheduler.address, direct_to_workers=False, set_as_default=False) as apart, apart.as_current():
        shard = address.connect()
        with monkeypatch.context() as without_connections:
            without_connections.setattr(apart, "rpc", None)
            assert push(shard, push_of(1, computed_at=0)).admitted
            assert pull(shard).version == 1
    assert pull(address.connect()).version == 1


def test_a_shard_that_its_host_no_longer_holds_is_lost(processes_session: Session) -> None:
    shard = host_shard(processes_session).connect()
    assert pull(shard).version == 0
    _KEPT.pop().cancel(force=True)

    def is_lost() -> bool:
        try:
            pull(shard)
        except RemoteLostError:
            return True
        return False

    wait_until(is_lost, "Dask has forgotten the actor")


def test_a_killed_host_ends_calls_under_way_and_calls_to_come(mortal_session: Session) -> None:
    address = host_shard(mortal_session, SlowShard)
    shard = RemoteShard(address.name, address.actor, connect_seconds=0.5)
    under_way = shard.pull(-1)
    kill_host(mortal_session, min(mortal_session.hosts))
    with pytest.raises(RemoteLostError, match="pull of shard-0"):
        under_way.result(LIMIT_SECONDS)
    for _ in range(2):
        with pytest.raises(RemoteLostError, match="push of shard-0"):
            push(shard, push_of(1, computed_at=0))
    _KEPT.pop()


def test_a_role_that_waits_for_a_killed_host_is_told_so_long_before_its_deadline(mortal_session: Session) -> None:
    address = host_shard(mortal_session, SlowShard)
    task = mortal_session.submit(_pull_from_here, address, host=max(mortal_session.hosts), name="puller")
    wait_until(lambda: any(mortal_session.client.run(_calls_of_this_process).values()), "the call is under way")
    kill_host(mortal_session, min(mortal_session.hosts))
    assert task.result(timeout=LIMIT_SECONDS).startswith("pull of shard-0")
    _KEPT.pop()


def _pull_from_here(address: ShardAddress) -> str:
    try:
        pull(address.connect())
    except RemoteLostError as error:
        return str(error)
    return "it answered"


def _calls_of_this_process() -> int:
    """Slow pulls that wait here."""
    return sum(
        any(frame.filename == __file__ and frame.name == "pull" and "_GO_ON" in (frame.line or "")
            for frame in traceback.extract_stack(top))
        for top in sys._current_frames().values()
    )  # fmt: skip
