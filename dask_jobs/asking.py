"""Jobs that nobody knows when a launch begins: one is asked for when there is room, and what it returned is told.

    source.recall(rows)          what the ledger has of earlier commands -> those of its own that are done
    source.ask()  -> overrides   the next job; None: there is none any more
    source.tell(overrides, job_return)

No job waits for others that were asked for with it: that is the difference from one launch after the other.
Not here: who chooses the jobs (`trials`), running them (`sweep`).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from hydra.core.utils import JobReturn

from dask_jobs.job import Job
from dask_jobs.ledger import DONE, LedgerRow
from dask_jobs.outcome import Outcome


class JobSource(Protocol):
    """Chooses jobs by what earlier ones returned."""

    @property
    def num_to_repeat(self) -> int:
        """Jobs that an earlier command has begun and not done: they are asked for first."""
        ...

    @property
    def num_left(self) -> int:
        """Jobs that are still to be asked for, at most."""
        ...

    def recall(self, rows: Sequence[LedgerRow]) -> Mapping[int, Sequence[str]]:
        """What the ledger has of earlier commands; called once, before anything is asked.

        Overrides of the jobs that those have done and that count as its own, by number.
        """
        ...

    def ask(self) -> Sequence[str] | None:
        """Overrides of the next job, perhaps those of an earlier one; None: there is none any more."""
        ...

    def tell(self, overrides: Sequence[str], job_return: JobReturn) -> None:
        """What became of the jobs that were asked for with these overrides."""
        ...


class AskedJobs:
    """The jobs of a source in one launch. A job that is asked for again is not run again: its source is told."""

    def __init__(
        self,
        source: JobSource,
        make: Callable[[Sequence[str]], Job],
        row: Callable[[Job], LedgerRow],
        num_at_once: int | None,
    ) -> None:
        """`make` and `row`: the job with these overrides, and what the ledger has of it. `num_at_once`: None: any."""
        self._source = source
        self._make = make
        self.row = row
        self.num_at_once = num_at_once
        self._open: dict[int, Job] = {}
        """Asked for, and not ended."""
        self._returns: dict[int, JobReturn] = {}

    @property
    def returns(self) -> list[JobReturn]:
        """Of the jobs that have ended, earlier commands' included, each once."""
        return list(self._returns.values())

    @property
    def num_left(self) -> int:
        """Jobs that are still to be asked for, at most."""
        return self._source.num_left

    def to_repeat(self) -> list[Job]:
        """The jobs that an earlier command has left, or else the first one; empty if nothing is to be done."""
        jobs = [self.next() for _ in range(max(self._source.num_to_repeat, 1))]
        return [job for job in jobs if job is not None]

    def next(self) -> Job | None:
        """A job that is to be run; None: there are no more."""
        while (overrides := self._source.ask()) is not None:
            job = self._make(overrides)
            if job.number in self._open:  # both are told when it ends
                continue
            if job.number not in self._returns and (row := self.row(job)).status == DONE:
                self._returns[job.number] = job.earlier_return(row.return_value)
            if job.number not in self._returns:
                self._open[job.number] = job
                return job
            self._source.tell(overrides, self._returns[job.number])
        return None

    def ended(self, number: int, outcome: Outcome) -> None:
        """A job has ended for good."""
        job = self._open.pop(number)
        self._returns[number] = job.job_return(outcome)
        self._source.tell(job.overrides, self._returns[number])
