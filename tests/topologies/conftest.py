"""Clusters that the tests of one module share, and the proof that they leave nothing behind."""

from collections.abc import Iterator

import pytest

from pipeline.cluster.session import Session
from tests.clusters import no_process_left, two_hosts


@pytest.fixture(scope="module", autouse=True)
def nothing_leaks() -> Iterator[None]:
    """Fails when a child process outlives the tests of a module."""
    with no_process_left():
        yield


@pytest.fixture(scope="module")
def threads_session(nothing_leaks: None) -> Iterator[Session]:
    """Two hosts in this process."""
    with two_hosts("threads") as session:
        yield session


@pytest.fixture(scope="module")
def processes_session(nothing_leaks: None) -> Iterator[Session]:
    """Two hosts in processes of their own."""
    with two_hosts("processes") as session:
        yield session
