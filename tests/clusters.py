"""Small real Dask clusters for tests, and waiting for a condition with a limit."""

import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import psutil
from distributed import LocalCluster

from pipeline.cluster.config import CLUSTER_KINDS, ClusterConfig
from pipeline.cluster.session import Session

LIMIT_SECONDS = 60.0
"""How long a test waits for what must come; only a failing test waits so long."""


_OWN_SETTINGS: dict[str, dict[str, Any]] = {
    "threads": {"dashboard_address": "127.0.0.1:0"},
    "processes": {"dashboard_address": "127.0.0.1:0"},
    "address": {"address": None, "tls_ca_file": None, "tls_cert_file": None, "tls_key_file": None},
    "ssh": {
        "hosts": ("127.0.0.1", "127.0.0.1"),
        "user": None,
        "port": None,
        "key_file": None,
        "known_hosts_file": None,
        "check_host_keys": True,
        "python": None,
        "interface": "lo",
        "gpus_per_host": 0,
        "dashboard_address": "127.0.0.1:0",
    },
    "slurm": {
        "partition": None,
        "account": None,
        "hosts_per_job": 1,
        "host_cores": None,
        "gpus_per_host": 0,
        "walltime_minutes": 60,
        "leave_minutes": 5,
        "directives": (),
        "prologue": (),
        "python": None,
        "interface": "lo",
        "dashboard_address": "127.0.0.1:0",
    },
    "kubernetes": {"image": "registry/pipeline:1", "namespace": None, "host_cores": None, "gpus_per_host": 0},
}


def cluster_config(kind: str, **changes: Any) -> ClusterConfig:
    """A cluster of this kind with settings for tests."""
    settings: dict[str, Any] = {
        "kind": kind,
        "num_hosts": None,
        "memory_bytes": 2**40,
        "start_timeout_seconds": LIMIT_SECONDS,
        "max_restarts": 3,
        "lease_seconds": 30.0,
    }
    return CLUSTER_KINDS[kind](**settings | _OWN_SETTINGS[kind] | changes)


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
    return [child for child in children if not _is_resource_tracker(child)]


def _is_resource_tracker(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE or "resource_tracker" in " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return True
