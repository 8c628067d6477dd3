"""How long roles that were told to leave are waited for: one deadline for all of them, sooner once there is a hurry.

    begin ───────────── untold_seconds: it is said who is waited for ───────────── seconds: over
              │ hurry
              └─ hurried_seconds later at most: over

Not here: the waiting (`pipeline.topologies.hosted_roles`), what becomes of those that stay
(`pipeline.topologies.supervision`).
"""

import math
import time
from collections.abc import Callable, Sequence

from dask_jobs.watched_time import WatchedTime


class LastWait:
    """Begins when it is made."""

    def __init__(
        self,
        seconds: float,
        say: Callable[[str], None] = lambda _: None,
        *,
        hurried_seconds: float = math.inf,
        has_hurry: Callable[[], bool] = lambda: False,
        untold_seconds: float = 5.0,
        clock: Callable[[], float] | None = None,
    ) -> None:
        """`seconds` for all, and `hurried_seconds` at most from when `has_hurry` first says so.

        `clock`: None leaves out pauses of the whole process (`dask_jobs.watched_time`); who waits looks each second.
        """
        self.say = say
        """Tells the user."""
        self._seconds = seconds
        self._hurried_seconds = hurried_seconds
        self._has_hurry = has_hurry
        self._untold_seconds = untold_seconds
        self._clock = clock or WatchedTime(time.monotonic).now
        self._begun_at = self._clock()
        self._hurried_at: float | None = None
        self._has_told = False
        self.is_cut_short = False
        """Whether nobody can be heard of any more."""

    def cut_short(self) -> None:
        """The scheduler does not answer: it is over for all, since each would be asked for as long in vain."""
        self.is_cut_short = True

    @property
    def is_hurried(self) -> bool:
        """Whether somebody has asked for a hurry."""
        if self._hurried_at is None and self._has_hurry():
            self._hurried_at = self._clock()
        return self._hurried_at is not None

    @property
    def seconds_left(self) -> float:
        """Until it is over; not above 0: it is."""
        return self._begun_at + self.limit_seconds - self._clock()

    @property
    def limit_seconds(self) -> float:
        """From its beginning to its end, as far as is known."""
        if not self.is_hurried or self._hurried_at is None:
            return self._seconds
        return min(self._seconds, self._hurried_at - self._begun_at + self._hurried_seconds)

    def mention(self, staying: Sequence[str]) -> None:
        """Say once who is waited for, unless they have just been told to leave."""
        if staying and not self._has_told and self._clock() - self._begun_at >= self._untold_seconds:
            self._has_told = True
            self.say(f"waiting up to {self.limit_seconds:.0f} s for {', '.join(staying)} to finish a step and leave")
