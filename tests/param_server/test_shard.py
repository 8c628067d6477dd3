"""One shard: pushes in, receipts out; what is pulled never changes; a snapshot continues where it was taken."""

import copy
import threading
from functools import partial

import numpy as np
import pytest

from pipeline.errors import CheckpointError
from pipeline.interfaces import Push
from pipeline.optimizers.optimizer import OptimizerConfig
from pipeline.param_server.shard import DirectShard, ParameterShard
from pipeline.param_server.snapshot import ShardSnapshot
from pipeline.types import Receipt
from tests.param_server.conftest import CONFIG, OPTIMIZERS, MakeServer, push_of


def test_admission_is_decided_by_generation_then_sequence_then_staleness(make_server: MakeServer) -> None:
    (shard,) = make_server([0.0], max_staleness=2, generation=5).shards
    ours = push_of([1.0], generation=5)
    other = ours._replace(sender="bundle-1")
    table: list[tuple[str, Push, Receipt]] = [
        ("first", ours, Receipt(True, "", 1, 0)),
        ("the same again", ours, Receipt(False, "duplicate", 1, 1)),
        ("another sender counts for itself", other, Receipt(True, "", 2, 1)),
        ("next, as stale as allowed", ours._replace(sequence=2), Receipt(True, "", 3, 2)),
        ("next, one too stale", ours._replace(sequence=3), Receipt(False, "stale", 3, 3)),
        ("that one computed anew under its number", ours._replace(sequence=3, computed_at=3),
         Receipt(False, "duplicate", 3, 0)),
        ("fresh, with a gap in the numbers", ours._replace(sequence=9, computed_at=3), Receipt(True, "", 4, 0)),
        ("one from inside the gap", ours._replace(sequence=8, computed_at=4), Receipt(False, "duplicate", 4, 0)),
        ("duplicate and stale", ours, Receipt(False, "duplicate", 4, 4)),
        ("older generation, duplicate, stale", ours._replace(generation=4), Receipt(False, "old_generation", 4, 4)),
        ("newer generation", ours._replace(generation=6, sequence=10, computed_at=4),
         Receipt(False, "old_generation", 4, 0)),
        ("computed at a version that was lost", ours._replace(sequence=11, computed_at=5),
         Receipt(False, "old_generation", 4, -1)),
        ("the refused numbers are still free", ours._replace(sequence=10, computed_at=4), Receipt(True, "", 5, 0)),
    ]  # fmt: skip
    for name, push, receipt in table:
        assert shard.push(push) == receipt, name


def test_without_a_limit_no_gradient_is_too_stale(make_server: MakeServer) -> None:
    (shard,) = make_server([0.0], max_staleness=None).shards
    receipts = [shard.push(push_of([1.0], sequence=number)) for number in range(1, 101)]
    assert receipts[-1] == Receipt(True, "", 100, 99)


def test_with_limit_zero_only_gradients_of_the_newest_version_count(make_server: MakeServer) -> None:
    (shard,) = make_server([0.0], max_staleness=0).shards
    assert shard.push(push_of([1.0])).admitted
    assert shard.push(push_of([1.0], sequence=2)).reason == "stale"


@pytest.mark.parametrize("dropped", [{"generation": 2}, {"sequence": 1}, {"computed_at": 0}])
def test_a_dropped_gradient_changes_neither_parameters_nor_optimizer(
    make_server: MakeServer, optimizer: OptimizerConfig, dropped: dict[str, int]
) -> None:
    (shard,) = make_server([1.0, 2.0], optimizer, max_staleness=0).shards
    shard.push(push_of([1.0, -1.0]))
    before = shard.snapshot()
    fresh = push_of([9.0, 9.0], sequence=2, computed_at=1)
    assert not shard.push(fresh._replace(**dropped)).admitted  # type: ignore[arg-type]
    np.testing.assert_equal(shard.snapshot()._asdict(), before._asdict())


def test_a_gradient_of_another_length_is_refused_with_both_and_uses_up_no_number(make_server: MakeServer) -> None:
    (shard,) = make_server([0.0, 0.0, 0.0]).shards
    with pytest.raises(ValueError, match=r"\(2,\).*\(3,\)"):
        shard.push(push_of([1.0, 1.0]))
    assert shard.push(push_of([1.0, 1.0, 1.0])).admitted


def test_a_gradient_in_bfloat16_is_applied_at_its_rounded_value(make_server: MakeServer) -> None:
    (shard,) = make_server([0.0], OPTIMIZERS["rmsprop"]).shards
    (same,) = make_server([0.0], OPTIMIZERS["rmsprop"]).shards
    shard.push(push_of([0.0])._replace(gradient=np.array([0x3F81], np.uint16)))
    same.push(push_of([1.0078125]))
    np.testing.assert_array_equal(shard.pull(-1).params, same.pull(-1).params)


def test_a_pull_of_the_known_version_brings_nothing(make_server: MakeServer) -> None:
    (shard,) = make_server([1.0, 2.0]).shards
    version, params = shard.pull(-1)
    assert version == 0
    np.testing.assert_array_equal(params, [1.0, 2.0])
    assert shard.pull(0) == (0, None)
    shard.push(push_of([1.0, 1.0]))
    assert shard.pull(1) == (1, None)
    assert shard.pull(0).params is not None


def test_a_caller_who_knows_a_version_that_was_lost_gets_the_slice(make_server: MakeServer) -> None:
    (shard,) = make_server([1.0]).shards
    assert shard.pull(7).params is not None
    assert shard.pull_target(7).params is not None


@pytest.mark.parametrize("wire_dtype", ["float32", "bfloat16"])
def test_what_was_pulled_never_changes_and_cannot_be_changed(make_server: MakeServer, wire_dtype: str) -> None:
    (shard,) = make_server([1.0, 2.0], wire_dtype=wire_dtype, target_period_updates=1).shards
    shard.push(push_of([1.0, 1.0]))
    pulled = [shard.pull(-1).params, shard.pull_target(-1).params]
    copies = [np.array(array) for array in pulled]
    shard.push(push_of([1.0, 1.0], sequence=2))
    for array, as_it_was in zip(pulled, copies, strict=True):
        assert array is not None
        np.testing.assert_array_equal(array, as_it_was)
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    assert not np.array_equal(copies[0], np.array(shard.pull(-1).params))


@pytest.mark.parametrize("wire_dtype", ["float32", "bfloat16"])
def test_all_pulls_of_one_version_share_one_array(make_server: MakeServer, wire_dtype: str) -> None:
    (shard,) = make_server([1.0, 2.0], wire_dtype=wire_dtype).shards
    assert shard.pull(-1).params is shard.pull(-1).params
    assert shard.pull_target(-1).params is shard.pull_target(-1).params


def test_the_wire_may_be_coarse_but_the_master_parameters_are_not(make_server: MakeServer) -> None:
    start = 1 + 2.0**-20
    (shard,) = make_server([start], wire_dtype="bfloat16").shards
    np.testing.assert_array_equal(shard.pull(-1).params, np.array([0x3F80], np.uint16))
    np.testing.assert_array_equal(shard.snapshot().params, np.array([start], np.float32))
    np.testing.assert_array_equal(shard.snapshot().target, np.array([start], np.float32))


def test_the_target_is_renewed_at_multiples_of_its_period_and_only_there(make_server: MakeServer) -> None:
    (shard,) = make_server([4.0], target_period_updates=3).shards
    history = [np.array(shard.pull(-1).params)]
    seen = []
    for number in range(1, 8):
        shard.push(push_of([1.0], sequence=number))
        history.append(np.array(shard.pull(-1).params))
        version, target = shard.pull_target(-1)
        seen.append(version)
        np.testing.assert_array_equal(target, history[version])
    assert seen == [0, 0, 3, 3, 3, 6, 6]
    assert shard.pull_target(6) == (6, None)


def test_a_dropped_gradient_at_a_multiple_renews_nothing(make_server: MakeServer) -> None:
    (shard,) = make_server([4.0], target_period_updates=2).shards
    for number in (1, 2):
        shard.push(push_of([1.0], sequence=number))
    target = shard.pull_target(-1).params
    assert not shard.push(push_of([1.0], sequence=2)).admitted
    assert shard.pull_target(-1).params is target


def test_a_shard_started_from_a_snapshot_continues_bit_for_bit(
    make_server: MakeServer, optimizer: OptimizerConfig
) -> None:
    rng = np.random.default_rng(0)
    gradients = rng.standard_normal((9, 37)).astype(np.float32)
    (shard,) = make_server(rng.standard_normal(37), optimizer, target_period_updates=4).shards
    for number, gradient in enumerate(gradients[:6], 1):
        shard.push(push_of(gradient, sequence=number))
    config = make_server([0.0], target_period_updates=4).config
    restored = ParameterShard(shard.snapshot(), optimizer, config, generation=2)
    np.testing.assert_equal(restored.snapshot()._asdict(), shard.snapshot()._asdict())
    assert restored.pull_target(-1).version == 4
    for number, gradient in enumerate(gradients[6:], 1):
        shard.push(push_of(gradient, sequence=6 + number, computed_at=6))
        # Senders count anew in a new generation.
        assert restored.push(push_of(gradient, sequence=number, generation=2, computed_at=6)).admitted
    np.testing.assert_equal(restored.snapshot()._asdict(), shard.snapshot()._asdict())


def test_a_snapshot_is_a_copy_on_its_way_out_and_on_its_way_in(
    make_server: MakeServer, optimizer: OptimizerConfig
) -> None:
    (shard,) = make_server([1.0, 2.0], optimizer).shards
    shard.push(push_of([1.0, 1.0]))
    snapshot = shard.snapshot()
    same = copy.deepcopy(snapshot)
    _spoil(snapshot)
    np.testing.assert_equal(shard.snapshot()._asdict(), same._asdict())
    given = shard.snapshot()
    restored = ParameterShard(given, optimizer, CONFIG, 2)
    _spoil(given)
    np.testing.assert_equal(restored.snapshot()._asdict(), same._asdict())


def test_a_snapshot_after_updates_without_optimizer_state_is_refused() -> None:
    zeros = np.zeros(2, np.float32)
    start = ShardSnapshot(version=3, params=zeros, target_version=0, target=zeros, slots={})
    with pytest.raises(CheckpointError, match="sum_of_squares"):
        ParameterShard(start, OPTIMIZERS["adagrad"], CONFIG, 1)


def test_pushes_and_pulls_from_many_threads_lose_nothing(make_server: MakeServer) -> None:
    num_threads, num_pushes, size = 4, 60, 50_000
    (shard,) = make_server(np.zeros(size), OPTIMIZERS["adagrad"], target_period_updates=7).shards
    receipts: list[Receipt] = []
    torn: list[int] = []

    def play(sender: str) -> None:
        live = np.empty(size, np.float32)
        for number in range(1, num_pushes + 1):
            receipts.append(shard.push(push_of(np.ones(size), sender=sender, sequence=number)))
            read = shard.read(-1, partial(np.copyto, live))
            for version, params in (shard.pull(-1), shard.pull_target(-1), (read, live)):
                # All elements have had the same gradients: any two that differ are of two versions.
                if params is None or params.min() != params.max():
                    torn.append(version)

    threads = [threading.Thread(target=play, args=(f"bundle-{index}",)) for index in range(num_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert sorted(receipt.version for receipt in receipts) == list(range(1, num_threads * num_pushes + 1))
    assert torn == []
    np.testing.assert_array_equal(shard.snapshot().slots["sum_of_squares"], np.full(size, 240.0))


def test_a_direct_shard_answers_at_once_with_what_the_shard_says(make_server: MakeServer) -> None:
    (shard,) = make_server([1.0], target_period_updates=1).shards
    direct = DirectShard(shard)
    assert direct.push(push_of([1.0])).result(0.0) == Receipt(True, "", 1, 0)
    assert direct.pull(-1).result(0.0).params is shard.pull(-1).params
    assert direct.pull_target(1).result(0.0) == (1, None)


def test_a_read_gives_the_live_slice_and_a_known_version_nothing(make_server: MakeServer) -> None:
    (shard,) = make_server([1.0, 2.0]).shards
    seen: list[list[float]] = []
    for known_version in (-1, 0):
        assert DirectShard(shard).read(known_version, lambda values: seen.append(values.tolist())).result(0.0) == 0
    assert seen == [[1.0, 2.0]]
    shard.push(push_of([1.0, 1.0]))
    assert shard.read(0, lambda values: seen.append(values.tolist())) == 1
    assert seen[1] == shard.pull(-1).params.tolist()  # type: ignore[union-attr]


def _spoil(snapshot: ShardSnapshot) -> None:
    for array in (snapshot.params, snapshot.target, *snapshot.slots.values()):
        array[:] = -1
