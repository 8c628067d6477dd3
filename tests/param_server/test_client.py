"""The client against real shards in this thread: whole vectors in and out, whatever the cut."""

from dataclasses import replace
from typing import TypeVar

import numpy as np
import pytest

from pipeline.errors import CallTimeoutError
from pipeline.interfaces import Call, Immediate, PulledSlice, Push, ShardHandle, SliceLoader
from pipeline.optimizers.optimizer import OptimizerConfig
from pipeline.param_server.client import ParamClient
from pipeline.param_server.layout import ParamLayout
from pipeline.param_server.shard import DirectShard, ParameterShard
from pipeline.types import Receipt
from tests.param_server.conftest import CONFIG, Copy, MakeServer, push_of


@pytest.mark.parametrize("num_shards", [2, 3, 7])
def test_a_sharded_server_equals_an_unsharded_one_bit_for_bit(
    make_server: MakeServer, optimizer: OptimizerConfig, num_shards: int
) -> None:
    rng = np.random.default_rng(0)
    start = rng.standard_normal(1_001).astype(np.float32)
    one = make_server(start, optimizer, target_period_updates=3)
    many = make_server(start, optimizer, target_period_updates=3, num_shards=num_shards)
    one_client, many_client = one.client(), many.client()
    for gradient in rng.standard_normal((5, start.size)).astype(np.float32):
        one_client.push(gradient, one.copy().pull().versions)
        many_client.push(gradient, many.copy().pull().versions)
        np.testing.assert_array_equal(many.copy().pull().flat, one.copy().pull().flat)
        np.testing.assert_array_equal(many.copy().pull_target().flat, one.copy().pull_target().flat)
    assert many.copy().pull().versions == (5,) * num_shards
    assert many.copy().pull_target().versions == (3,) * num_shards


@pytest.mark.parametrize("num_shards", [1, 3])
def test_a_pull_brings_the_start_and_then_nothing_until_a_push(make_server: MakeServer, num_shards: int) -> None:
    server = make_server([1.0, 2.0, 3.0, 4.0], num_shards=num_shards)
    params, target = server.copy(), server.copy()
    for pull in (params.pull, target.pull_target):
        first = pull()
        assert len(first.loaded) == num_shards
        np.testing.assert_array_equal(first.flat, [1.0, 2.0, 3.0, 4.0])
        assert pull().loaded == []
        assert first.versions == (0,) * num_shards
    server.client().push(np.ones(4, np.float32), [0] * num_shards)
    assert len(params.pull().loaded) == num_shards
    assert target.pull_target().loaded == []


def test_what_crosses_the_wire_in_bfloat16_is_rounded_to_it(make_server: MakeServer) -> None:
    server = make_server([1 + 2.0**-10, 2.0], num_shards=2, wire_dtype="bfloat16")
    np.testing.assert_array_equal(server.copy().pull_target().flat, [1.0, 2.0])
    # Read in the shard's own process, the parameters themselves have crossed nothing.
    np.testing.assert_array_equal(server.copy().pull().flat, np.array([1 + 2.0**-10, 2.0], np.float32))


def test_a_pull_mixes_versions_and_brings_only_what_is_new(make_server: MakeServer) -> None:
    server = make_server([1.0, 2.0, 3.0, 4.0], num_shards=2, target_period_updates=1)
    params, target = server.copy().pull(), server.copy().pull_target()
    before = params.flat.copy()
    server.shards[1].push(push_of([1.0, 1.0], sender="bundle-9"))
    for copy in (params.pull(), target.pull_target()):
        assert copy.loaded == [2]
        assert copy.versions == (0, 1)
        np.testing.assert_array_equal(copy.flat[:2], before[:2])
        assert (copy.flat[2:] < before[2:]).all()


def test_a_copy_stays_as_it_is_while_the_server_goes_on(make_server: MakeServer) -> None:
    server = make_server([1.0, 2.0, 3.0], num_shards=2)
    params, target = server.copy().pull(), server.copy().pull_target()
    server.client().push(np.ones(3, np.float32), params.versions)
    for copy in (params, target):
        np.testing.assert_array_equal(copy.flat, [1.0, 2.0, 3.0])
    assert (params.pull().flat < [1.0, 2.0, 3.0]).all()


def test_each_shard_decides_for_itself_and_every_receipt_comes_back(make_server: MakeServer) -> None:
    server = make_server([1.0, 2.0, 3.0], num_shards=3, max_staleness=0)
    client = server.client()
    versions = server.copy(client).pull().versions
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
    assert server.copy().pull().versions == (4, 4)


def test_the_memory_of_a_pushed_gradient_may_be_used_again(make_server: MakeServer, optimizer: OptimizerConfig) -> None:
    reused, fresh = (make_server([1.0, 2.0, 3.0], optimizer, num_shards=2) for _ in range(2))
    reusing, refreshing = reused.client(), fresh.client()
    memory = np.empty(3, np.float32)
    for value in (1.0, -2.0, 3.0):
        memory[:] = value
        reusing.push(memory, (0, 0))
        memory[:] = np.nan
        refreshing.push(np.full(3, value, np.float32), (0, 0))
    np.testing.assert_array_equal(reused.copy().pull().flat, fresh.copy().pull().flat)


def test_an_overlapped_push_gives_the_receipts_of_the_one_before_and_flush_the_last(make_server: MakeServer) -> None:
    server = make_server([1.0, 2.0, 3.0], num_shards=2, overlap=True)
    client = server.client()
    gradient = np.ones(3, np.float32)
    assert client.push(gradient, (0, 0)) == ()
    assert [receipt.version for receipt in client.push(gradient, (1, 1))] == [1, 1]
    assert [receipt.version for receipt in client.flush()] == [2, 2]
    assert client.flush() == ()


def test_the_memory_of_a_gradient_that_is_on_its_way_may_be_used_again(make_server: MakeServer) -> None:
    server = make_server([1.0, 2.0], num_shards=2)
    client, handles = _client_with_journal(make_server, overlap=True)
    for handle in handles:
        handle.holds_back = True
    memory = np.ones(2, np.float32)
    client.push(memory, (0, 0))
    memory[:] = np.nan
    client.flush()
    server.client().push(np.ones(2, np.float32), (0, 0))
    followed, plain = Copy(client, size=2).pull(), server.copy().pull()
    np.testing.assert_array_equal(followed.flat, plain.flat)


def test_wrong_lengths_are_refused_with_both_numbers_before_anything_is_sent(make_server: MakeServer) -> None:
    server = make_server([1.0, 2.0, 3.0], num_shards=2)
    client = server.client()
    with pytest.raises(ValueError, match=r"\(4,\).*\(3,\)"):
        client.push(np.ones(4, np.float32), (0, 0))
    with pytest.raises(ValueError, match="1 versions for 2 shards"):
        client.push(np.ones(3, np.float32), (0,))
    with pytest.raises(ValueError, match="2 shards for a layout of 3"):
        ParamClient([DirectShard(shard) for shard in server.shards], ParamLayout(3, 3), "bundle-0", 1, CONFIG)
    with pytest.raises(ValueError, match="1 versions for 2 shards"):
        client.pull(server.copy(), (0,))
    assert server.copy().pull().versions == (0, 0)


T = TypeVar("T")


class _Journal(ShardHandle):
    """A real shard that writes down when it is called and when it is waited for, and can be made to lose an answer."""

    def __init__(self, name: str, shard: ParameterShard, journal: list[str]) -> None:
        self.name = name
        self.journal = journal
        self.loses_answers = False
        self.holds_back = False
        self._shard = shard

    def overlapped(self) -> "_Journal":
        return self

    def push(self, push: Push) -> Call[Receipt]:
        self.journal.append(f"push {self.name}")
        return _Late(self._shard, push) if self.holds_back else _Answer(self, self._shard.push(push))

    def pull(self, known_version: int) -> Call[PulledSlice]:
        raise AssertionError("a client reads slices")

    def read(self, known_version: int, load: SliceLoader) -> Call[int]:
        self.journal.append(f"read {self.name}")
        return _Answer(self, self._shard.read(known_version, load))

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


class _Late:
    """A push that reaches its shard when its receipt is waited for."""

    def __init__(self, shard: ParameterShard, push: Push) -> None:
        self._shard = shard
        self._push = push

    def result(self, timeout_seconds: float) -> Receipt:
        return self._shard.push(self._push)


def test_all_shards_are_called_before_the_first_answer_is_awaited(make_server: MakeServer) -> None:
    client, handles = _client_with_journal(make_server)
    copy = Copy(client, size=2)
    copy.pull()
    copy.pull_target()
    client.push(np.ones(2, np.float32), (0, 0))
    waits = ["wait a 0.5", "wait b 0.5"]
    assert handles[0].journal == [
        "read a",
        "read b",
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
    params, target = Copy(client, size=2), Copy(client, size=2)
    handles[1].loses_answers = True
    for failing in (params.pull, target.pull_target, lambda: client.push(np.ones(2, np.float32), (0, 0))):
        with pytest.raises(CallTimeoutError):
            failing()
    handles[1].loses_answers = False
    assert params.pull().versions == (1, 1)
    assert (params.flat < [1.0, 2.0]).all()
    assert [receipt.admitted for receipt in client.push(np.ones(2, np.float32), params.versions)] == [True, True]
    np.testing.assert_array_equal(target.pull_target().flat, [1.0, 2.0])


@pytest.mark.parametrize(("first_shard", "order"), [(0, "ab"), (1, "ba"), (2, "ab")])
def test_clients_begin_with_different_shards_and_get_their_answers_in_shard_order(
    make_server: MakeServer, first_shard: int, order: str
) -> None:
    server = make_server([1.0, 2.0], num_shards=2, target_period_updates=1)
    server.shards[1].push(push_of([1.0], sender="bundle-9"))
    journal: list[str] = []
    handles = [_Journal(name, shard, journal) for name, shard in zip("ab", server.shards, strict=True)]
    client = ParamClient(handles, server.layout, "bundle-0", 1, server.config, first_shard)
    params, target = Copy(client, size=2).pull(), Copy(client, size=2).pull_target()
    assert params.versions == target.versions == (0, 1)
    assert [receipt.version for receipt in client.push(np.ones(2, np.float32), params.versions)] == [1, 2]
    calls = [entry for entry in journal if not entry.startswith("wait")]
    assert "".join(entry[-1] for entry in calls) == order * 3


def _client_with_journal(make_server: MakeServer, **settings: object) -> tuple[ParamClient, list[_Journal]]:
    server = make_server([1.0, 2.0], num_shards=2, **settings)
    journal: list[str] = []
    handles = [_Journal(name, shard, journal) for name, shard in zip("ab", server.shards, strict=True)]
    config = replace(server.config, timeout_seconds=0.5)
    return ParamClient(handles, server.layout, "bundle-0", 1, config), handles


def test_a_client_of_shards_that_apply_gradients_as_they_come_is_always_ready(make_server: MakeServer) -> None:
    client = make_server([1.0, 2.0]).client()
    assert client.ready(0.0)
    client.push(np.ones(2, np.float32), (0,))
    assert client.ready(0.0)
