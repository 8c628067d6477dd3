"""Uniform draws: each transition equally likely, however many its lane or its writer has (Mnih et al. 2015, Methods).

Not here: when a record can be drawn (`pipeline.replay.ring`).
"""

import numpy as np

from pipeline.errors import CheckpointError
from pipeline.replay.ring import Change, LaneRing
from pipeline.replay.sampler import Draw, SamplerState
from pipeline.states import restore_stream, stream_state
from pipeline.types import Float32Array, Int64Array


class UniformSampler:
    """Draws a written record; one that cannot be sampled is drawn again. Keeps nothing, and asks the ring instead.

    At most one record per lane and episode, and K + n per lane, cannot be sampled: few are drawn twice.
    """

    nbytes = 0

    def __init__(self, ring: LaneRing, rng: np.random.Generator) -> None:
        self._ring = ring
        self._rng = rng

    @property
    def mass(self) -> float:
        """Samplable records."""
        return float(self._ring.num_samplable)

    def note(self, change: Change) -> None:
        """Nothing to learn."""

    def draw(self, count: int) -> Draw:
        """`count` records; never returns where none is samplable."""
        records = self._draw_any(count)
        rejected = np.flatnonzero(~self._ring.samplable.take(records))
        while rejected.size > 0:
            records[rejected] = self._draw_any(rejected.size)
            rejected = rejected[~self._ring.samplable.take(records[rejected])]
        return Draw(records, np.ones(count, np.float32))

    def update(self, records: Int64Array, abs_error: Float32Array) -> None:
        """Nothing to learn."""

    def state(self) -> SamplerState:
        """Where its stream stands."""
        return SamplerState(stream_state(self._rng))

    def restore(self, state: SamplerState) -> None:
        """Go on drawing from there."""
        if state.priorities is not None:
            raise CheckpointError("the saved replay has priorities, this one has none: resume with the same replay")
        restore_stream(self._rng, state.stream)

    def check_valid(self) -> None:
        """Nothing to check."""

    def _draw_any(self, count: int) -> Int64Array:
        """(count,) record numbers, uniform over all records that have been written."""
        ring = self._ring
        fill = np.array([ring.lane_fill(writer) for writer in range(len(ring.num_steps))])
        end = np.cumsum(fill * ring.lanes_per_writer)  # of each writer's records, counted through
        number = self._rng.integers(end[-1], size=count)
        writer = np.searchsorted(end, number, side="right")
        lane, slot = np.divmod(number - (end - fill * ring.lanes_per_writer)[writer], fill[writer])
        return (writer * ring.lanes_per_writer + lane) * ring.lane_capacity + slot
