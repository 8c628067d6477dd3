"""LaneRing: what `check_valid` finds. What the ring holds is tested through the replay, in test_uniform."""

from collections.abc import Callable

import numpy as np
import pytest

from pipeline.replay.ring import LaneRing
from tests.replay.slow_replay import scripted_steps


def full_ring() -> LaneRing:
    ring = LaneRing(num_lanes=2, lane_capacity=12, frame_shape=(2, 3), stack=3)
    for step in scripted_steps(np.random.default_rng(0), 31, [4, 8], (2, 3)):
        ring.add(step)
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
    newest = (ring.num_steps - 1) % ring.lane_capacity
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


def test_a_ring_no_longer_than_a_stack_is_refused_with_both_numbers() -> None:
    with pytest.raises(ValueError, match="lane_capacity=4 must be larger than stack=4"):
        LaneRing(num_lanes=2, lane_capacity=4, frame_shape=(2, 3), stack=4)
