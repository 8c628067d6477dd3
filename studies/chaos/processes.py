"""The processes of one run: whoever has its mark in the environment that it was started with, so all descendants.

Not here: what they hold (`studies.chaos.scene`).
"""

import contextlib
import signal
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import psutil

MARK = "PIPELINE_CHAOS"
"""Environment variable; its value tells one run from all others."""
_POLL_SECONDS = 0.2


def marked(mark: str) -> list[psutil.Process]:
    """Those that live; Python's own resource trackers, which end with who started them, count too."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def listening(process: psutil.Process) -> set[int]:
    """TCP ports that it listens on."""
    with contextlib.suppress(psutil.Error, OSError):
        connections = process.net_connections(kind="tcp")
        return {each.laddr.port for each in connections if each.laddr and each.status == psutil.CONN_LISTEN}
    return set()


def speaks_to(process: psutil.Process) -> set[int]:
    """TCP ports of others that it has connections to."""
    with contextlib.suppress(psutil.Error, OSError):
        connections = process.net_connections(kind="tcp")
        return {each.raddr.port for each in connections if each.raddr and each.status == psutil.CONN_ESTABLISHED}
    return set()


def is_host(process: psutil.Process) -> bool:
    """Whether it is a host: a process that a nanny has spawned, or a `dask worker` without one."""
    words = _words(process)
    return any("multiprocessing.spawn" in word for word in words) or ("worker" in words and "--no-nanny" in words)


def is_nanny(process: psutil.Process) -> bool:
    """Whether it is a `dask worker` that looks after a host; a job of dask-jobqueue starts it as a module."""
    words = _words(process)
    return not {"worker", "distributed.cli.dask_worker"}.isdisjoint(words) and "--no-nanny" not in words


def _words(process: psutil.Process) -> list[str]:
    with contextlib.suppress(psutil.Error, OSError):
        return process.cmdline()
    return []


def send(process: psutil.Process, which: signal.Signals) -> None:
    """A signal, if the process is still there."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process.send_signal(which)


class Left(NamedTuple):
    """What was left of a run."""

    num_processes: int
    num_ports: int
    """TCP ports that they listened on; a port of somebody else's is none of them, whoever had it before."""


def end_all(mark: str, *, grace_seconds: float) -> Left:
    """Wait so long until nobody with this mark is left, kill the others; returns what these were and held."""
    left: list[psutil.Process] = []
    for left in polled(lambda: marked(mark), grace_seconds):
        if not left:
            return Left(0, 0)
    ports = set[int]().union(*(listening(process) for process in left))
    for process in left:
        send(process, signal.SIGKILL)
    return Left(len(left), len(ports))


def polled(look: Callable[[], list[psutil.Process]], seconds: float) -> Iterator[list[psutil.Process]]:
    """What is seen, several times a second for so long."""
    end = time.monotonic() + seconds
    while True:
        yield look()
        if time.monotonic() > end:
            return
        time.sleep(_POLL_SECONDS)
