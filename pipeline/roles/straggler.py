"""Workers that are made slow on purpose, to see what others wait for.

Not here: who waits for whom (`pipeline.param_server.quorum`).
"""

from collections import Counter
from typing import NamedTuple

import numpy as np

CONSTANT, EXPONENTIAL = DISTRIBUTIONS = ("constant", "exponential")

Stragglers = tuple[tuple[int, str, float], ...]
"""Who sleeps before each gradient it sends: ((index of a worker, distribution, mean seconds of a sleep), ...)."""


class Delay(NamedTuple):
    """How long one straggler sleeps."""

    distribution: str
    """"constant", or "exponential" around `mean_seconds`."""
    mean_seconds: float

    def draw(self, rng: np.random.Generator) -> float:
        """Seconds of the next sleep; a constant one draws nothing from `rng`."""
        return self.mean_seconds if self.distribution == CONSTANT else float(rng.exponential(self.mean_seconds))


def delay_of(stragglers: Stragglers, index: int) -> Delay | None:
    """How long worker `index` sleeps; None if it is no straggler."""
    return next((Delay(kind, seconds) for worker, kind, seconds in stragglers if worker == index), None)


def stragglers_mistakes(stragglers: Stragglers, num_workers: int) -> list[str]:
    """What is wrong with them where there are `num_workers` workers, one line each, beginning with "stragglers"."""
    found = []
    for worker, count in Counter(worker for worker, _, _ in stragglers).items():
        if count > 1:
            found.append(f"stragglers: worker {worker} is named {count} times, and has one delay")
        # A run without any worker has a line of its own.
        if num_workers > 0 and not 0 <= worker < num_workers:
            found.append(f"stragglers: worker {worker} is none of 0 to {num_workers - 1}, backup workers included")
    for worker, distribution, mean_seconds in stragglers:
        if distribution not in DISTRIBUTIONS:
            found.append(f"stragglers: {distribution} of worker {worker} must be one of {', '.join(DISTRIBUTIONS)}")
        if mean_seconds < 0:
            found.append(f"stragglers: {mean_seconds} seconds of worker {worker} must be at least 0")
    return found
