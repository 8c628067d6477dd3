"""What a sweep looks like now: the state of every job, and the sums that people ask for. No terminal, no clock.

Not here: showing it (`_display`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hydra_plugins.dask_launcher._ledger import DONE, RUNNING, WAITING, LedgerRow


@dataclass
class JobSight:
    """One job, as it is seen."""

    label: str
    """Those of its overrides that are not the same for all jobs."""
    row: LedgerRow
    started_at: float = 0.0
    """Of its last attempt, in seconds on the caller's clock."""
    fraction: float | None = None
    """How much of it is done, 0 to 1; None: it has not said so."""
    rate: float | None = None
    unit: str = ""


class Board:
    """Every job of one launch."""

    def __init__(self, jobs: Mapping[int, Sequence[str]], rows: Sequence[LedgerRow]) -> None:
        labels = dict(zip(jobs, labelled(list(jobs.values())), strict=True))
        self.jobs = {row.job: JobSight(labels[row.job], row) for row in rows}

    def change(self, row: LedgerRow, now: float) -> None:
        """A job has another state."""
        job = self.jobs[row.job]
        if row.status == RUNNING:
            job.started_at, job.fraction, job.rate = now, None, None
        job.row = row

    def progress(self, message: Mapping[str, Any]) -> None:
        """A job reported how far it is; see `hydra_plugins.dask_launcher.progress`."""
        job = self.jobs.get(message["job"])
        if job is not None:
            fraction = message["fraction"]
            job.fraction = None if fraction is None else min(max(fraction, 0.0), 1.0)
            job.rate, job.unit = message["rate"], message["unit"]

    def with_status(self, status: str) -> list[JobSight]:
        """Jobs in this state, in order."""
        return [job for job in self.jobs.values() if job.row.status == status]

    def counts(self) -> str:
        """How many jobs are in each state, in words; states of no job are left out."""
        statuses = [job.row.status for job in self.jobs.values()]
        return " · ".join(f"{statuses.count(status)} {status}" for status in dict.fromkeys(sorted(statuses, key=_rank)))

    def rates(self) -> str:
        """The rates of all running jobs added up, for each unit, in words."""
        sums: dict[str, float] = {}
        for job in self.with_status(RUNNING):
            if job.rate is not None:
                sums[job.unit] = sums.get(job.unit, 0.0) + job.rate
        return " · ".join(f"{rate:,.0f} {unit}" for unit, rate in sums.items())

    def eta_seconds(self, now: float) -> float | None:
        """How long it takes until all are done, if they take as long as those so far; None before one can tell."""
        running = self.with_status(RUNNING)
        seconds = [job.row.seconds for job in self.with_status(DONE) if job.row.seconds is not None]
        seconds += [(now - job.started_at) / job.fraction for job in running if job.fraction]
        if not seconds or not running:
            return None
        left = len(self.with_status(WAITING)) + sum(1.0 - (job.fraction or 0.0) for job in running)
        return sum(seconds) / len(seconds) * left / len(running)


def labelled(jobs: Sequence[Sequence[str]]) -> list[str]:
    """For each job, those of its overrides that tell it from others; all of them where all jobs are the same."""
    common = set.intersection(*map(set, jobs)) if len(jobs) > 1 else set()
    return [" ".join(o for o in job if o not in common) or " ".join(job) for job in jobs]


def _rank(status: str) -> tuple[bool, bool, str]:
    return status != DONE, status != RUNNING, status
