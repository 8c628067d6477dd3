"""Both ends of the global replay against real shards in this thread."""

import time
from dataclasses import replace

import numpy as np
import pytest

from pipeline.errors import StarvedError
from pipeline.interfaces import AddAnswer, Immediate, ReplayHandle, SampleAnswer, StepChunk
from pipeline.replay import client
from pipeline.replay.client import ReplayReader, ReplayWriter
from pipeline.replay.config import ReplayTrafficConfig
from pipeline.replay.memory import ReplayMemory
from pipeline.replay.rate_limit import RateLimit
from pipeline.replay.shard import DirectReplay, ReplayShard
from pipeline.types import Float32Array, Int64Array
from tests.replay.chunks import NUM_LANES, STACK, chunk_replay, lane_step

TRAFFIC = ReplayTrafficConfig(chunk_steps=4, prefetch=2, slack_updates=None, wait_seconds=60.0)


def make_shard(slack: int | None = None, seed: int = 0, **changes: object) -> ReplayShard:
    config = chunk_replay(**changes)
    memory = ReplayMemory(config, 1, NUM_LANES, (6, 5), STACK, 0.5, 1, np.random.default_rng(seed))
    return ReplayShard(memory, RateLimit(4, slack, config.min_transitions))


def make_writer(shard: ReplayShard, traffic: ReplayTrafficConfig = TRAFFIC) -> ReplayWriter:
    return ReplayWriter("actor-0", DirectReplay(shard), 0, 1, traffic, 1.0)


def make_reader(*shards: ReplayHandle, traffic: ReplayTrafficConfig = TRAFFIC) -> ReplayReader:
    return ReplayReader("learner-0", shards, STACK, traffic, 1.0, np.random.default_rng(0))


def write(writer: ReplayWriter, numbers: range) -> None:
    for number in numbers:
        assert writer.ready()
        writer.add(lane_step(number, first=number == 0))


def test_steps_arrive_in_order_and_whole_chunks_only() -> None:
    shard = make_shard()
    writer = make_writer(shard)
    write(writer, range(7))
    assert shard.sample().counts.num_steps == 4 * NUM_LANES
    write(writer, range(7, 9))
    assert shard.sample().counts.num_steps == 8 * NUM_LANES
    for _ in range(20):
        batch = shard.sample().batch
        assert batch is not None
        np.testing.assert_array_equal(batch.stacks[:, -1, 0, 0], batch.stacks[:, -2, 0, 0] + 1)


def test_the_memory_of_a_step_may_be_used_again() -> None:
    shard = make_shard()
    writer = make_writer(shard)
    step = lane_step(0, first=True)
    for number in range(4):
        assert writer.ready()
        step.frame_tm1[:] = number
        step.first_tm1[:] = number == 0
        writer.add(step)
    batch = shard.sample().batch
    assert batch is not None
    assert set(batch.stacks[:, -1, 0, 0].tolist()) <= {1, 2, 3}


def test_an_actor_that_is_held_back_waits_and_loses_nothing() -> None:
    shard = make_shard(slack=1)
    writer = make_writer(shard)
    number = 0
    while writer.ready():
        writer.add(lane_step(number, first=number == 0))
        number += 1
    assert writer.waited_seconds > 0
    stored = shard.sample().counts.num_steps
    assert stored < number * NUM_LANES
    while not shard.sample().held_back:
        pass
    assert writer.ready()
    assert shard.sample().counts.num_steps == number * NUM_LANES


class Counted(DirectReplay):
    """Counts how often steps are offered."""

    num_offered = 0

    def add(self, chunk: StepChunk) -> Immediate[AddAnswer]:
        self.num_offered += 1
        return super().add(chunk)


def test_an_actor_that_is_held_back_sends_its_steps_again_when_there_is_room_and_not_before() -> None:
    shard = make_shard(slack=1)
    handle = Counted(shard)
    writer = ReplayWriter("actor-0", handle, 0, 1, TRAFFIC, 1.0)
    number = 0
    while writer.ready():
        writer.add(lane_step(number, first=number == 0))
        number += 1
    offered = handle.num_offered
    for _ in range(3):
        assert not writer.ready()
    assert handle.num_offered == offered
    while not shard.sample().held_back:
        pass
    assert writer.ready() and handle.num_offered > offered
    assert shard.sample().counts.num_steps == number * NUM_LANES


def test_an_actor_that_is_held_back_for_too_long_says_why() -> None:
    traffic = ReplayTrafficConfig(chunk_steps=1, prefetch=0, slack_updates=1, wait_seconds=0.001)
    writer = make_writer(make_shard(slack=1), traffic)
    with pytest.raises(StarvedError, match=r"actor-0 was held back for 0.001 s: the actors are ahead of the learners"):
        for number in range(100):
            if writer.ready():
                writer.add(lane_step(number, first=number == 0))


def test_a_learner_that_is_held_back_says_no_and_after_too_long_why() -> None:
    reader = make_reader(DirectReplay(make_shard(min_transitions=50)))
    assert not reader.ready()
    assert reader.waited_seconds > 0
    with pytest.raises(ValueError, match="ready"):
        reader.sample()
    impatient = ReplayTrafficConfig(chunk_steps=1, prefetch=0, slack_updates=1, wait_seconds=0.001)
    reader = make_reader(DirectReplay(make_shard(min_transitions=50)), traffic=impatient)
    with pytest.raises(StarvedError, match=r"learner-0 was held back for 0\.001 s: the replay holds 0 of the 50"):
        for _ in range(100):
            reader.ready()


class Clock:
    """A clock that goes on only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(client, "time", clock)
    return clock


def test_a_replay_that_takes_long_to_fill_starves_no_learner_and_one_that_stands_still_does(clock: Clock) -> None:
    shard = make_shard(min_transitions=50)
    writer, traffic = make_writer(shard), replace(TRAFFIC, wait_seconds=1.0)
    reader = make_reader(DirectReplay(shard), traffic=traffic)
    for number in range(0, 24, 4):
        write(writer, range(number, number + 4))
        assert writer.ready()
        until = clock.now + 0.9
        while clock.now < until:
            assert not reader.ready()
    grown_at = clock.now - 0.9
    with pytest.raises(StarvedError, match=r"learner-0 was held back for 1 s: the replay holds 46 of the 50"):
        while clock.now < grown_at + 2.0:
            assert not reader.ready()
    assert clock.now - grown_at == pytest.approx(1.0, abs=0.1)


def test_a_pause_of_the_whole_process_starves_nobody(clock: Clock) -> None:
    reader = make_reader(DirectReplay(make_shard(min_transitions=50)), traffic=replace(TRAFFIC, wait_seconds=5.0))
    for _ in range(3):
        assert not reader.ready()
        clock.now += 3600.0
    with pytest.raises(StarvedError, match=r"learner-0 was held back for 5 s"):
        for _ in range(200):
            reader.ready()


class SlowReplay(DirectReplay):
    """Takes longer to answer than a reader waits."""

    def sample(self) -> Immediate[SampleAnswer]:
        time.sleep(0.06)
        return super().sample()


def test_a_learner_whose_shard_answers_slowly_hears_why_it_is_held_back() -> None:
    impatient = ReplayTrafficConfig(chunk_steps=1, prefetch=0, slack_updates=1, wait_seconds=0.001)
    reader = make_reader(SlowReplay(make_shard(min_transitions=50)), traffic=impatient)
    with pytest.raises(StarvedError, match=r"learner-0 was held back for 0\.001 s"):
        for _ in range(10):
            reader.ready()


def test_a_minibatch_is_what_the_memory_gives() -> None:
    shard, same = make_shard(), make_shard()
    for each in (shard, same):
        write(make_writer(each), range(9))
    reader = make_reader(DirectReplay(shard))
    for _ in range(5):
        assert reader.ready()
        batch, expected = reader.sample(), same._memory.sample()
        for ours, theirs in zip(batch, expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)
    assert reader.num_steps == 8 * NUM_LANES
    assert reader.num_transitions() == 7 * NUM_LANES


class _Counting(DirectReplay):
    """A shard that counts how often it is asked."""

    def __init__(self, shard: ReplayShard) -> None:
        super().__init__(shard)
        self.num_asked = 0
        self.told: list[list[int]] = []

    def sample(self) -> Immediate[SampleAnswer]:
        self.num_asked += 1
        return super().sample()

    def update_priorities(self, key: Int64Array, abs_error: Float32Array) -> Immediate[None]:
        self.told.append(key.tolist())
        return super().update_priorities(key, abs_error)


def test_minibatches_are_asked_for_ahead() -> None:
    shard = make_shard()
    write(make_writer(shard), range(9))
    handle = _Counting(shard)
    reader = make_reader(handle, traffic=TRAFFIC)
    assert reader.ready()
    reader.sample()
    assert handle.num_asked == 1 + TRAFFIC.prefetch


def test_without_prefetch_a_minibatch_is_asked_for_when_it_is_wanted() -> None:
    shard = make_shard()
    write(make_writer(shard), range(9))
    handle = _Counting(shard)
    reader = make_reader(handle, traffic=replace(TRAFFIC, prefetch=0))
    for num_asked in (1, 2):
        assert reader.ready()
        reader.sample()
        assert handle.num_asked == num_asked, "after the priorities of the one before"


def test_shards_are_drawn_from_in_proportion_to_their_mass_and_priorities_go_back_to_the_right_one() -> None:
    small, large = make_shard(priority_exponent=1.0), make_shard(priority_exponent=1.0, capacity=256)
    write(make_writer(small), range(9))
    write(make_writer(large), range(25))
    handles = [_Counting(small), _Counting(large)]
    reader = make_reader(*handles)
    drawn: list[list[list[int]]] = [[], []]
    for _ in range(400):
        assert reader.ready()
        batch = reader.sample()
        drawn[reader._drawn_from].append(batch.key.tolist())
        reader.update_priorities(batch.key, np.ones(len(batch.key), np.float32))
    assert [handle.told for handle in handles] == drawn
    # 7 and 23 transitions a lane: the small one should be drawn from in 7 of 30 cases; 4 standard deviations are 34.
    assert abs(len(drawn[0]) - 400 * 7 / 30) < 34


def test_with_a_pace_shards_are_drawn_from_in_proportion_to_their_steps_whatever_their_mass(clock: Clock) -> None:
    slack, handles, writers = 2, [], []
    for _ in range(2):
        shard = make_shard(slack=slack, priority_exponent=1.0)
        handles.append(_Counting(shard))
        writers.append(make_writer(shard))
    reader = make_reader(*handles, traffic=replace(TRAFFIC, slack_updates=slack))
    for turn in range(400):
        # Three chunks of the first shard for each of the second, whose transitions weigh ten times as much.
        writer = writers[turn % 4 == 3]
        for number in range(4):
            assert writer.ready()
            writer.add(lane_step(number, first=turn in (0, 3) and number == 0))
        while reader.ready():
            key = reader.sample().key
            reader.update_priorities(key, np.full(len(key), (1.0, 10.0)[reader._drawn_from], np.float32))
    counts = [handle._shard._counts() for handle in handles]
    assert counts[1].mass > 5 * counts[0].mass
    assert counts[0].num_steps == pytest.approx(3 * counts[1].num_steps, rel=0.05)
    for one in counts:
        assert abs(one.num_batches - one.num_steps / 4) <= slack + 4


def test_an_empty_shard_does_not_keep_a_learner_from_the_others() -> None:
    full, empty = make_shard(), make_shard(min_transitions=50)
    write(make_writer(full), range(9))
    reader = make_reader(DirectReplay(empty), DirectReplay(full))
    for _ in range(10):
        while not reader.ready():
            pass
        reader.sample()
