"""Clusters that the tests of one module share, and the proof that they leave nothing behind."""

from collections.abc import Iterator

import pytest

from pipeline.cluster.session import Session, open_session
from tests.clusters import child_processes, cluster_config, wait_until


@pytest.fixture(scope="module", autouse=True)
def nothing_leaks() -> Iterator[None]:
    """Fails when a child process outlives the tests of a module."""
    before = set(child_processes())
    yield
    wait_until(lambda: set(child_processes()) <= before, "no child process is left")


@pytest.fixture(scope="module")
def threads_session(nothing_leaks: None) -> Iterator[Session]:
    """Two hosts in this process."""
    with open_session(cluster_config("threads"), num_hosts=2, threads_per_host=1) as session:
        yield session


@pytest.fixture(scope="module")
def processes_session(nothing_leaks: None) -> Iterator[Session]:
    """Two hosts in processes of their own."""
    with open_session(cluster_config("processes"), num_hosts=2, threads_per_host=1) as session:
        yield session
