"""When losses or gradients are no numbers any more: such are not sent, and a run that only makes such has to end."""

import math

from pipeline.errors import DivergedError

_MAX_NOT_FINITE = 100
"""Measures in a row that are no numbers, after which the run ends with a reason: it would go on for nothing."""


class DivergenceGuard:
    """Told one measure of each gradient of one role in turn: its loss, or its norm."""

    def __init__(self) -> None:
        self._num_not_finite = 0

    def admits(self, measure: float, version: int) -> bool:
        """Whether `measure`, at parameters of `version`, is a finite number.

        Raises DivergedError, with what to change, when too many in a row were none.
        """
        self._num_not_finite = 0 if math.isfinite(measure) else self._num_not_finite + 1
        if self._num_not_finite >= _MAX_NOT_FINITE:
            raise DivergedError(
                f"loss or gradient was {measure} {_MAX_NOT_FINITE} times in a row at update {version}: lower "
                "optimizer.learning_rate, or clip gradients (algorithm.max_gradient_norm, algorithm.max_average_norm), "
                "and resume from a checkpoint"
            )
        return self._num_not_finite == 0
