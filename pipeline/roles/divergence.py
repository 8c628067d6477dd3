"""When a run has to end because it would go on for nothing.

DivergenceGuard   losses or gradients are no numbers any more: such are not sent
BlindnessGuard    the network answers the same whatever it sees: its rectifiers are all off, which no gradient mends
"""

import math

import numpy as np
import torch

from pipeline.errors import DivergedError
from pipeline.types import UInt8Array

_MAX_NOT_FINITE = 100
"""Measures in a row that are no numbers, after which the run ends with a reason."""

_SAME = 1e-6
"""Answers that differ by less, in units of the largest, are the same: a sum may depend on its row. There is no absolute
bound: where no reward has been seen yet, a network that sees rightly answers next to nothing everywhere."""


def differ(states: UInt8Array) -> bool:
    """Whether not all states (B, K, H, W[, 3]) are the same: what looks the same need not be told apart."""
    # One by one: where they differ, as they nearly always do, the first two tell.
    return any(not np.array_equal(state, states[0]) for state in states[1:])


class DivergenceGuard:
    """Told one measure of each gradient of one role in turn: its loss, or its norm."""

    def __init__(self) -> None:
        self.num_in_a_row = 0
        """Measures that were no numbers; all its state."""

    def admits(self, measure: float, version: int) -> bool:
        """Whether `measure`, at parameters of `version`, is a finite number.

        Raises DivergedError, with what to change, when too many in a row were none.
        """
        self.num_in_a_row = 0 if math.isfinite(measure) else self.num_in_a_row + 1
        if self.num_in_a_row >= _MAX_NOT_FINITE:
            raise DivergedError(
                f"loss or gradient was {measure} {_MAX_NOT_FINITE} times in a row at update {version}: lower "
                "optimizer.learning_rate (and its learning_rate_changes), or clip gradients "
                "(algorithm.max_gradient_norm, algorithm.max_average_norm), and begin anew"
            )
        return self.num_in_a_row == 0


class BlindnessGuard:
    """Told, now and then, what a network answers to several states that are not all the same."""

    def __init__(self, max_blind: int) -> None:
        """`max_blind`: such measures in a row, after which the run ends with a reason."""
        self._max_blind = max_blind
        self.num_in_a_row = 0
        """Measures that were blind; all its state that is saved."""
        self._has_answered = False
        """Whether an answer was ever another one than 0."""

    def see(self, answers: torch.Tensor, version: int) -> None:
        """Take `answers` (B,), one per state, of parameters of `version`.

        Raises DivergedError, with what to change, when too many in a row told the states apart by nothing.
        """
        lowest, highest = (value.item() for value in answers.detach().aminmax())
        largest = max(abs(lowest), abs(highest))
        # Exactly 0 is what an output layer that begins at zero answers until the first reward.
        self._has_answered = self._has_answered or largest > 0 or self.num_in_a_row > 0
        is_blind = self._has_answered and highest - lowest <= _SAME * largest
        self.num_in_a_row = self.num_in_a_row + 1 if is_blind else 0
        if self.num_in_a_row >= self._max_blind:
            raise DivergedError(
                f"the network gives the same answer, {highest:g}, to every state at update {version}: steps that were "
                "too large have switched its rectifiers off for good. Lower optimizer.learning_rate (and its "
                "learning_rate_changes), or raise optimizer.epsilon (Adam: 1.5e-4 instead of 1e-8), and begin anew"
            )
