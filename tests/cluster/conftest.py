"""Clusters that the tests of this package share, and the proof that none of them leaves anything behind."""

import threading
from collections.abc import Iterator

import pytest

from pipeline.cluster.session import Session
from tests.clusters import no_process_left, two_hosts


@pytest.fixture(scope="package", autouse=True)
def nothing_leaks() -> Iterator[None]:
    """Fails when a child process, or a thread of the pipeline's own, outlives the tests of this package."""
    with no_process_left():
        yield
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("pipeline")] == []


@pytest.fixture(scope="package")
def threads_session(nothing_leaks: None) -> Iterator[Session]:
    """Two hosts in this process."""
    with two_hosts("threads", 2) as session:
        yield session


@pytest.fixture(scope="package")
def processes_session(nothing_leaks: None) -> Iterator[Session]:
    """Two hosts in processes of their own."""
    with two_hosts("processes", 2) as session:
        yield session


@pytest.fixture(params=["threads", pytest.param("processes", marks=pytest.mark.slow)])
def session(request: pytest.FixtureRequest) -> Session:
    """Each kind of cluster in turn."""
    found: Session = request.getfixturevalue(f"{request.param}_session")
    return found


@pytest.fixture
def mortal_session() -> Iterator[Session]:
    """Two hosts in processes of their own, for one test that kills them."""
    with two_hosts("processes", 2) as session:
        yield session
