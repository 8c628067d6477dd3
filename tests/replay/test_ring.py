"""LaneRing: what it tells a sampler, its keys, and what `check_valid` finds.

What the ring holds is tested through the replay, in test_minibatch and test_memory.
"""

from collections.abc import Callable

import numpy as np
import pytest

from pipeline.envs.protocol import MOST_STACKED
from pipeline.replay.ring import LaneRing
from tests.replay.slow_replay import scripted_steps


def full_ring() -> LaneRing:
    ring = LaneRing(1, num_lanes=2, lane_capacity=12, frame_shape=(2, 3), stack=3, n_step=1)
    for step in scripted_steps(np.random.default_rng(0), 31, [4, 8], (2, 3)):
        ring.add(step, writer=0)
    return ring


def flip_a_samplable_mark(ring: LaneRing) -> None:
    ring.samplable.flat[5] ^= True


def lose_count(ring: LaneRing) -> None:
    ring.num_samplable += 1


def deepen_a_stack(ring: LaneRing) -> None:
    ring.stack_depth[0, 3] = 4


def skip_a_depth(ring: LaneRing) -> None:
    lane, slot = np.argwhere(ring.samplable & (ring.stack_depth == 1))[0]
    ring.stack_depth[lane, (slot + 1) % ring.lane_capacity] = 3


def start_an_episode_after_a_valid_record(ring: LaneRing) -> None:
    newest = (ring.num_steps[0] - 1) % ring.lane_capacity
    lane, slot = next((lane, slot) for lane, slot in np.argwhere(ring.stack_depth == 1) if slot != (newest + 1) % 12)
    ring.valid[lane, slot - 1] = True


def soil_the_padding(ring: LaneRing) -> None:
    ring.frames[-1, 0, 0] = 1


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (flip_a_samplable_mark, r"records \[5\] have the wrong samplable mark"),
        (lose_count, r"num_samplable is \d+, but \d+ records"),
        (deepen_a_stack, r"not in 1\.\.3"),
        (skip_a_depth, "neither one deeper than the one before"),
        (start_an_episode_after_a_valid_record, "an episode starts right after a valid record"),
        (soil_the_padding, "padding frame is not zero"),
    ],
)
def test_check_valid_names_the_damage(damage: Callable[[LaneRing], None], message: str) -> None:
    ring = full_ring()
    ring.check_valid()
    damage(ring)
    with pytest.raises(AssertionError, match=message):
        ring.check_valid()


@pytest.mark.parametrize(("n_step", "least"), [(1, 5), (3, 7)])
def test_a_ring_without_room_for_one_transition_is_refused_with_both_numbers(n_step: int, least: int) -> None:
    with pytest.raises(
        ValueError, match=f"lane_capacity={least - 1} must be at least {least}: .*stack=4.*n_step={n_step}"
    ):
        LaneRing(1, 2, least - 1, (2, 3), stack=4, n_step=n_step)
    LaneRing(1, 2, least, (2, 3), stack=4, n_step=n_step)


@pytest.mark.parametrize("n_step", [1, 3])
@pytest.mark.parametrize("lane_capacity", [7, 20])
def test_what_add_tells_adds_up_to_what_can_be_sampled(n_step: int, lane_capacity: int) -> None:
    ring = LaneRing(2, 2, lane_capacity, (2, 3), stack=4, n_step=n_step)
    rng = np.random.default_rng(0)
    writers = [scripted_steps(rng, 100, [3, 30], (2, 3), reset_chance=0.05) for _ in range(2)]
    known: set[int] = set()
    num_admitted = 0
    for _ in range(100):
        writer = int(rng.integers(2))
        change = ring.add(next(writers[writer]), writer)
        assert known.issuperset(change.retired.tolist())
        assert known.isdisjoint(change.admitted.tolist())
        known = (known - set(change.retired.tolist())) | set(change.admitted.tolist())
        num_admitted += len(change.admitted)
        assert known == set(np.flatnonzero(ring.samplable).tolist())
        ring.check_valid()
    assert ring.num_admitted == num_admitted > ring.num_samplable > 0


def test_a_key_leads_back_to_its_record_until_that_is_overwritten_or_cannot_be_sampled() -> None:
    ring = LaneRing(2, 1, 8, (2, 3), stack=3, n_step=1)
    rng = np.random.default_rng(0)
    first, second = (scripted_steps(rng, 40, [100], (2, 3)) for _ in range(2))
    for _ in range(7):
        ring.add(next(first), 0)
    for _ in range(5):
        ring.add(next(second), 1)
    records = np.flatnonzero(ring.samplable)
    assert records.tolist() == [0, 1, 2, 3, 4, 5, 8, 9, 10, 11]
    keys = ring.keys_of(records)
    found, held = ring.find_keys(keys)
    assert found.tolist() == records.tolist()
    assert held.all()
    ring.add(next(first), 0)
    ring.add(next(first), 0)
    # Frame 0 is overwritten: records 0 to 2 have lost it, 0 is another one now. The other writer's are as they were.
    assert held.sum() - ring.find_keys(keys)[1].sum() == 3
    assert ring.find_keys(keys)[1].tolist() == [False] * 3 + [True] * 7


def test_numbers_that_were_never_given_out_as_keys_lead_nowhere() -> None:
    ring = full_ring()
    newest = int(ring.keys_of(np.flatnonzero(ring.samplable)).max())
    assert not ring.find_keys(np.array([-1, -100, newest + 10, 2**62]))[1].any()


def test_the_deepest_stack_that_a_protocol_may_have_is_counted_without_a_wrap() -> None:
    ring = LaneRing(1, num_lanes=1, lane_capacity=300, frame_shape=(1, 1), stack=MOST_STACKED, n_step=1)
    for step in scripted_steps(np.random.default_rng(0), 280, [10_000], (1, 1)):
        ring.add(step, writer=0)
    ring.check_valid()
    assert ring.stack_depth[0, :280].tolist() == [min(step + 1, MOST_STACKED) for step in range(280)]
