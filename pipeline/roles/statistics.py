"""What a learner did, gathered over a group of updates into one row of `updates.csv`.

See also: the same of a worker (`pipeline.roles.worker_statistics`).
Not here: how rows travel to the run folder (`pipeline.cluster.coordination.channel`).
"""

import time
from collections.abc import Sequence
from typing import NamedTuple

from pipeline.rows import UpdateRow
from pipeline.types import Receipt


class ReceiptState(NamedTuple):
    """The counts so far."""

    num_admitted: int
    num_stale: int
    num_late: int
    num_refused: int
    max_staleness: int
    staleness: int
    num_receipts: int


class UpdateSums(NamedTuple):
    """The group so far, times aside."""

    num_updates: int
    num_outliers: int
    loss: float
    gradient_norm: float
    q: float
    receipts: ReceiptState
    first_step: int


class ReceiptCounts:
    """What became of the gradients of one group."""

    def __init__(self) -> None:
        self.num_admitted = self.num_stale = self.num_late = self.num_refused = 0
        self.max_staleness = 0
        self._staleness = self._num_receipts = 0

    @property
    def mean_staleness(self) -> float:
        """Versions, over all receipts; 0.0 without any."""
        return self._staleness / max(self._num_receipts, 1)

    def state(self) -> ReceiptState:
        """The counts so far."""
        return ReceiptState(
            self.num_admitted,
            self.num_stale,
            self.num_late,
            self.num_refused,
            self.max_staleness,
            self._staleness,
            self._num_receipts,
        )

    def restore(self, state: ReceiptState) -> None:
        """Go on from there."""
        self.num_admitted, self.num_stale, self.num_late, self.num_refused = state[:4]
        self.max_staleness, self._staleness, self._num_receipts = state[4:]

    def add(self, receipts: Sequence[Receipt], num_gradients: int = 1) -> None:
        """Count what became of so many gradients, sent as one: one receipt per shard, or none yet."""
        if not receipts:
            return
        reasons = {receipt.reason for receipt in receipts}
        if reasons == {""}:
            self.num_admitted += num_gradients
        elif "stale" in reasons:
            self.num_stale += num_gradients
        elif "late" in reasons:
            self.num_late += num_gradients
        else:
            self.num_refused += num_gradients
        self._num_receipts += len(receipts)
        self._staleness += sum(receipt.staleness for receipt in receipts)
        self.max_staleness = max(self.max_staleness, *(receipt.staleness for receipt in receipts))


class UpdateStatistics:
    """Sums over the updates of one group; `row` closes the group and begins the next."""

    def __init__(self, role: str, num_steps: int) -> None:
        self._role = role
        self._begin(num_steps)

    def _begin(self, num_steps: int) -> None:
        self.num_updates = 0
        self._num_outliers = 0
        self._loss = self._gradient_norm = self._q = 0.0
        self._receipts = ReceiptCounts()
        self._first_step = num_steps
        self._started = time.monotonic()

    def state(self) -> UpdateSums:
        """The group so far."""
        return UpdateSums(
            self.num_updates,
            self._num_outliers,
            self._loss,
            self._gradient_norm,
            self._q,
            self._receipts.state(),
            self._first_step,
        )

    def restore(self, state: UpdateSums) -> None:
        """Go on with that group; its time begins now."""
        self._begin(state.first_step)
        self.num_updates, self._num_outliers = state.num_updates, state.num_outliers
        self._loss, self._gradient_norm, self._q = state.loss, state.gradient_norm, state.q
        self._receipts.restore(state.receipts)

    def outlier(self, loss: float, mean_q: float) -> None:
        """Count a gradient that the learner threw away for its loss."""
        self._count(loss, mean_q)
        self._num_outliers += 1

    def computed(self, loss: float, mean_q: float, gradient_norm: float) -> None:
        """Count a gradient that is to be sent."""
        self._count(loss, mean_q)
        self._gradient_norm += gradient_norm

    def answered(self, receipts: Sequence[Receipt], num_gradients: int) -> None:
        """Count what became of so many gradients, sent as one: one receipt per shard."""
        self._receipts.add(receipts, num_gradients)

    def row(
        self,
        *,
        version: int,
        num_steps: int,
        total_frames: int,
        epsilon: float,
        heldout_max_q: float,
        replay_transitions: int,
        waited_seconds: float,
        wall_seconds: float,
    ) -> UpdateRow:
        """The group as a row; begins a new group."""
        seconds = max(time.monotonic() - self._started, 1e-9)
        num_pushed = max(self.num_updates - self._num_outliers, 1)
        row = UpdateRow(
            role=self._role,
            num_updates=self.num_updates,
            num_admitted=self._receipts.num_admitted,
            num_dropped_stale=self._receipts.num_stale + self._receipts.num_late,
            num_dropped_outlier=self._num_outliers,
            num_refused=self._receipts.num_refused,
            version=version,
            total_frames=total_frames,
            mean_loss=self._loss / self.num_updates,
            mean_gradient_norm=self._gradient_norm / num_pushed,
            mean_q=self._q / self.num_updates,
            heldout_max_q=heldout_max_q,
            mean_staleness=self._receipts.mean_staleness,
            max_staleness=self._receipts.max_staleness,
            epsilon=epsilon,
            steps_per_second=(num_steps - self._first_step) / seconds,
            updates_per_second=self.num_updates / seconds,
            replay_transitions=replay_transitions,
            waited_seconds=waited_seconds,
            wall_seconds=wall_seconds,
        )
        self._begin(num_steps)
        return row

    def _count(self, loss: float, mean_q: float) -> None:
        self.num_updates += 1
        self._loss += loss
        self._q += mean_q
