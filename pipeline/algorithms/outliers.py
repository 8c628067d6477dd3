"""Gorila's guard against outlying gradients: one whose loss is far above the recent ones is thrown away.

Nair et al. 2015 keep a running mean and standard deviation of the absolute loss and reject what lies several deviations
above (how many, and how long their memory is, has not come down to us: both are settings). A loss is never negative, so
it is its own absolute value. Departures: what is judged is the clipped loss of a minibatch, its mean, not each error;
and errors that rewards explain are no outliers. Without that, whatever is rarer than one minibatch in k^2 could be
thrown away for ever (Chebyshev's inequality), and in many games a reward is.
Not here: stale gradients (`pipeline.param_server`).
"""

import math
from collections.abc import Callable
from typing import NamedTuple


class OutlierState(NamedTuple):
    """What a rule remembers."""

    num_losses: int
    mean: float
    variance: float


class LossOutlierRule:
    """Judges each minibatch's mean loss against those before it. One per learner.

    Case by case:
    * not finite: rejected, always, and forgotten;
    * `deviations` is None: everything finite is admitted;
    * warm-up, the first 1 / (1 - decay) finite losses (rounded), which is how far the memory reaches: admitted;
    * all losses so far were equal, so that no deviation is known: admitted;
    * no error above `min_error`: admitted;
    * above mean + deviations * deviation: rejected. It still enters the statistics, as at most twice that threshold:
      so one freak loss, however large, cannot blind the rule for long, while a lasting rise pulls the threshold up
      geometrically until it admits again;
    * else admitted.
    """

    def __init__(self, deviations: float | None, decay: float, min_error: float) -> None:
        """`deviations`: k; None admits all that is finite. `decay` in (0, 1): see `mean`. `min_error`: at least 0."""
        self._deviations = deviations
        self._decay = decay
        self._min_error = min_error
        self._num_warmup = round(1.0 / (1.0 - decay))
        self._num_losses = 0
        self._mean = 0.0
        self._variance = 0.0

    @property
    def mean(self) -> float:
        """Weighted mean of the losses so far; weight decay^n for the one n losses ago, weights summing to 1."""
        return self._mean

    @property
    def deviation(self) -> float:
        """Standard deviation of the losses so far, with the same weights."""
        return math.sqrt(self._variance)

    def state(self) -> OutlierState:
        """What it remembers."""
        return OutlierState(self._num_losses, self._mean, self._variance)

    def restore(self, state: OutlierState) -> None:
        """Remember that instead."""
        self._num_losses, self._mean, self._variance = state

    def admit(self, loss: float, largest_error: Callable[[], float]) -> bool:
        """True if the gradient of this loss is to be sent. Judged first, then `loss` enters the statistics.

        `largest_error` of the minibatch's values, in clipped rewards; asked only where the loss would be rejected.
        """
        if not math.isfinite(loss):
            return False
        threshold = self._threshold()
        admitted = loss <= threshold or largest_error() <= self._min_error
        self._remember(loss if admitted else min(loss, 2.0 * threshold))
        return admitted

    def _threshold(self) -> float:
        if self._deviations is None or self._num_losses < self._num_warmup or self._variance == 0.0:
            return math.inf
        return self._mean + self._deviations * self.deviation

    def _remember(self, loss: float) -> None:
        # Incremental form of the weighted mean and variance with weights that sum to 1: the bias correction of Adam
        # (Kingma and Ba 2015, section 3), without the cancellation of E[x^2] - E[x]^2.
        self._num_losses += 1
        weight = (1.0 - self._decay) / (1.0 - self._decay**self._num_losses)
        change = loss - self._mean
        self._mean += weight * change
        self._variance = (1.0 - weight) * (self._variance + weight * change * change)
