"""How many gradients an update waits for, chosen anew for each one from the times that workers take. Logic without I/O.

    T(k)   mean seconds until the k-th of all workers has committed, from the newest gradients of each
    g(k)   progress of an update that is the mean of k gradients
    k      from N to N + b, whatever makes g(k) / T(k) largest

Xu et al. 2020, "Dynamic backup workers for parallel machine learning" (arXiv 2004.14696). They estimate g from norms of
gradients and from the loss. Departure: here g(k) = k / (k + B), the form that McCandlish et al. 2018 ("An empirical
model of large-batch training") give it, with their noise scale B, in gradients, as a setting. Without one, g(k) = k:
gradients of reinforcement learning are mostly noise, and twice as many are worth twice as much.
Not here: which gradients make an update (`pipeline.param_server.quorum`).
"""

import math
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

_LOOK_SECONDS = 0.25
"""Between two looks at least: of a thousand workers that wait, hundreds ask each second."""
KEPT = 20
"""Newest gradients of a worker, of which T(k) is made: some seconds to minutes."""


class QuorumRange(NamedTuple):
    """From which the size of each update is chosen."""

    least: int
    """N"""
    most: int
    """N + b"""
    noise_scale: float | None = None
    """B: gradients of which an update makes half of the progress that any could make; None: without end."""


def least_of(size: int | QuorumRange) -> int:
    """Gradients without which there is no update."""
    return size if isinstance(size, int) else size.least


class QuorumSize:
    """Knows since when each worker computes, and how long it took before. Times are seconds on the caller's clock."""

    def __init__(self, size: int | QuorumRange) -> None:
        """A number: it is always that one."""
        self.now = least_of(size)
        """Gradients that the open update waits for."""
        self._range = size if isinstance(size, QuorumRange) else None
        self._seconds: dict[str, deque[float]] = {}
        """By worker, the last one to commit last."""
        self._since: dict[str, float] = {}
        """When each began with the gradient that it now computes; who waits for others is not there."""
        self._looked_at = -math.inf

    def committed(self, sender: str, at: float, *, waits: bool) -> None:
        """A gradient of this worker is there; `waits`: it begins with the next one when the update is closed."""
        if self._range is None:
            return
        taken = self._seconds.pop(sender, deque(maxlen=KEPT))
        if sender in self._since:
            taken.append(at - self._since.pop(sender))
        self._seconds[sender] = taken
        if not waits:
            self._since[sender] = at
        # One that was started in place of another has another name.
        for lost in list(self._seconds)[: -self._range.most]:
            del self._seconds[lost]
            self._since.pop(lost, None)

    def opened(self, at: float) -> None:
        """The next update is open, and all who have waited for it begin with its gradients.

        Those who made the last one, and those who came while it was held.
        """
        if self._range is not None:
            self._since = dict.fromkeys(self._seconds, at) | self._since
            self.now = best_size(self.seconds(at), self._range)

    def look(self, at: float) -> None:
        """Somebody still waits: who is late by now takes longer than was thought. Never more than before."""
        if self._range is not None and at >= self._looked_at + _LOOK_SECONDS:
            self._looked_at = at
            self.now = min(self.now, best_size(self.seconds(at), self._range))

    def seconds(self, at: float) -> Sequence[float]:
        """T(1), T(2), ... of the workers that are known."""
        known = [self._times(sender, at) for sender, taken in self._seconds.items() if taken]
        if not known:
            return ()
        newest = [sorted(times[-1 - min(back, len(times) - 1)] for times in known) for back in range(KEPT)]
        return [sum(row[k] for row in newest) / KEPT for k in range(len(known))]

    def _times(self, sender: str, at: float) -> Sequence[float]:
        """Its newest gradients; the one that it is at counts as soon as it takes longer than any of them."""
        taken = self._seconds[sender]
        so_far = at - self._since.get(sender, math.inf)
        return (so_far,) if so_far > max(taken) else taken


def best_size(seconds: Sequence[float], size: QuorumRange) -> int:
    """The number of gradients that makes the most progress a second, given T(1), T(2), ...; least, while few are known.

    Of numbers that are equally good the largest.
    """
    found, best = size.least, 0.0
    for k in range(size.least, min(size.most, len(seconds)) + 1):
        progress = float(k) if size.noise_scale is None else k / (k + size.noise_scale)
        rate = progress / max(seconds[k - 1], 1e-9)
        if rate >= best:
            found, best = k, rate
    return found
