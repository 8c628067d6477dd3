"""A scheduler and hosts that somebody has started and looks after: `dask scheduler`, `dask worker`, as documents say.

Not here: hosts that a run starts itself.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

_REPLACED_AFTER_SECONDS = 3.0
_ENDED_WITHIN_SECONDS = 15.0


class StartedHosts:
    """For one run of a campaign, on loopback."""

    def __init__(self, folder: Path, num_hosts: int, environment: Mapping[str, str], *, has_nannies: bool) -> None:
        """`folder`: where their logs go, and their working folder."""
        self._folder = folder
        self._num_hosts = num_hosts
        self._environment = {**os.environ, **environment}
        self._has_nannies = has_nannies
        self.port = _free_port()
        """Of the scheduler, for all of the run."""
        self._scheduler: subprocess.Popen[bytes] | None = None
        self._workers: list[subprocess.Popen[bytes]] = []
        self._lost_at: float | None = None
        self.make_whole()

    @property
    def address(self) -> str:
        """Of the scheduler."""
        return f"tcp://127.0.0.1:{self.port}"

    @property
    def scheduler_pid(self) -> int | None:
        """None if it has ended."""
        scheduler = self._scheduler
        return None if scheduler is None or scheduler.poll() is not None else scheduler.pid

    def replace_lost(self) -> None:
        """Start a worker in place of each whose nanny has died, some seconds later: for those who keep a cluster."""
        alive = [worker for worker in self._workers if worker.poll() is None]
        if len(alive) == self._num_hosts or self.scheduler_pid is None:
            self._lost_at = None
        elif self._lost_at is None:
            self._lost_at = time.monotonic()
        elif time.monotonic() - self._lost_at > _REPLACED_AFTER_SECONDS:
            self._start_missing()

    def make_whole(self) -> None:
        """A scheduler and all hosts are there, or on their way. Hosts of a scheduler that has died are ended before."""
        if self.scheduler_pid is None:
            self._end(self._workers)
            web = ("--dashboard-address", "127.0.0.1:0")
            self._scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", str(self.port), *web)
        self._start_missing()

    def close(self) -> None:
        """End them all, as who has started them does."""
        self._end([*self._workers, *([] if self._scheduler is None else [self._scheduler])])

    def _start_missing(self) -> None:
        self._workers = [worker for worker in self._workers if worker.poll() is None]
        nanny = () if self._has_nannies else ("--no-nanny",)
        words = ("worker", self.address, "--host", "127.0.0.1", "--nthreads", "1", "--memory-limit", "0", *nanny)
        self._workers += [self._start(*words) for _ in range(self._num_hosts - len(self._workers))]

    def _start(self, *words: str) -> "subprocess.Popen[bytes]":
        with (self._folder / f"dask_{words[0]}.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "dask", *words],
                cwd=self._folder,
                env=self._environment,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    @staticmethod
    def _end(processes: "list[subprocess.Popen[bytes]]") -> None:
        for process in processes:
            process.send_signal(signal.SIGCONT)
            process.terminate()
        for process in processes:
            try:
                process.wait(_ENDED_WITHIN_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
