"""Proportional prioritised draws: what surprised more is drawn more often (Schaul et al. 2016).

The priority of record i is p_i = (|error_i| + floor) ** alpha, its chance p_i / sum_k p_k (equation 1 and section 3.3,
"proportional"). A draw of B cuts the sum into B equal stretches and takes one uniform point of each (section 3.3): each
record is drawn as often as by B independent draws in the mean, and more evenly. A new transition gets the largest
priority seen so far, 1 at first (algorithm 1), so that each is drawn soon after it came. Departure, for Ape-X: there
actors work out the error of what they send.

Not here: the importance weights that make up for unequal chances (`algorithms.importance`).
"""

import numpy as np

from pipeline.errors import CheckpointError
from pipeline.replay.ring import Change, LaneRing
from pipeline.replay.sampler import Draw, SamplerState
from pipeline.replay.sum_tree import SumTree
from pipeline.states import restore_stream, stream_state
from pipeline.types import Float32Array, Int64Array


class PrioritisedSampler:
    """A sum tree over all records of a ring; those that cannot be sampled have priority 0."""

    def __init__(self, ring: LaneRing, exponent: float, floor: float, rng: np.random.Generator) -> None:
        """`exponent` is alpha; with `floor`, an error of zero still has a chance."""
        self._ring = ring
        self._exponent = exponent
        self._floor = floor
        self._rng = rng
        self._priorities = SumTree(ring.samplable.size)
        self._largest = 1.0

    @property
    def nbytes(self) -> int:
        """Bytes of the sum tree."""
        return self._priorities.nbytes

    @property
    def mass(self) -> float:
        """Sum of all priorities."""
        return self._priorities.total

    def note(self, change: Change) -> None:
        """Retired records lose their priority, admitted ones get the largest."""
        records = np.concatenate([change.retired, change.admitted])
        if len(records) > 0:
            # No record is in both: a ring has room for a stack and n successors.
            priorities = np.zeros(len(records))
            priorities[len(change.retired) :] = self._largest
            self._priorities.set(records, priorities)

    def draw(self, count: int) -> Draw:
        """`count` records in ascending order. ValueError if none is samplable."""
        total = self._priorities.total
        records = self._priorities.find((np.arange(count) + self._rng.random(count)) * (total / count))
        relative_chance = self._priorities.get(records) * (self._ring.num_samplable / total)
        return Draw(records, relative_chance.astype(np.float32))

    def update(self, records: Int64Array, abs_error: Float32Array) -> None:
        """Set the priorities of samplable records (B,)."""
        if len(records) > 0:
            priorities = (abs_error.astype(np.float64) + self._floor) ** self._exponent
            self._largest = max(self._largest, float(priorities.max()))
            self._priorities.set(records, priorities)

    def state(self) -> SamplerState:
        """Its stream, and the priorities of all records."""
        leaves = self._priorities.get(np.arange(self._priorities.size))
        return SamplerState(stream_state(self._rng), leaves, self._largest)

    def restore(self, state: SamplerState) -> None:
        """Go on drawing from there."""
        if state.priorities is None or state.priorities.size != self._priorities.size:
            raise CheckpointError("the saved replay has other priorities than this one: resume with the same replay")
        restore_stream(self._rng, state.stream)
        self._priorities.set(np.arange(self._priorities.size), state.priorities)
        self._largest = state.largest

    def check_valid(self) -> None:
        """AssertionError unless the samplable records, and they alone, have a priority, none above the largest."""
        self._priorities.check_valid()
        priorities = self._priorities.get(np.arange(self._priorities.size))
        wrong = np.flatnonzero((priorities > 0) != self._ring.samplable.ravel())
        if wrong.size > 0:
            raise AssertionError(f"records {wrong.tolist()} have a priority and are not samplable, or the reverse")
        if priorities.max() > self._largest:
            raise AssertionError(f"a priority of {priorities.max()} is above the largest so far, {self._largest}")
