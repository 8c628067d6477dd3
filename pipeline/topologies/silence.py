"""How long roles have not been heard of. Logic without I/O, on a clock that is passed in.

A role tells of its progress about twice a second, also while it waits for others
(`pipeline.cluster.coordination.channel`). One that does not stands still: in its own thread, which nobody sees from
outside, or with its whole process, which Dask misses after minutes.

    heard since the last look              its silence is over
    not heard                              its silence grows by the time between the two looks, a second at most
    not heard, and news wait to be read    nobody's silence grows: it may be among them

A second at most, so that a coordinator that was itself stopped for an hour finds nobody silent.
Why, and how long is too long: docs/decisions/0023-a-silent-role-counts-as-lost.md.
Not here: what becomes of a silent role (`pipeline.topologies.supervision`).
"""

import time
from collections.abc import Callable, Mapping

_LONGEST_STEP_SECONDS = 1.0


class Silence:
    """Seconds since each role was last heard of, as far as somebody was listening."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._looked_at = clock()
        self._num_heard: dict[str, int] = {}
        self._seconds: dict[str, float] = {}

    def look(self, num_heard: Mapping[str, int], *, is_behind: bool) -> dict[str, float]:
        """How long each role has been silent of which so many messages have been read by now.

        `is_behind`: others have arrived. Roles that are not in `num_heard` are forgotten.
        """
        now = self._clock()
        step = 0.0 if is_behind else min(now - self._looked_at, _LONGEST_STEP_SECONDS)
        self._looked_at = now
        self._seconds = {
            role: self._seconds[role] + step if self._num_heard.get(role) == number else 0.0
            for role, number in num_heard.items()
        }
        self._num_heard = dict(num_heard)
        return dict(self._seconds)
