"""What a replay asks of the part that draws: the interface of `replay.uniform` and `replay.prioritised`.

Calling order: `note(ring.add(...))` after each step; `draw(B)`, then perhaps, now or later, `update(records, errors)`.
"""

from typing import NamedTuple, Protocol

from pipeline.replay.ring import Change
from pipeline.states import StreamState
from pipeline.types import Float32Array, Float64Array, Int64Array


class Draw(NamedTuple):
    """B records, drawn with replacement."""

    records: Int64Array
    """(B,), each of them samplable."""
    relative_chance: Float32Array
    """(B,): chance of drawing this record, times the number of samplable records."""


class SamplerState(NamedTuple):
    """What a sampler knows that the ring does not."""

    stream: StreamState
    priorities: Float64Array | None = None
    """(records,); None where all are alike."""
    largest: float = 0.0


class Sampler(Protocol):
    """Draws from the samplable records of one ring."""

    @property
    def nbytes(self) -> int:
        """Bytes of what the sampler keeps about each record."""

    @property
    def mass(self) -> float:
        """What this replay weighs among others from which transitions are drawn: the sum of what chances go by."""

    def note(self, change: Change) -> None:
        """Learn which records can be sampled now, and which no more."""

    def draw(self, count: int) -> Draw:
        """`count` records; at least one must be samplable."""

    def update(self, records: Int64Array, abs_error: Float32Array) -> None:
        """Learn how large the error of these samplable records (B,) is; where one comes twice, the last counts."""

    def state(self) -> SamplerState:
        """A copy of what it knows."""

    def restore(self, state: SamplerState) -> None:
        """Go on from there; the ring was restored before. CheckpointError for the state of another kind of sampler."""

    def check_valid(self) -> None:
        """AssertionError if what it keeps does not fit the ring. Looks at every record: for tests."""
