"""What a sweep does next: a pure state machine. Events come in, instructions go out, for a shell to carry out.

    a job is next              Try it, if it fits what is there; Refused, if it never will; else it waits, and the later
                               ones with it
    an attempt ended           done or stopped: Over; failed: Again after a pause, or Over when it has failed too often
                               or would fail again
    its host is gone           Forget the host, and the same as if it had failed
    a failure with fail_fast   start nothing more, Stop what runs
    an interrupt               the same; the second time with no time left to end in order
    every now and then         Stop, until all that ran has ended; Adopt what a killed command had left running

Times are seconds on any clock that the caller keeps to. It leaves out pauses, best: others paused, too.
Not here: the order of jobs (`queue`), which hosts one gets (`allocation`), carrying it out (`sweep`).
"""

from collections.abc import Iterable, Sequence, Set
from typing import NamedTuple

from dask_jobs.allocation import HostSize, allocate, refusal
from dask_jobs.ledger import FAILED
from dask_jobs.needs import JobNeeds
from dask_jobs.outcome import HOST_LOST, Outcome
from dask_jobs.queue import JobQueue
from dask_jobs.settings import LauncherSettings


class Try(NamedTuple):
    """Start this job if nobody else holds what it needs; else ask again later."""

    job: int
    needs: JobNeeds


class Refused(NamedTuple):
    """This job has failed without being started."""

    job: int
    reason: str


class Again(NamedTuple):
    """This attempt has ended, and the job waits for another."""

    job: int
    reason: str


class Over(NamedTuple):
    """This attempt has ended, and with it the job."""

    job: int
    outcome: Outcome


class Forget(NamedTuple):
    """Whatever Dask still does with this attempt is of no use any more, and its host is not there."""

    job: int
    host: str


class Stop(NamedTuple):
    """Stop all jobs on these hosts."""

    hosts: tuple[str, ...]
    reason: str
    patience_seconds: float
    """0: kill them."""


class Adopt(NamedTuple):
    """Nothing of these can run any more: they wait."""

    jobs: tuple[int, ...]


class Say(NamedTuple):
    """Tell the user."""

    text: str


Instruction = Try | Refused | Again | Over | Forget | Stop | Adopt | Say


class Decisions:
    """The state of one launch, from its first job to its last."""

    def __init__(self, jobs: Iterable[int], settings: LauncherSettings) -> None:
        self._settings = settings
        self._queue = JobQueue(jobs, settings.retries, settings.backoff_seconds)
        self._running: dict[int, str] = {}
        """Job -> the host of its process."""
        self._waits_for_hosts: set[int] = set()
        """Jobs of which this was said already."""
        self._orphans: set[int] = set()
        """Jobs that the ledger calls running, of a command that was killed; until then something of them may run."""
        self._orphans_until: float | None = None
        self._num_interrupts = 0
        self._stop: tuple[str, float] | None = None
        """Reason, and seconds of patience; None: jobs are started."""
        self.outcomes: dict[int, Outcome] = {}
        """How each job ended that has ended for good."""

    @property
    def is_over(self) -> bool:
        """True when nothing runs, and nothing is to be started any more."""
        return not self._queue.waiting and not self._running

    @property
    def is_stopping(self) -> bool:
        """True once nothing more is to be started."""
        return self._stop is not None

    @property
    def unfinished(self) -> frozenset[int]:
        """Jobs that run, and those that are to be started."""
        return frozenset({*self._queue.waiting, *self._running})

    @property
    def num_running(self) -> int:
        """Jobs that run."""
        return len(self._running)

    @property
    def has_waiting(self) -> bool:
        """True while there are jobs to be started."""
        return bool(self._queue.waiting)

    @property
    def was_interrupted(self) -> bool:
        """True if the user stopped it."""
        return self._num_interrupts > 0

    def add(self, job: int) -> None:
        """One more job, after all others."""
        self._queue.add(job)

    def postpone(self, orphans: Sequence[int], now: float) -> None:
        """Do not start these before what an earlier command has left of them had time to end."""
        self._orphans, self._orphans_until = set(orphans), now + self._settings.stop_seconds
        for job in orphans:
            self._queue.postpone(job, self._orphans_until)

    def next(self, now: float) -> int | None:
        """The job to `judge` now; None while there is none."""
        return self._queue.next(now)

    def judge(
        self, job: int, needs: JobNeeds, hosts: Sequence[HostSize], present: Sequence[HostSize], num_hosts_seen: int
    ) -> list[Instruction]:
        """What becomes of the next job, by all that the hosts have that take jobs; nothing or words: it waits.

        `present`: all that are there. `num_hosts_seen`: how many there were when there were most. One that does not fit
        waits for lost ones, and where there is no host at all none is refused.
        """
        if allocate(needs, hosts) is not None:
            return [Try(job, needs)]
        if present and len(present) >= num_hosts_seen and allocate(needs, present) is None:
            return self.refuse(job, refusal(needs, present))
        if job in self._waits_for_hosts:
            return []
        self._waits_for_hosts.add(job)
        return [
            Say(
                f"job {job} does not fit the {len(hosts)} of {num_hosts_seen} hosts that take jobs now: it waits for "
                f"paused ones, and {self._settings.start_timeout_seconds:g} s for lost ones; later jobs wait with it"
            )
        ]

    def refuse(self, job: int, reason: str) -> list[Instruction]:
        """A waiting job cannot be started at all."""
        self._queue.drop(job)
        self._orphans.discard(job)
        self.outcomes[job] = Outcome(FAILED, reason)
        self._failed_for_good(job)
        return [Refused(job, reason)]

    def started(self, job: int, host: str) -> None:
        """A waiting job was started, with its process on this host."""
        self._queue.start(job)
        self._orphans.discard(job)
        self._running[job] = host

    def ended(self, job: int, outcome: Outcome, now: float) -> list[Instruction]:
        """The attempt of a running job has ended."""
        host, is_lost = self._running.pop(job), outcome == HOST_LOST
        found: list[Instruction] = [Forget(job, host)] if is_lost else []
        pause = None
        if outcome.status == FAILED and outcome.again and self._stop is None:
            # Its process may outlive its host for so long, and may be writing what the next attempt goes on with.
            pause = self._queue.fail(job, now, least_pause=self._settings.stop_seconds if is_lost else 0.0)
        if pause is not None:
            return [*found, Again(job, f"{outcome.reason}; again in {pause:g} s")]
        self.outcomes[job] = outcome
        if outcome.status == FAILED:
            self._failed_for_good(job)
        return [*found, Over(job, outcome)]

    def look(self, now: float, present_hosts: Set[str]) -> list[Instruction]:
        """Now and then: attempts whose host is gone have ended; what was said and is to be said again."""
        found: list[Instruction] = []
        for job, host in list(self._running.items()):
            if host not in present_hosts:
                found += self.ended(job, HOST_LOST, now)
        if self._orphans_until is not None and now >= self._orphans_until:
            found.append(Adopt(tuple(sorted(self._orphans))))
            self._orphans_until = None
        if self._stop is not None and self._running:
            # Again and again: a job that was just being started has not heard it.
            found.append(Stop(tuple(sorted(set(self._running.values()))), *self._stop))
        return found

    def interrupted(self, by: str = "Ctrl-C") -> list[Instruction]:
        """Ctrl-C, or a signal of this name."""
        self._num_interrupts += 1
        if self._num_interrupts > 1:
            self._stop_all(f"killed by {by}", 0.0)
            return []
        patience = self._settings.stop_seconds
        self._stop_all(f"stopped by {by}", patience)
        stopping = f"stopping {len(self._running)} running jobs, for at most {patience:g} s; Ctrl-C again kills them"
        return [Say(stopping)]

    def _failed_for_good(self, job: int) -> None:
        if self._settings.fail_fast and self._stop is None:
            self._stop_all(f"job {job} failed, and fail_fast=true", self._settings.stop_seconds)

    def _stop_all(self, reason: str, patience_seconds: float) -> None:
        """Start nothing more; `look` has what runs stopped."""
        self._queue.drop_waiting()
        self._stop = reason, patience_seconds
