"""The client against real shards in this thread: whole vectors in and out, whatever the cut."""

from dataclasses import replace
from typing import TypeVar

import numpy as np
import pytest

from pipeline.errors import CallTimeoutError
from pipeline.interfaces import Call, Immediate, PulledSlice, Push, ShardHandle
from pipeline.optimizers import OptimizerConfig
from pipeline.param_server.client import ParamClient
from pipeline.param_server.layout import ParamLayout
from pipeline.param_server.shard import DirectShard, ParameterShard
from pipeline.types import Receipt
from tests.param_server.conftest import CONFIG, MakeServer, push_of


@pytest.mark.parametrize("num_shards", [2, 3, 7])
def test_a_sharded_server_equals_an_unsharded_one_bit_for_bit(
    make_server: MakeServer, optimizer: OptimizerConfig, num_shards: int
) -> None:
    rng = np.random.default_rng(0)
    start = rng.standard_normal(1_001).astype(np.float32)
    one = make_server(start, optimizer, target_period_updates=3).client()
    many = make_server(start, optimizer, target_period_updates=3, num_shards=num_shards).client()
    for gradient in rng.standard_normal((5, start.size)).astype(np.float32):
        one.push(gradient, one.pull().versions)
        many.push(gradient, many.pull().versions)
        np.testing.assert_array_equal(many.pull().flat, one.pull().flat)
        np.testing.assert_array_equal(many.pull_target().flat, one.pull_target().flat)
    assert many.pull().versions == (5,) * num_shards
    assert many.pull_target().versions == (3,) * num_shards


@pytest.mark.parametrize("num_shards", [1, 3])
@pytest.mark.parametrize(("wire_dtype", "seen"), [("float32", 1 + 2.0**-10), ("bfloat16", 1.0)])
def test_a_pull_brings_the_start_through_the_wire_and_then_nothing_until_a_push(
    make_server: MakeServer, num_shards: int, wire_dtype: str, seen: float
) -> None:
    start = np.array([1 + 2.0**-10, 2.0, 3.0, 4.0], np.float32)
    client = make_server(start, num_shards=num_shards, wire_dtype=wire_dtype).client()
    for pull in (client.pull, client.pull_target):
        first, second = pull(), pull()
        assert (first.changed, second.changed) == (True, False)
        assert first.versions == second.versions == (0,) * num_shards
        np.testing.assert_array_equal(first.flat, [seen, 2.0, 3.0, 4.0])
        np.testing.assert_array_equal(second.flat, first.flat)
        assert second.flat.dtype == np.float32
    client.push(np.ones(4, np.float32), [0] * num_shards)
    assert client.pull().changed
    assert not client.pull_target().changed


def test_a_pull_mixes_versions_and_reports_the_oldest(make_server: MakeServer) -> None:
    server = make_server([1.0, 2.0, 3.0, 4.0], num_shards=2, target_period_updates=1)
    client = server.client()
    before = client.pull().flat.copy()
    client.pull_target()
    server.shards[1].push(push_of([1.0, 1.0], sender="bundle-9"))
    for params in (client.pull(), client.pull_target()):
        assert params.changed
        assert params.versions == (0, 1)
        assert params.version == 0
        np.testing.assert_array_equal(params.flat[:2], before[:2])
        assert (params.flat[2:] < before[2:]).all()


def test_parameters_and_target_do_not_share_memory(make_server: MakeServer) -> None:
    client = make_server([1.0, 2.0, 3.0], num_shards=2).client()
    params, target = client.pull(), client.pull_target()
    client.push(np.ones(3, np.float32), params.versions)
    assert (client.pull().flat < [1.0, 2.0, 3.0]).all()
    np.testing.assert_array_equal(target.flat, [1.0, 2.0, 3.0])


def test_each_shard_decides_for_itself_and_every_receipt_comes_back(make_server: MakeServer) -> None:
    server = make_server([1.0, 2.0, 3.0], num_shards=3, max_staleness=0)
    client = server.client()
    versions = client.pull().versions
    server.shards[1].push(push_of([1.0], sender="bundle-9"))
    assert client.push(np.ones(3, np.float32), versions) == (
        Receipt(True, "", 1, 0),
        Receipt(False, "stale", 1, 1),
        Receipt(True, "", 1, 0),
    )
    assert [receipt.admitted for receipt in client.push(np.ones(3, np.float32), (1, 1, 1))] == [True] * 3


def test_two_clients_count_their_pushes_apart(make_server: MakeServer) -> None:
    server = make_server([1.0, 2.0], num_shards=2)
    for sender in ("bundle-0", "bundle-1"):
        client = server.client(sender)
        for _ in range(2):
            assert all(receipt.admitted for receipt in client.push(np.ones(2, np.float32), (0, 0)))
    assert server.client().pull().versions == (4, 4)


def test_the_memory_of_a_pushed_gradient_may_be_used_again(make_server: MakeServer, optimizer: OptimizerConfig) -> None:
    reused, fresh = (make_server([1.0, 2.0, 3.0], optimizer, num_shards=2).client() for _ in range(2))
    memory = np.empty(3, np.float32)
    for value in (1.0, -2.0, 3.0):
        memory[:] = value
        reused.push(memory, (0, 0))
        memory[:] = np.nan
        fresh.push(np.full(3, value, np.float32), (0, 0))
    np.testing.assert_array_equal(reused.pull().flat, fresh.pull().flat)


def test_wrong_lengths_are_refused_with_both_numbers_before_anything_is_sent(make_server: MakeServer) -> None:
    server = make_server([1.0, 2.0, 3.0], num_shards=2)
    client = server.client()
    with pytest.raises(ValueError, match=r"\(4,\).*\(3,\)"):
        client.push(np.ones(4, np.float32), (0, 0))
    with pytest.raises(ValueError, match="1 versions for 2 shards"):
        client.push(np.ones(3, np.float32), (0,))
    with pytest.raises(ValueError, match="2 shards for a layout of 3"):
        ParamClient([DirectShard(shard) for shard in server.shards], ParamLayout(3, 3), "bundle-0", 1, CONFIG)
    assert client.pull().versions == (0, 0)


T = TypeVar("T")


class _Journal(ShardHandle):
    """A real shard that writes down when it is called and when it is waited for, and can be made to lose an answer."""

    def __init__(self, name: str, shard: ParameterShard, journal: list[str]) -> None:
        self.name = name
        self.journal = journal
        self.loses_answers = False
        self._shard = shard

    def push(self, push: Push) -> Call[Receipt]:
        self.journal.append(f"push {self.name}")
        return _Answer(self, self._shard.push(push))

    def pull(self, known_version: int) -> Call[PulledSlice]:
        self.journal.append(f"pull {self.name}")
        return _Answer(self, self._shard.pull(known_version))

    def pull_target(self, known_version: int) -> Call[PulledSlice]:
        self.journal.append(f"target {self.name}")
        return _Answer(self, self._shard.pull_target(known_version))


class _Answer(Immediate[T]):
    def __init__(self, asked: _Journal, value: T) -> None:
        super().__init__(value)
        self._asked = asked

    def result(self, timeout_seconds: float) -> T:
        self._asked.journal.append(f"wait {self._asked.name} {timeout_seconds}")
        if self._asked.loses_answers:
            raise CallTimeoutError(f"no answer from {self._asked.name} within {timeout_seconds} s")
        return super().result(timeout_seconds)


def test_all_shards_are_called_before_the_first_answer_is_awaited(make_server: MakeServer) -> None:
    client, handles = _client_with_journal(make_server)
    client.pull()
    client.pull_target()
    client.push(np.ones(2, np.float32), (0, 0))
    waits = ["wait a 0.5", "wait b 0.5"]
    assert handles[0].journal == [
        "pull a",
        "pull b",
        *waits,
        "target a",
        "target b",
        *waits,
        "push a",
        "push b",
        *waits,
    ]


def test_after_a_lost_answer_nothing_is_missed_and_nothing_is_applied_twice(make_server: MakeServer) -> None:
    client, handles = _client_with_journal(make_server)
    handles[1].loses_answers = True
    for failing in (client.pull, client.pull_target, lambda: client.push(np.ones(2, np.float32), (0, 0))):
        with pytest.raises(CallTimeoutError):
            failing()
    handles[1].loses_answers = False
    params = client.pull()
    assert params.changed
    assert params.versions == (1, 1)
    assert [receipt.admitted for receipt in client.push(np.ones(2, np.float32), params.versions)] == [True, True]
    np.testing.assert_array_equal(client.pull_target().flat, [1.0, 2.0])


def _client_with_journal(make_server: MakeServer) -> tuple[ParamClient, list[_Journal]]:
    server = make_server([1.0, 2.0], num_shards=2)
    journal: list[str] = []
    handles = [_Journal(name, shard, journal) for name, shard in zip("ab", server.shards, strict=True)]
    config = replace(server.config, timeout_seconds=0.5)
    return ParamClient(handles, server.layout, "bundle-0", 1, config), handles
