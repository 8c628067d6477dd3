"""What a sweep looks like now: the state of every job, and the sums that people ask for. No terminal, no clock.

Not here: showing it (`display`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dask_jobs.ledger import DONE, RUNNING, WAITING, LedgerRow

_FROM_THE_START = 0.05
"""A first share below this is of a job that has begun a moment ago."""


@dataclass
class JobSight:
    """One job, as it is seen."""

    overrides: Sequence[str]
    row: LedgerRow
    label: str = ""
    """Those of its overrides that are not the same for all jobs."""
    started_at: float = 0.0
    """Of its last attempt, in seconds on the caller's clock; 0.0: this command has not started it."""
    fraction: float | None = None
    """How much of it is done, 0 to 1; None: it has not said so."""
    began: tuple[float, float] | None = None
    """When this attempt first said how much of it was done, on the caller's clock, and how much that was: a job that
    goes on where an earlier attempt left off begins with a share that cost it no time."""
    rate: float | None = None
    unit: str = ""


class Board:
    """Every job of one launch."""

    def __init__(self, jobs: Mapping[int, Sequence[str]], rows: Sequence[LedgerRow]) -> None:
        self.jobs = {row.job: JobSight(jobs[row.job], row) for row in rows}
        self.num_to_come = 0
        """Jobs that nobody knows yet, at most."""
        self._label()

    def add(self, overrides: Sequence[str], row: LedgerRow) -> None:
        """One more job."""
        self.jobs[row.job] = JobSight(overrides, row)
        self._label()

    def change(self, row: LedgerRow, now: float) -> None:
        """A job has another state."""
        job = self.jobs[row.job]
        if row.status == RUNNING:
            job.started_at, job.fraction, job.began, job.rate = now, None, None, None
        job.row = row

    def progress(self, message: Mapping[str, Any], now: float) -> None:
        """A job reported how far it is; see `dask_jobs.progress`."""
        job = self.jobs.get(message["job"])
        if job is not None:
            fraction = message["fraction"]
            job.fraction = None if fraction is None else min(max(fraction, 0.0), 1.0)
            if job.fraction is not None and job.began is None:
                job.began = now, job.fraction
            job.rate, job.unit = message["rate"], message["unit"]

    def with_status(self, status: str) -> list[JobSight]:
        """Jobs in this state, in order."""
        return [job for job in self.jobs.values() if job.row.status == status]

    def counts(self) -> str:
        """How many jobs are in each state, in words; states of no job are left out."""
        statuses = [job.row.status for job in self.jobs.values()]
        words = [f"{statuses.count(status)} {status}" for status in dict.fromkeys(sorted(statuses, key=_rank))]
        return " · ".join([*words, *([f"{self.num_to_come} to come"] if self.num_to_come else [])])

    def rates(self) -> str:
        """The rates of all running jobs added up, for each unit, in words."""
        sums: dict[str, float] = {}
        for job in self.with_status(RUNNING):
            if job.rate is not None:
                sums[job.unit] = sums.get(job.unit, 0.0) + job.rate
        return " · ".join(f"{rounded(rate)} {unit}" for unit, rate in sums.items())

    def eta_seconds(self, now: float) -> float | None:
        """How long it takes until all are done, if they take as long as those so far; None before one can tell."""
        running = self.with_status(RUNNING)
        they_tell = any(job.began is not None for job in self.jobs.values())
        whole_ones = [job for job in self.with_status(DONE) if _was_whole(job, they_tell)]
        seconds = [job.row.seconds for job in whole_ones if job.row.seconds is not None]
        seconds += [whole for job in running if (whole := _whole_seconds(job, now)) is not None]
        if not seconds or not running:
            return None
        left = len(self.with_status(WAITING)) + self.num_to_come + sum(1.0 - (job.fraction or 0.0) for job in running)
        return sum(seconds) / len(seconds) * left / len(running)

    def _label(self) -> None:
        labels = labelled([job.overrides for job in self.jobs.values()])
        for job, label in zip(self.jobs.values(), labels, strict=True):
            job.label = label


def rounded(rate: float) -> str:
    """A rate as it is shown: whole from ten on, below that with two digits that count, since 0.13 is not 0."""
    return f"{rate:,.0f}" if rate >= 9.95 else f"{rate:.2g}"


def labelled(jobs: Sequence[Sequence[str]]) -> list[str]:
    """For each job, those of its overrides that tell it from others; all of them where all jobs are the same."""
    common = set.intersection(*map(set, jobs)) if len(jobs) > 1 else set()
    return [" ".join(o for o in job if o not in common) or " ".join(job) for job in jobs]


def _was_whole(job: JobSight, they_tell: bool) -> bool:
    """Whether what a job took is not just what an earlier attempt or another command had left of it.

    `they_tell`: jobs say how far they are, so that one which did not had nothing left to do.
    """
    if job.row.attempts != 1:
        return False
    was_done_before = job.started_at == 0.0
    return was_done_before or (not they_tell if job.began is None else job.began[1] < _FROM_THE_START)


def _whole_seconds(job: JobSight, now: float) -> float | None:
    """How long a running job takes in all, by the share that it has done since it was first heard of."""
    if job.began is None or job.fraction is None:
        return None
    first_heard_at, fraction_then = job.began
    # One that begins at 0 is heard of a while after its start, which is part of what it takes.
    since = job.started_at if fraction_then < _FROM_THE_START else first_heard_at
    share = job.fraction - (0.0 if fraction_then < _FROM_THE_START else fraction_then)
    return (now - since) / share if share > 0 else None


def _rank(status: str) -> tuple[bool, bool, str]:
    return status != DONE, status != RUNNING, status
