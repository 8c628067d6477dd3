"""Small real Dask clusters for tests, and waiting for a condition with a limit."""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import psutil
import yaml
from distributed import LocalCluster

from pipeline.cluster.config import ClusterConfig
from pipeline.cluster.kinds import CLUSTER_KINDS
from pipeline.cluster.session import Session, open_session
from tests.processes import living

LIMIT_SECONDS = 180.0
"""How long a test waits for what must come; only a failing test waits so long. Slow tests start up to a dozen processes
beside another test on two cores."""

_CONF = Path(__file__).parents[1] / "conf" / "cluster"

_HERE: dict[str, dict[str, Any]] = {
    "ssh": {"hosts": ("127.0.0.1", "127.0.0.1"), "interface": "lo", "dashboard_address": "127.0.0.1:0"},
    "slurm": {"walltime_minutes": 60, "leave_minutes": 5, "interface": "lo"},
    "kubernetes": {"image": "registry/pipeline:1"},
}
"""Kind -> what its file in `conf/cluster/` leaves open, or says of a real cluster."""


def cluster_config(kind: str, **changes: Any) -> ClusterConfig:
    """A cluster of this kind as in `conf/cluster/`, with settings for tests."""
    settings: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in yaml.safe_load((_CONF / f"{kind}.yaml").read_text()).items()
    }
    settings |= {"memory_bytes": 2**40, "start_timeout_seconds": LIMIT_SECONDS}
    return CLUSTER_KINDS[kind](**settings | _HERE.get(kind, {}) | changes)


def running_cluster(num_hosts: int = 2, threads_per_host: int = 1, **settings: Any) -> LocalCluster:
    """A scheduler with hosts in this process, as somebody has started it; for `with`."""
    return LocalCluster(
        n_workers=num_hosts,
        threads_per_worker=threads_per_host,
        processes=False,
        dashboard_address="127.0.0.1:0",
        memory_limit=0,
        **settings,
    )


def wait_until(condition: Callable[[], object], what: str, limit_seconds: float = LIMIT_SECONDS) -> None:
    """Return as soon as `condition()` is true; AssertionError naming `what` if it never is."""
    pause, end = threading.Event(), time.monotonic() + limit_seconds
    while not condition():
        assert time.monotonic() < end, f"after {limit_seconds:g} s still not: {what}"
        pause.wait(0.05)


def kill_host(session: Session, address: str) -> None:
    """SIGKILL the process of one host, and wait until the scheduler knows."""
    pids = session.client.run(os.getpid, workers=[address])
    os.kill(pids[address], signal.SIGKILL)
    wait_until(lambda: address not in session.present_hosts(), f"{address} is known to be lost")


def child_processes() -> list[psutil.Process]:
    """Living children of this process, Python's own resource tracker aside."""
    children = psutil.Process().children(recursive=True)
    return [child for child in living(children) if not _is_resource_tracker(child)]


@contextlib.contextmanager
def no_process_left() -> Iterator[None]:
    """AssertionError when a child process outlives what is done within."""
    before = set(child_processes())
    yield
    wait_until(lambda: set(child_processes()) <= before, "no child process is left")


def two_hosts(kind: str, threads_per_host: int = 1) -> AbstractContextManager[Session]:
    """A session of two hosts, "threads" of this process or "processes" of their own."""
    return open_session(cluster_config(kind), num_hosts=2, threads_per_host=threads_per_host)


def _is_resource_tracker(process: psutil.Process) -> bool:
    try:
        return "resource_tracker" in " ".join(process.cmdline())
    except psutil.NoSuchProcess:  # it has just ended
        return True
