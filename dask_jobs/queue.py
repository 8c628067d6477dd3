"""The order of jobs: who is next, who waits before another attempt, who is done for good. A pure state machine.

Strictly in the order in which Hydra gave the jobs: one that does not fit yet keeps later ones waiting, so that small
jobs never starve a large one. Only a job that pauses before another attempt lets others pass.
Not here: whether a job fits (`allocation`), starting it (`sweep`).
"""

from collections.abc import Iterable


class JobQueue:
    """Jobs by number. Times are seconds on any clock that the caller keeps to."""

    def __init__(self, jobs: Iterable[int], num_retries: int, backoff_seconds: float) -> None:
        self._order: dict[int, int] = {}
        self._waiting: list[int] = []
        self._not_before: dict[int, float] = {}
        self._num_failures: dict[int, int] = {}
        self._num_retries = num_retries
        self._backoff_seconds = backoff_seconds
        for job in jobs:
            self.add(job)

    def add(self, job: int) -> None:
        """A job that comes after all others."""
        self._order[job] = len(self._order)
        self._num_failures[job] = 0
        self._waiting.append(job)

    @property
    def waiting(self) -> tuple[int, ...]:
        """Jobs that will be started, in order; those that pause are among them."""
        return tuple(self._waiting)

    def next(self, now: float) -> int | None:
        """The job that is to be started before any other; None while there is none."""
        return next((job for job in self._waiting if self._not_before.get(job, now) <= now), None)

    def postpone(self, job: int, until: float) -> None:
        """A waiting job is not started before then."""
        self._not_before[job] = until

    def start(self, job: int) -> None:
        """A waiting job is started."""
        self._waiting.remove(job)
        self._not_before.pop(job, None)

    def fail(self, job: int, now: float, least_pause: float = 0.0) -> float | None:
        """A running job failed. Seconds after which it is started again; None: it has failed for good."""
        self._num_failures[job] += 1
        if self._num_failures[job] > self._num_retries:
            return None
        pause = max(self._backoff_seconds * 2.0 ** (self._num_failures[job] - 1), least_pause)
        self._not_before[job] = now + pause
        self._waiting = sorted([*self._waiting, job], key=self._order.__getitem__)
        return pause

    def drop(self, job: int) -> None:
        """A waiting job is not started at all."""
        self._waiting.remove(job)
        self._not_before.pop(job, None)

    def drop_waiting(self) -> None:
        """Start nothing more."""
        self._waiting.clear()
        self._not_before.clear()
