"""What a worker that learns values did, gathered over a group of gradients into one row of `updates.csv`.

Not here: the sums (`pipeline.roles.statistics`), the same of a worker that learns a policy
(`pipeline.roles.worker_statistics`).
"""

from collections.abc import Callable, Sequence

import torch

from pipeline.algorithms.q_learning import MinibatchLoss
from pipeline.roles.statistics import UpdateStatistics
from pipeline.rows import UpdateRow
from pipeline.types import Receipt


class QWorkerStatistics:
    """Sums over the gradients of one group; `row` closes the group and begins the next."""

    def __init__(
        self, role: str, num_steps: int, epsilon: Callable[[], float], heldout_max_q: Callable[[], float]
    ) -> None:
        """`epsilon` and `heldout_max_q` say what these are when a row is made."""
        self.sums = UpdateStatistics(role, num_steps)
        self._epsilon = epsilon
        self._heldout_max_q = heldout_max_q
        self._waited_seconds = 0.0

    @property
    def num_updates(self) -> int:
        """Gradients in the group so far."""
        return self.sums.num_updates

    def computed(self, loss: MinibatchLoss, gradient_norm: float, first_layer: torch.Tensor) -> None:
        """Count a gradient; of its first layer nothing is told."""
        self.sums.computed(loss.mean_loss.item(), loss.mean_q.item(), gradient_norm)

    def answered(self, receipts: Sequence[Receipt]) -> None:
        """Count what became of a gradient that was sent; nothing without receipts."""
        self.sums.answered(receipts, num_gradients=1)

    def waited(self, seconds: float) -> None:
        """Add a wait for the quorum."""
        self._waited_seconds += seconds

    def delayed(self, seconds: float) -> None:
        """Of a simulated straggler's sleeps nothing is told."""

    def row(self, *, version: int, num_steps: int, total_frames: int, wall_seconds: float) -> UpdateRow:
        """The group as a row; begins a new group."""
        row = self.sums.row(
            version=version,
            num_steps=num_steps,
            total_frames=total_frames,
            epsilon=self._epsilon(),
            heldout_max_q=self._heldout_max_q(),
            replay_transitions=0,
            waited_seconds=self._waited_seconds,
            wall_seconds=wall_seconds,
        )
        self._waited_seconds = 0.0
        return row
