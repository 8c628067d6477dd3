"""Small chunks of steps for tests of the global replay: step t of every lane shows frame value t and action t."""

from collections.abc import Sequence

import numpy as np

from pipeline.interfaces import StepChunk
from pipeline.replay.config import ReplayConfig
from pipeline.types import LaneStep
from tests.replay.memories import replay_config

NUM_LANES = 2
STACK = 2


def chunk_replay(**changes: object) -> ReplayConfig:
    """A uniform replay of 64 steps that can be learned from at once."""
    return replay_config(**{"capacity": 64, "min_transitions": 2, "batch_size": 2} | changes)


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
