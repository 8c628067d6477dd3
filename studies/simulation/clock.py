"""A simulated clock, and cores and links that compute and carry in its time.

Not here: what happens (`studies.simulation.servers`, `.workers`).
"""

import heapq
from collections.abc import Callable
from functools import partial
from typing import Protocol

Event = Callable[[], object]


class Clock:
    """What is to happen, in the order of time; of two events at one time the one that was announced first."""

    def __init__(self) -> None:
        self.now = 0.0
        """Seconds since the start."""
        self._events: list[tuple[float, int, Event]] = []
        self._num_announced = 0

    def after(self, seconds: float, event: Event) -> None:
        """Announce that `event` happens in so many seconds."""
        heapq.heappush(self._events, (self.now + seconds, self._num_announced, event))
        self._num_announced += 1

    def run_until(self, done: Callable[[], bool]) -> None:
        """Let everything happen until `done()`. Raises RuntimeError when nothing is left to happen before."""
        while not done():
            if not self._events:
                raise RuntimeError(f"after {self.now:g} simulated seconds all wait, and nothing is left to happen")
            self.now, _, event = heapq.heappop(self._events)
            event()


class Cores(Protocol):
    """Where something computes."""

    def run(self, seconds: float, then: Event) -> None:
        """Compute what takes a core for itself so many seconds; `then` happens at its end."""


class OwnCore(Cores):
    """A core that nobody else has. Whoever has it does one thing at a time."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def run(self, seconds: float, then: Event) -> None:
        """See Cores.run."""
        self._clock.after(seconds, then)


class SharedCores(Cores):
    """The cores of one machine, shared evenly by all that computes there, as an operating system does in small slices.

    While n things compute on c cores, each advances at min(1, c / n) of the speed of a core. That speed is 1 while one
    core is busy and falls evenly to `full_speed` when all are, since cores share caches and memory.
    """

    def __init__(self, clock: Clock, num_cores: int, full_speed: float = 1.0) -> None:
        self._clock = clock
        self._num_cores = num_cores
        self._full_speed = full_speed
        self._jobs: list[tuple[float, int, Event]] = []
        """By the value of `_progress` at which they are done."""
        self._num_jobs = 0
        self._progress = 0.0
        """Seconds of work that a job would have got which was there from the beginning."""
        self._since = 0.0
        self._plan = 0
        """Counts plans: the end that an earlier plan announced does not come then."""

    def run(self, seconds: float, then: Event) -> None:
        """See Cores.run."""
        self._advance()
        heapq.heappush(self._jobs, (self._progress + seconds, self._num_jobs, then))
        self._num_jobs += 1
        self._plan_next_end()

    def _advance(self) -> None:
        if self._jobs:
            self._progress += (self._clock.now - self._since) * self._speed()
        self._since = self._clock.now

    def _speed(self) -> float:
        num_busy = min(len(self._jobs), self._num_cores)
        crowd = (num_busy - 1) / (self._num_cores - 1) if self._num_cores > 1 else 0.0
        return (1.0 + crowd * (self._full_speed - 1.0)) * num_busy / len(self._jobs)

    def _plan_next_end(self) -> None:
        self._plan += 1
        if self._jobs:
            left = max(self._jobs[0][0] - self._progress, 0.0)
            self._clock.after(left / self._speed(), partial(self._end, self._plan))

    def _end(self, plan: int) -> None:
        if plan != self._plan:
            return
        self._advance()
        # Exactly, so that rounding leaves nothing over of a job that is done.
        self._progress, _, then = heapq.heappop(self._jobs)
        self._plan_next_end()
        then()


class Link:
    """One direction of a machine's network: what is sent over it passes one after the other."""

    def __init__(self, clock: Clock, bytes_per_second: float) -> None:
        self._clock = clock
        self._bytes_per_second = bytes_per_second
        self._free_at = 0.0

    def pass_on(self, num_bytes: float) -> float:
        """Seconds from now until the last of these bytes has passed, behind all that was sent before."""
        self._free_at = max(self._free_at, self._clock.now) + num_bytes / self._bytes_per_second
        return self._free_at - self._clock.now
