"""Reports of a job: through a real pipe to whoever listens, and nowhere else."""

import json
import os
from collections.abc import Iterator

import pytest

from dask_jobs.needs import GRANT_VARIABLE, Grant, current_grant, to_variable
from dask_jobs.progress import PIPE_VARIABLE, report


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[int, int]]:
    read, write = os.pipe()
    os.set_blocking(write, False)
    os.set_blocking(read, False)
    monkeypatch.setenv(PIPE_VARIABLE, f"{os.getpid()}:{write}")
    yield read, write
    os.close(read)
    os.close(write)


def test_a_report_is_one_line_of_json(pipe: tuple[int, int]) -> None:
    report(0.25, 12.5, "steps/s", {"game": "Pong"})
    report(float("nan"), float("inf"), "", {})
    lines = [json.loads(line) for line in os.read(pipe[0], 10_000).split(b"\n") if line]
    assert lines == [
        {"fraction": 0.25, "rate": 12.5, "unit": "steps/s", "details": {"game": "Pong"}},
        {"fraction": None, "rate": None, "unit": "", "details": {}},
    ]


def test_a_full_pipe_neither_blocks_nor_raises_and_later_reports_are_whole(pipe: tuple[int, int]) -> None:
    for _ in range(100):
        report(0.5, None, "", {"text": "x" * 10_000})
    assert not os.read(pipe[0], 1 << 20).endswith(b"\n"), "the last one was cut short"
    report(1.0, None, "", {})
    rest, last, end = os.read(pipe[0], 1 << 20).split(b"\n")
    assert (rest, json.loads(last)["fraction"], end) == (b"", 1.0, b"")


def test_what_json_cannot_hold_is_not_reported(pipe: tuple[int, int]) -> None:
    report(0.5, None, "", {"object": object()})
    with pytest.raises(BlockingIOError):
        os.read(pipe[0], 1)


def test_a_child_of_a_job_reports_nothing(pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PIPE_VARIABLE, f"{os.getppid()}:{pipe[1]}")
    report(0.5, None, "", {})
    with pytest.raises(BlockingIOError):
        os.read(pipe[0], 1)


def test_outside_of_a_job_there_is_no_grant_and_nobody_to_report_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PIPE_VARIABLE, raising=False)
    monkeypatch.delenv(GRANT_VARIABLE, raising=False)
    report(0.5, None, "", {})
    assert current_grant() is None


def test_a_job_reads_its_grant(monkeypatch: pytest.MonkeyPatch) -> None:
    grant = Grant(3, 2, "tcp://a:1", {"tcp://b:2": 4, "tcp://c:3": 1}, "launch", ("tcp://b:2", "tcp://c:3"))
    monkeypatch.setenv(GRANT_VARIABLE, to_variable(grant))
    assert current_grant() == grant
    assert not grant.fits_one_host and grant._replace(hosts={"tcp://b:2": 4}).fits_one_host
