"""Time as far as somebody looked: whatever stands still with its whole process finds that hardly any has gone by.

    looks       0.0   0.5   1.0  (Ctrl-Z, and an hour later fg)  3601.0   3601.5
    seconds     0.0   0.5   1.0                                     2.0      2.5

One who waits for others with a deadline cannot tell on a clock whether they were late, or all stood still together: a
job that Slurm has suspended, a laptop that slept. What it waits for is then as far as before, and may be here a moment
after the pause, too late for every clock. So each look adds a second at most, and whoever waits looks that often.
Whoever looks more seldom, by a limit of its own, says how much a look may add (`longest_seconds`).
Not here: what a pause is a part of: when something is due (`pipeline.experiments.life.Every`), how long a run has taken
(`pipeline.roles.place`). Nor one answer of Dask's, which counts on a clock of its own.
"""

import time
from collections.abc import Callable, Iterator

LONGEST_SECONDS = 1.0
"""What one look adds at most: longer than a look takes on a busy machine, short beside any deadline of ours."""


class WatchedTime:
    """Seconds that went by between looks. Used by one thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, longest_seconds: float = LONGEST_SECONDS) -> None:
        """Begins now. `longest_seconds`: what one look adds at most."""
        self.seconds = 0.0
        """Sum of what the looks have added; its owner may begin it anew."""
        self._clock = clock
        self._longest_seconds = longest_seconds
        self._looked_at = clock()

    def look(self) -> float:
        """Add what has gone by since the look before; how much that is."""
        now = self._clock()
        step = min(now - self._looked_at, self._longest_seconds)
        self._looked_at = now
        self.seconds += step
        return step

    def now(self) -> float:
        """Look; the sum of what all looks have added: a clock for who passes one on, and looks as often."""
        self.look()
        return self.seconds


def waits(
    seconds: float, longest_seconds: float = LONGEST_SECONDS, clock: Callable[[], float] = time.monotonic
) -> Iterator[float]:
    """How long to wait before the next look, in seconds, again and again until so many have gone by.

    One at least, be it 0. The time runs from the first one on.
    """
    # As WatchedTime does, and without one: it is on the way of every call.
    left, looked_at = seconds, clock()
    while True:
        yield left if left < longest_seconds else longest_seconds
        now = clock()
        left -= min(now - looked_at, longest_seconds)
        looked_at = now
        if left <= 0:
            return
