"""What lanes that are asked only when they are due say of their steps, and where they stand, as values.

Not here: the lanes (`pipeline.envs.due_lanes`).
"""

from typing import NamedTuple

import numpy as np

from pipeline.envs.seeded import LanesState
from pipeline.states import StreamState
from pipeline.types import BoolArray, Float32Array, Int64Array, UInt8Array


class DueStep(NamedTuple):
    """The D lanes that are due, and what their steps did. The arrays are fresh: nobody writes to them later."""

    lanes: Int64Array
    """(D,) ascending."""
    observation: UInt8Array
    """(D, K, H, W), or (D, K, H, W, 3) for RGB: the newest frame of each of the last K steps, oldest first; zeros
    before the episode's start."""
    reward: Float32Array
    """(D,) unclipped, summed over the frames of the step that has just ended."""
    terminated: BoolArray
    """(D,) the game is over. The next action is ignored: it restarts the lane."""
    truncated: BoolArray
    """(D,) the frame cap was reached: no end of the return. The next action is ignored, too."""
    lives: Int64Array
    """(D,) lives left; 0 throughout in games that do not count them."""
    is_reset: BoolArray
    """(D,) there was no step: `observation` is the first of an episode."""


class DueLanesState(NamedTuple):
    """Where lanes are, in mid-step where their frame skip is random; then `streams` and all behind it are there."""

    emulators: LanesState
    due: DueStep
    streams: tuple[StreamState, ...] = ()
    """Of the frame skips, by lane."""
    frames: UInt8Array | None = None
    """(E, K, H, W[, 3]): see `_Stacks`."""
    oldest: Int64Array | None = None
    """(E,)"""
    actions: Int64Array | None = None
    """(E,)"""
    frames_left: Int64Array | None = None
    """(E,)"""
    reward: Float32Array | None = None
    """(E,)"""


def first_step(lanes: Int64Array, observation: UInt8Array, lives: Int64Array) -> DueStep:
    """The step of D lanes that have all just begun an episode."""
    nothing = np.zeros(lanes.size, dtype=np.bool_)
    return DueStep(lanes, observation, np.zeros(lanes.size, np.float32), nothing, nothing, lives, ~nothing)


def restarted(due: DueStep, renewed: BoolArray, observation: UInt8Array, lives: Int64Array) -> DueStep:
    """`due` after the lanes of `renewed` (D,) began anew; `observation` and `lives` are those of all D lanes."""
    return DueStep(
        due.lanes,
        observation,
        np.where(renewed, np.float32(0.0), due.reward),
        due.terminated & ~renewed,
        due.truncated & ~renewed,
        np.where(renewed, lives, due.lives),
        due.is_reset | renewed,
    )


def renewed_rows(due: DueStep, lanes: Int64Array) -> BoolArray:
    """(D,): which of the due lanes are in `lanes`. Raises ValueError for one that is not due."""
    renewed: BoolArray = np.isin(due.lanes, lanes)
    if np.count_nonzero(renewed) != len(lanes):
        raise ValueError(f"lanes {due.lanes.tolist()} are due, and only these can be reset, got {lanes.tolist()}")
    return renewed
