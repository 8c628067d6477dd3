"""Small replays to test with."""

from typing import Any

import numpy as np

from pipeline.replay.config import ReplayConfig
from pipeline.replay.memory import ReplayMemory
from tests.replay.slow_replay import DISCOUNT


def replay_config(**changes: Any) -> ReplayConfig:
    """A uniform replay without a minimum, but for the changes; its capacity is to be given."""
    settings = {
        "capacity_bytes": None,
        "min_transitions": 1,
        "batch_size": 1,
        "priority_exponent": None,
        "priority_floor": 0.01,
        "importance_exponent": 0.4,
        "importance_updates": 1,
    }
    return ReplayConfig(**(settings | changes))


def make_replay(
    capacity: int,
    num_writers: int = 1,
    num_lanes: int = 1,
    frame_shape: tuple[int, ...] = (1, 1),
    stack: int = 3,
    n_step: int = 1,
    batch_size: int = 64,
    alpha: float | None = None,
    seed: int = 0,
) -> ReplayMemory:
    """A batch may be larger than the replay: sampling is with replacement."""
    config = replay_config(capacity=capacity, batch_size=batch_size, priority_exponent=alpha)
    rng = np.random.default_rng(seed)
    return ReplayMemory(config, num_writers, num_lanes, frame_shape, stack, DISCOUNT, n_step, rng)
