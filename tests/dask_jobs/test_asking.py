"""Jobs of a source: what becomes of them when the source fails."""

from collections.abc import Mapping, Sequence
from typing import cast

import pytest
from hydra.core.utils import JobReturn

from dask_jobs.asking import AskedJobs
from dask_jobs.job import Job
from dask_jobs.ledger import DONE, LedgerRow
from dask_jobs.outcome import Outcome


class NumberedJob:
    """Of a job, what is asked of it here."""

    def __init__(self, overrides: Sequence[str]) -> None:
        self.number, self.overrides = int(overrides[0].partition("=")[2]), tuple(overrides)

    def job_return(self, outcome: Outcome) -> JobReturn:
        return JobReturn(_return_value=outcome.reason)


class Source:
    """Counts up; raises at these numbers, when it is asked for them or told of them."""

    def __init__(self, at_asking: Sequence[int] = (), at_telling: Sequence[int] = (), num_to_repeat: int = 0) -> None:
        self._at_asking, self._at_telling, self.num_to_repeat = at_asking, at_telling, num_to_repeat
        self.num_left = 9
        self.asked: list[int] = []
        self.told: list[str] = []

    def recall(self, rows: Sequence[LedgerRow]) -> Mapping[int, Sequence[str]]:
        return {}

    def ask(self) -> Sequence[str] | None:
        self.asked.append(len(self.asked))
        if self.asked[-1] in self._at_asking:
            raise ModuleNotFoundError("No module named 'cmaes'")
        return (f"a={self.asked[-1]}",)

    def tell(self, overrides: Sequence[str], job_return: JobReturn) -> None:
        self.told.append(overrides[0])
        if len(self.told) - 1 in self._at_telling:
            raise KeyError("grid_id")


def asked_of(source: Source) -> AskedJobs:
    def row(job: Job) -> LedgerRow:
        return LedgerRow(job.number, "")

    return AskedJobs(source, lambda overrides: cast(Job, NumberedJob(overrides)), row, None)


def test_a_source_that_raises_when_it_is_asked_is_asked_no_more_and_told_of_what_still_ends() -> None:
    source = Source(at_asking=[2])
    asked = asked_of(source)
    assert [asked.next() is not None for _ in range(4)] == [True, True, False, False]
    assert not asked.has_more and asked.num_left == 0 and source.asked == [0, 1, 2]
    assert isinstance(asked.error, ModuleNotFoundError)
    said = asked.complaint()
    assert said is not None and said.endswith("run go on to their end: ModuleNotFoundError: No module named 'cmaes'")
    assert asked.complaint() is None, "it is said once"
    for number in (1, 0):
        asked.ended(number, Outcome(DONE, f"{number} is done"))
    assert source.told == ["a=1", "a=0"] and len(asked.returns) == 2


def test_a_source_that_raises_when_it_is_told_is_asked_no_more_and_its_first_error_is_kept() -> None:
    source = Source(at_telling=[0, 1])
    asked = asked_of(source)
    asked.next()
    asked.next()
    asked.ended(0, Outcome(DONE))
    first = asked.error
    asked.ended(1, Outcome(DONE))
    assert isinstance(first, KeyError) and asked.error is first
    assert asked.next() is None and source.asked == [0, 1] and len(asked.returns) == 2


@pytest.mark.parametrize("at", [0, 2])
def test_a_source_that_raises_before_anything_runs_raises(at: int) -> None:
    with pytest.raises(ModuleNotFoundError, match="cmaes"):
        asked_of(Source(at_asking=[at], num_to_repeat=3)).to_repeat()
