"""A synchronous shard: what it keeps, what it applies, who it wakes."""

import threading

import numpy as np
import numpy.typing as npt
import pytest

from pipeline.errors import BrokenQuorumError
from pipeline.interfaces import ClosedUpdate, Push
from pipeline.optimizers.optimizer import OptimizerConfig
from pipeline.param_server.synchronous import DirectSynchronousShard, SynchronousShard
from pipeline.param_server.wire import encode
from pipeline.types import Receipt
from tests.param_server.conftest import MakeServer, push_of
from tests.param_server.synchronous_server import SynchronousServer, assert_equals_unsharded, mean_in_order


def one_shard(start: npt.ArrayLike = (1.0, 2.0), **settings: object) -> SynchronousShard:
    (shard,) = SynchronousServer(start, num_shards=1, **settings).shards  # type: ignore[arg-type]
    return shard


def gradient_of(sender: str, gradient: npt.ArrayLike = (1.0, 1.0), version: int = 0, sequence: int = 1) -> Push:
    return push_of(gradient, sender=sender, computed_at=version, sequence=sequence)


def update(*senders: str, version: int = 0, generation: int = 1) -> ClosedUpdate:
    return ClosedUpdate(generation, version, senders)


def params(shard: SynchronousShard) -> list[float]:
    found: list[float] = shard.snapshot().params.tolist()
    return found


def test_a_push_is_kept_and_changes_nothing() -> None:
    shard = one_shard()
    assert shard.push(gradient_of("worker-0")) == Receipt(True, "", 0, 0)
    assert shard.version == 0 and params(shard) == [1.0, 2.0]


@pytest.mark.parametrize(
    ("push", "receipt"),
    [
        (gradient_of("worker-0", version=1), Receipt(True, "", 1, 0)),
        (gradient_of("worker-0", version=0), Receipt(False, "late", 1, 1)),
        (gradient_of("worker-0", version=2), Receipt(False, "old_generation", 1, -1)),
        (gradient_of("worker-0", version=1)._replace(generation=2), Receipt(False, "old_generation", 1, 0)),
        (gradient_of("worker-1", version=1), Receipt(True, "", 1, 0)),
        (gradient_of("worker-1", [5.0, 5.0], version=1, sequence=2), Receipt(False, "duplicate", 1, 0)),
    ],
    ids=["new", "past", "yet to come", "other generation", "copy", "another one"],
)
def test_each_push_gets_the_receipt_that_it_deserves(push: Push, receipt: Receipt) -> None:
    shard = one_shard()
    shard.push(gradient_of("worker-1"))
    shard.apply(update("worker-1"))
    shard.push(gradient_of("worker-1", version=1))
    assert shard.push(push) == receipt


def test_of_two_gradients_of_one_sender_at_one_version_the_first_is_applied() -> None:
    shard, plain = one_shard(), one_shard()
    for ours in (shard, plain):
        ours.push(gradient_of("worker-0"))
    shard.push(gradient_of("worker-0", [-5.0, 5.0]))
    shard.push(gradient_of("worker-0", [-5.0, 5.0], sequence=2))
    for ours in (shard, plain):
        ours.apply(update("worker-0"))
    assert params(shard) == params(plain)


def test_an_update_is_the_mean_of_exactly_its_senders_and_forgets_the_rest(make_server: MakeServer) -> None:
    shard = one_shard()
    for sender, value in (("worker-0", 1.0), ("worker-1", 100.0), ("worker-2", 3.0)):
        shard.push(gradient_of(sender, [value, -value]))
    assert shard.apply(update("worker-0", "worker-2")) == 1
    (reference,) = make_server([1.0, 2.0]).shards
    reference.push(push_of([2.0, -2.0]))
    assert params(shard) == reference.snapshot().params.tolist()
    # AdaGrad's first step is as large for any multiple of a gradient; what it sums up is not.
    assert shard.snapshot().slots["sum_of_squares"].tolist() == [4.0, 4.0]
    with pytest.raises(BrokenQuorumError, match="no gradient of worker-1 is kept"):
        shard.apply(update("worker-1", version=1))


def test_to_apply_an_update_twice_does_no_harm() -> None:
    shard = one_shard()
    shard.push(gradient_of("worker-0"))
    assert shard.apply(update("worker-0")) == 1
    before = params(shard)
    assert shard.apply(update("worker-0")) == 1
    assert params(shard) == before


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (
            update("worker-0", version=2),
            "version 1 .*update of version 2, but the updates before it were never applied",
        ),
        (update("worker-0", "worker-1", "worker-2", version=1), "no gradient of worker-1, worker-2 is kept here"),
        (update("worker-0", version=0, generation=2), "generation 1 .* it is of generation 2"),
    ],
    ids=["yet to come", "without a slice", "other generation"],
)
def test_what_no_leader_of_this_shard_would_ask_is_refused_in_words(asked: ClosedUpdate, words: str) -> None:
    shard = one_shard()
    for version in (0, 1):
        shard.push(gradient_of("worker-0", version=version))
        if version == 0:
            shard.apply(update("worker-0"))
    before = params(shard)
    with pytest.raises(BrokenQuorumError, match=words):
        shard.apply(asked)
    assert shard.version == 1 and params(shard) == before
    assert shard.apply(update("worker-0", version=1)) == 2


@pytest.mark.parametrize("num_shards", [1, 2, 3, 7])
def test_updates_equal_the_mean_of_the_gradients_applied_by_one_optimizer_bit_for_bit(
    make_server: MakeServer, optimizer: OptimizerConfig, num_shards: int
) -> None:
    rng = np.random.default_rng(0)
    start = rng.standard_normal(1_001).astype(np.float32)
    server = SynchronousServer(start, quorum=3, optimizer=optimizer, num_shards=num_shards, target_period_updates=2)
    reference = make_server(start, optimizer, target_period_updates=2)
    client = reference.client()
    for version in range(4):
        gradients = rng.standard_normal((3, start.size)).astype(np.float32)
        for worker in rng.permutation(3):
            server.push(f"worker-{worker}", gradients[worker], version)
        client.push(mean_in_order(list(gradients)), (version,))
    assert_equals_unsharded(server, reference)
    np.testing.assert_array_equal(server.snapshot().target, reference.shards[0].snapshot().target)


def test_the_order_in_which_gradients_arrive_makes_no_difference() -> None:
    # 1e8 + 1 is 1e8 in float32: another order gives another sum.
    gradients = {"worker-0": 1e8, "worker-1": 1.0, "worker-2": -1e8}
    servers = [SynchronousServer([1.0, 1.0], quorum=3) for _ in range(2)]
    for server, order in zip(servers, (sorted(gradients), ["worker-2", "worker-0", "worker-1"]), strict=True):
        for sender in order:
            server.push(sender, [gradients[sender]] * 2, 0)
    for server in servers:
        assert server.versions == [1, 1] and server.snapshot().params.tolist() == [1.0, 1.0]


def test_the_memory_of_a_gradient_may_be_used_again_when_its_sender_is_ready() -> None:
    reused, fresh = (SynchronousServer([1.0, 2.0, 3.0], quorum=1) for _ in range(2))
    clients = [reused.client(sender) for sender in ("worker-0", "worker-1")]
    memory = np.empty(3, np.float32)
    for version, (quick, late) in enumerate([clients, clients[::-1]]):
        memory[:] = version + 1.0
        kept_too_late = memory.copy()
        for shard, part in zip(reused.shards, reused.layout.cut(kept_too_late), strict=True):
            assert shard.push(push_of(part, sender="late", computed_at=version)).admitted
        quick.push(memory, (version, version))
        late.push(kept_too_late, (version, version))
        assert quick.ready(0.0) and late.ready(0.0)
        memory[:] = kept_too_late[:] = np.nan
        fresh.push("worker-0", [version + 1.0] * 3, version)
    np.testing.assert_array_equal(reused.snapshot().params, fresh.snapshot().params)


def test_gradients_that_travelled_in_bfloat16_are_averaged_in_float32(make_server: MakeServer) -> None:
    shard = one_shard([0.0, 0.0])
    values = {"worker-0": 1.0, "worker-1": 1 + 2.0**-7}
    for sender, value in values.items():
        wire = encode(np.array([value, value], np.float32), "bfloat16")
        shard.push(gradient_of(sender)._replace(gradient=wire))
    shard.apply(update(*values))
    (reference,) = make_server([0.0, 0.0]).shards
    reference.push(push_of([1 + 2.0**-8] * 2))  # no bfloat16
    np.testing.assert_array_equal(
        shard.snapshot().slots["sum_of_squares"], reference.snapshot().slots["sum_of_squares"]
    )


def test_a_slice_of_another_length_is_refused_with_both_numbers() -> None:
    with pytest.raises(ValueError, match=r"\(3,\).*\(2,\)"):
        one_shard().push(gradient_of("worker-0", [1.0, 2.0, 3.0]))


def test_a_shard_goes_on_from_a_snapshot_at_its_version_and_with_nothing_kept() -> None:
    server = SynchronousServer([1.0, 2.0], quorum=1)
    server.push("worker-0", [1.0, 1.0], 0)
    server.client("worker-1").push(np.ones(2, np.float32), (1, 1))
    server.leader.hold()
    server.client("worker-0").push(np.ones(2, np.float32), (2, 2))
    resumed = SynchronousServer(server.snapshot(), generation=2)
    assert resumed.versions == [2, 2]
    np.testing.assert_array_equal(resumed.snapshot().params, server.snapshot().params)
    with pytest.raises(BrokenQuorumError, match="no gradient of worker-0 is kept"):
        resumed.shards[0].apply(update("worker-0", version=2, generation=2))


def test_a_wait_ends_with_the_version_or_with_its_time() -> None:
    shard = one_shard()
    assert shard.wait_version(0, timeout_seconds=60) == 0
    assert shard.wait_version(1, timeout_seconds=0.0) == 0
    waiting = DirectSynchronousShard(shard).wait_version(1, timeout_seconds=60)
    shard.push(gradient_of("worker-0"))
    shard.apply(update("worker-0"))
    assert waiting.result(0.0) == 1
    assert DirectSynchronousShard(shard).wait_version(5, timeout_seconds=0.0).result(60.0) == 1


def test_whoever_waits_carries_out_an_update_that_was_foretold() -> None:
    shard, told = one_shard(), one_shard()
    for one in (shard, told):
        one.push(gradient_of("worker-0"))
    shard.foretell(update("worker-0"))
    assert shard.version == 0
    assert shard.wait_version(1, timeout_seconds=60) == 1
    assert told.apply(update("worker-0")) == 1
    assert params(shard) == params(told) != [1.0, 2.0]
    assert shard.apply(update("worker-0")) == 1 and params(shard) == params(told)


@pytest.mark.parametrize(
    "foretold",
    [update("worker-0", "worker-1"), update("worker-0", version=1), update("worker-0", generation=2)],
    ids=["without a slice", "yet to come", "other generation"],
)
def test_whoever_waits_does_nothing_that_the_shard_would_refuse(foretold: ClosedUpdate) -> None:
    shard = one_shard()
    shard.push(gradient_of("worker-0"))
    shard.foretell(foretold)
    assert shard.wait_version(1, timeout_seconds=0.01) == 0 and params(shard) == [1.0, 2.0]
    shard.apply(update("worker-0"))
    assert shard.wait_version(1, timeout_seconds=60) == 1


def test_whoever_waits_does_not_wait_for_a_shard_that_is_being_looked_at() -> None:
    shard = one_shard()
    shard.push(gradient_of("worker-0"))
    shard.foretell(update("worker-0"))

    def look(values: object) -> None:
        waiting = threading.Thread(target=shard.wait_version, args=(1, 0.01))
        waiting.start()
        waiting.join(timeout=60)
        assert not waiting.is_alive() and shard.version == 0

    shard.read(-1, look)


def test_a_thread_that_waits_is_woken_by_the_update_and_finds_it_done() -> None:
    shard, seen = one_shard(), list[float]()

    def wait() -> None:
        assert shard.wait_version(1, timeout_seconds=60) == 1
        shard.read(0, lambda values: seen.extend(values.tolist()))

    thread = threading.Thread(target=wait)
    thread.start()
    shard.push(gradient_of("worker-0"))
    shard.apply(update("worker-0"))
    thread.join(timeout=60)
    assert seen == params(shard) != [1.0, 2.0]
