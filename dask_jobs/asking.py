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
from hydra.errors import CompactHydraException

from dask_jobs.job import Job
from dask_jobs.ledger import DONE, LedgerRow
from dask_jobs.outcome import Outcome
from dask_jobs.work import in_one_line


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
    """The jobs of a source in one launch. A job that is asked for again is not run again: its source is told.

    A source that raises is asked for nothing more. What it has asked for goes on: jobs that run are not given up for
    what keeps others from being chosen.
    """

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
        self.has_more = True
        """Whether there may be another job."""
        self.error: Exception | None = None
        """What the source has raised first."""
        self._is_complained = False

    @property
    def returns(self) -> list[JobReturn]:
        """Of the jobs that have ended, earlier commands' included, each once."""
        return list(self._returns.values())

    @property
    def num_left(self) -> int:
        """Jobs that are still to be asked for, at most."""
        return self._source.num_left if self.has_more else 0

    def complaint(self) -> str | None:
        """A sentence for people, once, when the source has raised something."""
        if self.error is None or self._is_complained:
            return None
        self._is_complained = True
        words = str(self.error) if isinstance(self.error, CompactHydraException) else in_one_line(self.error)
        return f"no more jobs are asked for, and those that run go on to their end: {words}"

    def to_repeat(self) -> list[Job]:
        """The jobs that an earlier command has left, or else the first one; empty if nothing is to be done.

        Raises what the source raises: nothing runs yet that would have to end first.
        """
        jobs = [self.next() for _ in range(max(self._source.num_to_repeat, 1))]
        if self.error is not None:
            raise self.error
        return [job for job in jobs if job is not None]

    def next(self) -> Job | None:
        """A job that is to be run; None: there are no more, or the source has raised an `error`."""
        job = None
        if self.has_more:
            try:
                job = self._next()
            except Exception as error:  # a source may be anybody's
                self._keep(error)
        self.has_more = job is not None
        return job

    def ended(self, number: int, outcome: Outcome) -> None:
        """A job has ended for good."""
        job = self._open.pop(number)
        self._returns[number] = job.job_return(outcome)
        try:
            self._source.tell(job.overrides, self._returns[number])
        except Exception as error:
            self._keep(error)

    def _next(self) -> Job | None:
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

    def _keep(self, error: Exception) -> None:
        self.error = self.error or error
        self.has_more = False
