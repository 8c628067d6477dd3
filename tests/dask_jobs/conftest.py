"""Two real clusters for the tests that need none of their own: two hosts with two threads each."""

import contextlib
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest
from distributed import LocalCluster

from dask_jobs import command


@pytest.fixture(scope="session")
def scheduler_address() -> Iterator[str]:
    """Of a cluster that runs already, in processes of its own: hosts can be killed."""
    with _two_hosts(processes=True) as address:
        yield address


@pytest.fixture(scope="session")
def scheduler_here() -> Iterator[str]:
    """Of a cluster that runs already, in this process: what hosts do is seen by coverage, and starts in no time."""
    with _two_hosts(processes=False) as address:
        yield address


@contextlib.contextmanager
def _two_hosts(processes: bool) -> Iterator[str]:
    with LocalCluster(
        n_workers=2,
        threads_per_worker=2,
        processes=processes,
        protocol="tcp",
        host="127.0.0.1",
        memory_limit=0,
        dashboard_address="127.0.0.1:0",
        worker_dashboard_address="127.0.0.1:0",
    ) as cluster:
        yield cluster.scheduler_address


@pytest.fixture
def end_commands(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """Gives back what commands in this process keep until the end of their program: when called, and after the test."""
    endings: list[Callable[[], None]] = []
    monkeypatch.setattr(command, "atexit", SimpleNamespace(register=endings.append))

    def end() -> None:
        while endings:
            endings.pop()()

    yield end
    end()
