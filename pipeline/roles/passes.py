"""Several gradients of one batch, one after the other, each at newer parameters.

    collected -> first pass -> ... -> last pass -> collected anew

Schulman et al. 2017, algorithm 1 (its K epochs). Departure: a pass is one gradient of the whole batch, which is a part
of an update of its own; there an epoch goes through a batch in several minibatches.
Not here: what is computed (`pipeline.roles.worker`).
"""

from collections.abc import Callable
from typing import NamedTuple

from pipeline.types import RolloutBatch


class PassesState(NamedTuple):
    """A batch between two passes."""

    num_left: int
    batch: RolloutBatch | None
    """None once there are none left."""


class Passes:
    """Hands each batch out `num_passes` times."""

    def __init__(self, num_passes: int) -> None:
        self._num_passes = num_passes
        self._num_left = 0
        self._batch: RolloutBatch | None = None

    def next(self, collect: Callable[[], RolloutBatch]) -> RolloutBatch:
        """The batch of the next gradient: the same as before, or one from `collect` once that was passed through."""
        if self._batch is None:
            self._batch, self._num_left = collect(), self._num_passes
        batch, self._num_left = self._batch, self._num_left - 1
        if self._num_left == 0:
            self._batch = None
        return batch

    def state(self) -> PassesState:
        """Where it stands."""
        return PassesState(self._num_left, self._batch)

    def restore(self, state: PassesState) -> None:
        """Go on from there."""
        self._num_left, self._batch = state
