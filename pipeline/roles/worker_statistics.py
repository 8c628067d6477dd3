"""What a worker did, gathered over a group of gradients into one row of `updates.csv`.

See also: the same of a learner (`pipeline.roles.statistics`).
Not here: how rows travel to the run folder (`pipeline.cluster.coordination.channel`).
"""

import time
from collections.abc import Sequence
from typing import NamedTuple

import torch

from pipeline.algorithms.actor_critic import ActorCriticLoss
from pipeline.roles.statistics import ReceiptCounts, ReceiptState
from pipeline.rows import ActorCriticUpdateRow
from pipeline.types import Float32Array, Receipt

_ACTIVE = 1e-3
"""Of the largest root mean square of a filter's gradient; that of a filter which is off is smaller, mostly nothing."""


class WorkerSums(NamedTuple):
    """The group so far, times aside."""

    num_updates: int
    policy_loss: float
    value_loss: float
    entropy: float
    explained_variance: float
    value: float
    gradient_norm: float
    filter_squares: Float32Array | None
    receipts: ReceiptState
    first_step: int


class WorkerStatistics:
    """Sums over the gradients of one group; `row` closes the group and begins the next."""

    def __init__(self, role: str, num_steps: int) -> None:
        self._role = role
        self._computed_at: float | None = None
        """When the last gradient was, of this group or one before."""
        self._begin(num_steps)

    def _begin(self, num_steps: int) -> None:
        self.num_updates = 0
        self._policy_loss = self._value_loss = self._entropy = self._explained_variance = self._value = 0.0
        self._gradient_norm = self._waited_seconds = self._max_pause_seconds = self._delayed_seconds = 0.0
        self._filter_squares: torch.Tensor | None = None
        self._receipts = ReceiptCounts()
        self._first_step = num_steps
        self._started = time.monotonic()

    def state(self) -> WorkerSums:
        """The group so far."""
        squares = self._filter_squares
        return WorkerSums(
            self.num_updates,
            self._policy_loss,
            self._value_loss,
            self._entropy,
            self._explained_variance,
            self._value,
            self._gradient_norm,
            None if squares is None else squares.detach().cpu().numpy().copy(),
            self._receipts.state(),
            self._first_step,
        )

    def restore(self, state: WorkerSums) -> None:
        """Go on with that group; its time begins now."""
        self._begin(state.first_step)
        self.num_updates, self._policy_loss, self._value_loss = state.num_updates, state.policy_loss, state.value_loss
        self._entropy, self._explained_variance = state.entropy, state.explained_variance
        self._value, self._gradient_norm = state.value, state.gradient_norm
        self._filter_squares = None if state.filter_squares is None else torch.from_numpy(state.filter_squares.copy())
        self._receipts.restore(state.receipts)

    def computed(self, loss: ActorCriticLoss, gradient_norm: float, first_layer: torch.Tensor) -> None:
        """Count a gradient, of which `first_layer` (filters, weights of each) is the first convolution's part."""
        self.num_updates += 1
        self._policy_loss += loss.policy_loss.item()
        self._value_loss += loss.value_loss.item()
        self._entropy += loss.entropy.item()
        self._explained_variance += loss.explained_variance.item()
        self._value += loss.mean_value.item()
        self._gradient_norm += gradient_norm
        squares = first_layer.square().sum(dim=1)
        self._filter_squares = squares if self._filter_squares is None else self._filter_squares + squares
        now = time.monotonic()
        if self._computed_at is not None:
            self._max_pause_seconds = max(self._max_pause_seconds, now - self._computed_at)
        self._computed_at = now

    def answered(self, receipts: Sequence[Receipt]) -> None:
        """Count what became of a gradient that was sent; nothing without receipts."""
        self._receipts.add(receipts)

    def waited(self, seconds: float) -> None:
        """Add a wait for the quorum."""
        self._waited_seconds += seconds

    def delayed(self, seconds: float) -> None:
        """Add a sleep of a simulated straggler."""
        self._delayed_seconds += seconds

    def row(self, *, version: int, num_steps: int, total_frames: int, wall_seconds: float) -> ActorCriticUpdateRow:
        """The group as a row; begins a new group."""
        seconds = max(time.monotonic() - self._started, 1e-9)
        count = self.num_updates
        row = ActorCriticUpdateRow(
            role=self._role,
            num_updates=count,
            num_admitted=self._receipts.num_admitted,
            num_dropped_late=self._receipts.num_late,
            num_dropped_stale=self._receipts.num_stale,
            num_refused=self._receipts.num_refused,
            version=version,
            total_frames=total_frames,
            mean_policy_loss=self._policy_loss / count,
            mean_value_loss=self._value_loss / count,
            mean_entropy=self._entropy / count,
            mean_explained_variance=self._explained_variance / count,
            mean_gradient_norm=self._gradient_norm / count,
            mean_value=self._value / count,
            active_filters=self._active_filters(),
            mean_staleness=self._receipts.mean_staleness,
            max_staleness=self._receipts.max_staleness,
            steps_per_second=(num_steps - self._first_step) / seconds,
            updates_per_second=count / seconds,
            waited_seconds=self._waited_seconds,
            max_pause_seconds=self._max_pause_seconds,
            delayed_seconds=self._delayed_seconds,
            wall_seconds=wall_seconds,
        )
        self._begin(num_steps)
        return row

    def _active_filters(self) -> float:
        squares = self._filter_squares
        if squares is None:
            return 0.0
        return (squares > _ACTIVE**2 * squares.max()).float().mean().item()
