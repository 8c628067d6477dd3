"""Clusters that the tests of this package share, and the proof that none of them leaves anything behind."""

import threading
from collections.abc import Iterator

import pytest

from pipeline.cluster.session import Session, open_session
from tests.clusters import child_processes, cluster_config, wait_until


@pytest.fixture(scope="package", autouse=True)
def nothing_leaks() -> Iterator[None]:
    """Fails when a child process, or a thread of the pipeline's own, outlives the tests of this package."""
    before = set(child_processes())
    yield
    wait_until(lambda: set(child_processes()) <= before, "no child process is left")
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("pipeline")] == []


@pytest.fixture(scope="package")
def threads_session(nothing_leaks: None) -> Iterator[Session]:
    """Two hosts in this process."""
    with open_session(cluster_config("threads"), num_hosts=2, threads_per_host=2) as session:
        yield session


@pytest.fixture(scope="package")
def processes_session(nothing_leaks: None) -> Iterator[Session]:
    """Two hosts in processes of their own."""
    with open_session(cluster_config("processes"), num_hosts=2, threads_per_host=2) as session:
        yield session


@pytest.fixture(params=["threads", "processes"])
def session(request: pytest.FixtureRequest) -> Session:
    """Each kind of cluster in turn."""
    found: Session = request.getfixturevalue(f"{request.param}_session")
    return found


@pytest.fixture
def mortal_session() -> Iterator[Session]:
    """Two hosts in processes of their own, for one test that kills them."""
    with open_session(cluster_config("processes"), num_hosts=2, threads_per_host=2) as session:
        yield session
