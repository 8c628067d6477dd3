"""Clusters that the tests of this package share, and the proof that none of them leaves anything behind."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.cluster.host_settings import KEPT_MEMORY
from pipeline.cluster.session import Session
from tests.cluster.fake_slurm import jobs, put
from tests.cluster.ssh_login import Server
from tests.clusters import no_process_left, two_hosts, wait_until


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


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with `sbatch` and `scancel`, and a proof that no job outlives the test."""
    put(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    yield tmp_path
    wait_until(lambda: not jobs(tmp_path), "all jobs have ended")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """An ssh server that lets one key in."""
    folder = tmp_path_factory.mktemp("ssh")
    words = [sys.executable, "-m", "tests.cluster.ssh_server", str(folder)]
    # A nanny of another test leaves its values in this process; who is let in has no environment of ours.
    environ = {name: value for name, value in os.environ.items() if name not in KEPT_MEMORY}
    with subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environ):
        known_hosts = folder / "known_hosts"
        wait_until(known_hosts.exists, "the ssh server listens")
        port = known_hosts.read_text().split()[0].rpartition(":")[2]
        yield Server(int(port), folder / "key", known_hosts)
