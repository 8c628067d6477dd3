"""Small chunks of steps for tests of the global replay: step t of every lane shows frame value t and action t."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pipeline.interfaces import StepChunk
from pipeline.replay.config import ReplayConfig
from pipeline.types import LaneStep

NUM_LANES = 2
STACK = 2


def replay_config(**changes: object) -> ReplayConfig:
    """A uniform replay of 64 steps that can be learned from at once."""
    config = ReplayConfig(
        capacity=64,
        capacity_bytes=None,
        min_transitions=2,
        batch_size=2,
        priority_exponent=None,
        priority_floor=1e-6,
        importance_exponent=0.4,
        importance_updates=100,
    )
    return replace(config, **changes)  # type: ignore[arg-type]


def lane_step(number: int, first: bool = False) -> LaneStep:
    """Step `number` of both lanes."""
    return LaneStep(
        frame_tm1=np.full((NUM_LANES, 6, 5), number % 256, np.uint8),
        first_tm1=np.full(NUM_LANES, first),
        valid=np.ones(NUM_LANES, np.bool_),
        a_tm1=np.full(NUM_LANES, number % 256, np.int64),
        r_t=np.ones(NUM_LANES, np.float32),
        continues_t=np.ones(NUM_LANES, np.float32),
    )


def chunk_of(
    numbers: Sequence[int], writer: int = 0, attempt: int = 1, sequence: int = 1, first: bool = False
) -> StepChunk:
    """These steps in one chunk; the first one begins an episode if `first`, or if it is step 0."""
    steps = [lane_step(number, first=(first and i == 0) or number == 0) for i, number in enumerate(numbers)]
    return StepChunk(writer, attempt, sequence, LaneStep(*(np.stack(fields) for fields in zip(*steps, strict=True))))
