"""Whole-server snapshots: cut and joined without loss, and cut again for another number of shards."""

import numpy as np
import pytest

from pipeline.errors import CheckpointError
from pipeline.optimizers.optimizer import OptimizerConfig
from pipeline.param_server.layout import ParamLayout
from pipeline.param_server.snapshot import ServerSnapshot, first_snapshot, merge_snapshots, split_snapshot
from tests.param_server.conftest import MakeServer


def _snapshot(versions: tuple[int, ...], target_versions: tuple[int, ...]) -> ServerSnapshot:
    values = np.arange(7, dtype=np.float32)
    return ServerSnapshot(versions, values, target_versions, values + 10, {"mean": values + 20})


def test_split_and_merge_with_the_same_number_of_shards_lose_nothing() -> None:
    whole = _snapshot((5, 3, 4), (4, 2, 4))
    shards = split_snapshot(whole, ParamLayout(7, 3))
    assert [(shard.version, shard.target_version) for shard in shards] == [(5, 4), (3, 2), (4, 4)]
    np.testing.assert_array_equal(shards[1].params, [3, 4])
    np.testing.assert_array_equal(shards[1].target, [13, 14])
    np.testing.assert_array_equal(shards[1].slots["mean"], [23, 24])
    np.testing.assert_equal(merge_snapshots(shards)._asdict(), whole._asdict())


@pytest.mark.parametrize("num_shards", [1, 2, 7])
def test_another_number_of_shards_starts_at_the_oldest_version(num_shards: int) -> None:
    shards = split_snapshot(_snapshot((5, 3, 4), (4, 2, 4)), ParamLayout(7, num_shards))
    assert {(shard.version, shard.target_version) for shard in shards} == {(3, 2)}
    np.testing.assert_array_equal(np.concatenate([shard.params for shard in shards]), np.arange(7))


def test_the_servers_version_is_the_oldest_of_its_shards() -> None:
    assert _snapshot((5, 3, 4), (4, 2, 4)).version == 3


def test_slices_of_a_split_are_copies() -> None:
    whole = _snapshot((1,), (0,))
    (shard,) = split_snapshot(whole, ParamLayout(7, 1))
    for array in (shard.params, shard.target, shard.slots["mean"]):
        array[:] = -1
    assert whole.params.min() == 0
    assert whole.target.min() == 10
    assert whole.slots["mean"].min() == 20


def test_a_snapshot_of_another_network_is_refused_with_both_numbers() -> None:
    with pytest.raises(CheckpointError, match="7 parameters, the network has 8"):
        split_snapshot(_snapshot((1,), (0,)), ParamLayout(8, 2))


def test_a_first_snapshot_has_the_target_equal_to_the_parameters() -> None:
    first = first_snapshot(np.arange(3, dtype=np.float32))
    assert first.version == 0
    np.testing.assert_array_equal(first.target, first.params)


@pytest.mark.parametrize(("before", "after"), [(1, 3), (3, 3), (3, 1), (7, 2)])
def test_a_server_resumed_with_any_number_of_shards_equals_one_that_was_never_interrupted(
    make_server: MakeServer, optimizer: OptimizerConfig, before: int, after: int
) -> None:
    rng = np.random.default_rng(0)
    start = rng.standard_normal(101).astype(np.float32)
    gradients = rng.standard_normal((10, 101)).astype(np.float32)
    whole = make_server(start, optimizer, target_period_updates=3)
    first = make_server(start, optimizer, target_period_updates=3, num_shards=before)
    for server, part in ((whole, gradients), (first, gradients[:5])):
        client = server.client()
        for gradient in part:
            client.push(gradient, server.copy().pull().versions)

    saved = merge_snapshots([shard.snapshot() for shard in first.shards])
    second = make_server(saved, optimizer, generation=2, target_period_updates=3, num_shards=after)
    client = second.client()
    for gradient in gradients[5:]:
        assert all(receipt.admitted for receipt in client.push(gradient, second.copy().pull().versions))

    ended = merge_snapshots([shard.snapshot() for shard in second.shards])
    expected = merge_snapshots([shard.snapshot() for shard in whole.shards])
    assert ended.versions == expected.versions * after
    assert ended.target_versions == (9,) * after
    np.testing.assert_array_equal(ended.params, expected.params)
    np.testing.assert_array_equal(ended.target, expected.target)
    np.testing.assert_equal(ended.slots, expected.slots)


def test_a_snapshot_of_shards_at_different_versions_can_be_put_back_to_the_oldest() -> None:
    apart = _snapshot((5, 3, 4), (4, 2, 4))
    level = apart.at_one_version()
    assert level.versions == (3, 3, 3) and level.version == apart.version
    assert level._replace(versions=apart.versions) == apart
