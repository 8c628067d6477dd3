"""How long a full replay takes to hand out one minibatch, and to take one step of all its lanes.

16 lanes of 84 x 84 grey frames, stack 4, 100,000 steps (0.7 GB); `sample()` of 32 and of 512 transitions, each with
both observations, and `add()` of 16 records: medians in microseconds. One in 200 records ends an episode.
The copy to the network's precision and memory format is not in it.
"""

from functools import partial

import numpy as np

from measuring.provenance import report
from measuring.rounds import median_seconds
from pipeline.replay.config import ReplayConfig
from pipeline.replay.memory import ReplayMemory, memory_bytes
from pipeline.types import LaneStep

NUM_LANES = 16
CAPACITY = 100_000
FRAME_SHAPE = (84, 84)
EPISODE_RECORDS = 200


def main(capacity: int = CAPACITY, num_calls: int = 300) -> None:
    """Fill a replay per batch size, one at a time, and print one JSON line."""
    figures: dict[str, float] = {}
    step = _step(np.random.default_rng(1), time=1)
    for batch_size in (32, 512):
        replay = full_replay(batch_size, capacity)
        figures[f"sample_{batch_size}_microseconds"] = 1e6 * median_seconds(replay.sample, num_calls)
        figures["add_microseconds"] = 1e6 * median_seconds(partial(replay.add, step), num_calls)
    report("replay_sampling", **figures, replay_bytes=memory_bytes(_config(32, capacity), 1, NUM_LANES, FRAME_SHAPE))


def _config(batch_size: int, capacity: int, priority_exponent: float | None = None) -> ReplayConfig:
    return ReplayConfig(
        capacity=capacity,
        capacity_bytes=None,
        min_transitions=batch_size,
        batch_size=batch_size,
        priority_exponent=priority_exponent,
        priority_floor=1e-6,
        importance_exponent=0.4,
        importance_updates=1,
    )


def full_replay(
    batch_size: int, capacity: int = CAPACITY, priority_exponent: float | None = None, n_step: int = 1
) -> ReplayMemory:
    """A replay of 84 x 84 noise that has just become full."""
    config = _config(batch_size, capacity, priority_exponent)
    rng = np.random.default_rng(0)
    replay = ReplayMemory(config, 1, NUM_LANES, FRAME_SHAPE, stack=4, discount=0.99, n_step=n_step, rng=rng)
    noise = np.random.default_rng(2)
    for time in range(capacity // NUM_LANES):
        replay.add(_step(noise, time))
    return replay


def _step(rng: np.random.Generator, time: int) -> LaneStep:
    phase = (time + np.arange(NUM_LANES)) % EPISODE_RECORDS
    return LaneStep(
        frame_tm1=rng.integers(256, size=(NUM_LANES, *FRAME_SHAPE), dtype=np.uint8),
        first_tm1=phase == 0,
        valid=phase != EPISODE_RECORDS - 1,
        a_tm1=rng.integers(18, size=NUM_LANES),
        r_t=np.zeros(NUM_LANES, np.float32),
        continues_t=np.ones(NUM_LANES, np.float32),
    )


if __name__ == "__main__":
    main()
