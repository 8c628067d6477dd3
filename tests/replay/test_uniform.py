"""UniformSampler: each transition equally likely."""

from collections import Counter

import numpy as np
import pytest
from scipy.stats import chisquare

from tests.replay.memories import make_replay
from tests.replay.slow_replay import scripted_steps, whole_lanes

GREY = (2, 3)


@pytest.mark.parametrize("num_steps", [35, 95], ids=["filling", "wrapped"])
def test_every_transition_is_equally_likely_however_many_its_lane_has(num_steps: int) -> None:
    lane_capacity, num_draws = 50, 60_000
    steps = list(scripted_steps(np.random.default_rng(3), num_steps, [1, 5, 200], GREY))
    replay = make_replay(3 * lane_capacity, num_lanes=3, frame_shape=GREY, stack=4, batch_size=num_draws, seed=4)
    for step in steps:
        replay.add(step)
    lanes = whole_lanes(steps, stack=4)
    expected = [t.s_tm1.tobytes() for lane in lanes for t in lane.transitions(lane_capacity, 1)]
    per_lane = [sum(1 for _ in lane.transitions(lane_capacity, 1)) for lane in lanes]
    assert per_lane[0] < 0.8 * per_lane[2]  # else this would not test lanes of unequal fill
    counts = Counter(stack.tobytes() for stack in replay.sample().s_tm1)
    assert set(counts) == set(expected)
    assert chisquare([counts[key] for key in expected]).pvalue > 0.01


def test_every_transition_is_equally_likely_whoever_wrote_it() -> None:
    num_draws = 60_000
    replay = make_replay(
        3 * 2 * 40, num_writers=3, num_lanes=2, frame_shape=GREY, n_step=3, batch_size=num_draws, seed=6
    )
    rng = np.random.default_rng(7)
    expected = []
    for writer, num_steps in ((0, 130), (2, 12)):  # writer 1 never comes
        steps = list(scripted_steps(rng, num_steps, [3, 50], GREY))
        for step in steps:
            replay.add(step, writer)
        expected += [t.s_tm1.tobytes() for lane in whole_lanes(steps, 3) for t in lane.transitions(40, 3)]
    counts = Counter(stack.tobytes() for stack in replay.sample().s_tm1)
    assert set(counts) == set(expected)
    assert chisquare([counts[key] for key in expected]).pvalue > 0.01
