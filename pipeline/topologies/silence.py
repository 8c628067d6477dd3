"""How long roles have not been heard of, and who was away for whom others wait. Logic without I/O.

A role tells of its progress about twice a second, also while it waits for others
(`pipeline.cluster.coordination.channel`). One that does not stands still: in its own thread, which nobody sees from
outside, or with its whole process, which Dask misses after minutes.

    heard since the last look              its silence is over
    not heard                              its silence grows by the time between the two looks, a second at most
    not heard, and news wait to be read    nobody's silence grows: it may be among them

A second at most, so that a coordinator that was itself stopped for an hour finds nobody silent
(`dask_jobs.watched_time`).
Why, and how long is too long: docs/decisions/0023-a-silent-role-counts-as-lost.md.

A role that waits for another one starves if that one is away: lost, silent for long, or just started again. Where
nobody is, those that starve are at odds with each other, and to start one of them again would help nobody.
Not here: what becomes of a silent role (`pipeline.topologies.supervision`).
"""

import time
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet

from dask_jobs.watched_time import WatchedTime


class Silence:
    """Seconds since each role was last heard of, as far as somebody was listening."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._time = WatchedTime(clock)
        self._num_heard: dict[str, int] = {}
        self._seconds: dict[str, float] = {}

    def look(self, num_heard: Mapping[str, int], *, is_behind: bool) -> dict[str, float]:
        """How long each role has been silent of which so many messages have been read by now.

        `is_behind`: others have arrived. Roles that are not in `num_heard` are forgotten.
        """
        step = self._time.look()
        if is_behind:
            step = 0.0
        self._seconds = {
            role: self._seconds[role] + step if self._num_heard.get(role) == number else 0.0
            for role, number in num_heard.items()
        }
        self._num_heard = dict(num_heard)
        return dict(self._seconds)


class Absence:
    """Roles that others may wait for in vain, and until when they could."""

    def __init__(self, odd_silence_seconds: float) -> None:
        """`odd_silence_seconds`: who has said nothing for longer counts as away."""
        self._odd_silence_seconds = odd_silence_seconds
        self._silent: set[str] = set()
        self._starved: set[str] = set()
        """Those of the lost that had waited for others: nobody waits for them."""
        self._away_at: dict[str, float] = {}
        """When each was last seen to be away."""

    def look(self, silent_seconds: Mapping[str, float], lost: AbstractSet[str], now: float) -> list[str]:
        """Whose silence has become odd since the look before. `lost` have no host; `now` is on any one clock."""
        silent = {role for role, seconds in silent_seconds.items() if seconds > self._odd_silence_seconds}
        news, self._silent = sorted(silent - self._silent), silent
        self._starved &= lost
        self._away_at |= dict.fromkeys(silent | (lost - self._starved), now)
        return news

    def lost(self, role: str, now: float) -> None:
        """It is lost from now on; if it has not starved, others may for want of it."""
        if role not in self._starved:
            self._away_at[role] = now

    def explains(self, role: str, now: float, waited_seconds: float) -> bool:
        """Whether another one was away while `role` waited so long until now."""
        return any(now - at <= waited_seconds for other, at in self._away_at.items() if other != role)

    def starved(self, role: str) -> None:
        """It is about to be lost because it had waited."""
        self._starved.add(role)
