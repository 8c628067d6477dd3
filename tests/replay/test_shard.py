"""A shard of the global replay: chunks in, minibatches out, each chunk once."""

import threading

import numpy as np
import pytest

from pipeline.errors import RemoteLostError
from pipeline.interfaces import StepChunk
from pipeline.replay.memory import ReplayMemory
from pipeline.replay.rate_limit import RateLimit
from pipeline.replay.shard import DirectReplay, ReplayShard
from tests.replay.chunks import NUM_LANES, STACK, chunk_of, chunk_replay


def make_shard(num_writers: int = 1, slack: int | None = None, **changes: object) -> ReplayShard:
    config = chunk_replay(**changes)
    rng = np.random.default_rng(0)
    memory = ReplayMemory(config, num_writers, NUM_LANES, (6, 5), STACK, discount=0.5, n_step=1, rng=rng)
    return ReplayShard(memory, RateLimit(4, slack, config.min_transitions))


def test_steps_of_a_chunk_become_transitions_of_their_writer() -> None:
    shard = make_shard(num_writers=2)
    for writer in (0, 1):
        answer = shard.add(chunk_of(range(4), writer=writer))
    assert answer.held_back == ""
    assert answer.counts.num_steps == 2 * 4 * NUM_LANES
    assert answer.counts.num_transitions == 2 * 3 * NUM_LANES  # the last step of each lane has no successor yet
    batch = shard.sample().batch
    assert batch is not None
    np.testing.assert_array_equal(batch.stacks[:, -1, 0, 0], batch.stacks[:, -2, 0, 0] + 1)
    np.testing.assert_array_equal(batch.a_tm1, batch.stacks[:, -2, 0, 0])


def test_a_chunk_that_comes_twice_is_stored_once_and_answered_alike() -> None:
    shard = make_shard()
    first = shard.add(chunk_of(range(4)))
    assert shard.add(chunk_of(range(4))) == first
    assert shard.add(chunk_of(range(4, 8), sequence=2)).counts.num_steps == 2 * first.counts.num_steps


def test_a_restarted_actor_goes_on_and_its_ghost_is_refused() -> None:
    shard = make_shard()
    shard.add(chunk_of(range(4), attempt=1))
    assert shard.add(chunk_of(range(4), attempt=2, first=True)).held_back == ""
    with pytest.raises(RemoteLostError, match="attempt 1 is over"):
        shard.add(chunk_of(range(4, 8), attempt=1, sequence=2))


def test_a_minibatch_stays_as_it_is_when_the_next_one_is_drawn() -> None:
    shard = make_shard()
    shard.add(chunk_of(range(8)))
    batch = shard.sample().batch
    assert batch is not None
    copies = [field.copy() for field in batch]
    for _ in range(3):
        shard.sample()
    for field, copy in zip(batch, copies, strict=True):
        np.testing.assert_array_equal(field, copy)


def test_who_is_ahead_is_held_back_and_nothing_of_it_is_stored() -> None:
    shard = make_shard(slack=1, min_transitions=8)
    # Learning can begin after the second chunk; two minibatches are due after the third.
    for sequence in (1, 2):
        assert shard.add(chunk_of(range(4 * sequence - 4, 4 * sequence), sequence=sequence)).held_back == ""
    before = shard.add(chunk_of(range(8, 12), sequence=3)).counts
    answer = shard.add(chunk_of(range(12, 16), sequence=4))
    assert answer.held_back.startswith("the actors are ahead of the learners")
    assert answer.counts == before
    drawn = 0
    while not (sampled := shard.sample()).held_back:
        assert sampled.batch is not None
        drawn += 1
    assert sampled.batch is None
    assert sampled.held_back.startswith("the learners are ahead of the actors")
    assert drawn > 0
    assert shard.add(chunk_of(range(12, 16), sequence=4)).held_back == ""


def test_priorities_reach_the_memory_and_change_what_the_shard_weighs() -> None:
    shard = make_shard(priority_exponent=1.0, priority_floor=1e-6)
    before = shard.add(chunk_of(range(8))).counts
    batch = shard.sample().batch
    assert batch is not None
    DirectReplay(shard).update_priorities(batch.key, np.full(len(batch.key), 5.0, np.float32)).result(0.0)
    after = shard.sample().counts
    num_told = len(set(batch.key.tolist()))
    assert after.mass == pytest.approx(before.mass + 4.0 * num_told, rel=1e-4)


def test_actors_and_learners_in_many_threads_lose_nothing() -> None:
    num_writers, num_chunks = 3, 40
    shard = make_shard(num_writers=num_writers, priority_exponent=0.6, capacity=2_000)
    shard.add(chunk_of(range(4)))
    failures: list[BaseException] = []

    def write(writer: int) -> None:
        for sequence in range(2 if writer == 0 else 1, num_chunks + 1):
            shard.add(chunk_of(range(4 * sequence - 4, 4 * sequence), writer=writer, sequence=sequence))

    def learn() -> None:
        for _ in range(200):
            batch = shard.sample().batch
            assert batch is not None
            shard.update_priorities(batch.key, np.ones(len(batch.key), np.float32))

    def guarded(work: object, *args: object) -> None:
        try:
            work(*args)  # type: ignore[operator]
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(write, writer)) for writer in range(num_writers)]
    threads += [threading.Thread(target=guarded, args=(learn,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert failures == []
    counts = shard.sample().counts
    assert counts.num_steps == num_writers * num_chunks * 4 * NUM_LANES
    assert counts.num_batches == 401
    shard._memory.check_valid()


def test_a_chunk_of_an_unknown_writer_is_an_error() -> None:
    with pytest.raises(ValueError, match="writer"):
        make_shard(num_writers=1).add(StepChunk(1, 1, 1, chunk_of(range(4)).steps))


def test_a_full_shard_that_ends_of_episodes_keep_below_its_minimum_is_learned_from() -> None:
    shard = make_shard(min_transitions=56)
    for sequence in range(1, 20):
        shard.add(chunk_of(range(4 * sequence - 4, 4 * sequence), sequence=sequence, first=True))
        counts = shard.sample().counts
        assert counts.num_transitions < 56
    # One step in four is an episode's last, and never one to draw.
    assert counts.num_transitions == 48 and counts.num_batches > 0


def test_a_shard_of_which_nothing_can_be_drawn_now_waits_for_steps_whoever_is_ahead() -> None:
    shard = make_shard(slack=1, capacity=NUM_LANES * (STACK + 1))
    shard.add(chunk_of(range(4)))
    ends_with_a_game = chunk_of(range(4, 9), sequence=2)
    ends_with_a_game.steps.first_tm1[-1] = True
    assert shard.add(ends_with_a_game).counts.num_transitions == 0
    waits = shard.sample()
    assert waits.batch is None and waits.held_back == "no step that the replay holds can be drawn now"
    assert waits.counts.num_batches == 0
    # By the steps alone the actors are ahead.
    assert shard.add(chunk_of([9], sequence=3)).held_back == ""
    assert shard.sample().batch is not None
    assert shard.add(chunk_of([10], sequence=4)).held_back.startswith("the actors are ahead")
