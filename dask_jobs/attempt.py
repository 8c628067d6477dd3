"""One attempt to run a job, on its host: a Dask task that runs the job in a process of its own, and watches it.

The task secedes, so that it takes no thread from the roles of other jobs. It stops its job when it is told to
(`stop_jobs`), when the job holds too much memory, and when nobody waits for its result any more.
Not here: the process (`process`), who runs where (`decisions`).
"""

import contextlib
import queue
from typing import Any, NamedTuple

from distributed import get_worker, secede

from dask_jobs.gpus import GpusInUseError, gpus_of_job
from dask_jobs.ledger import DONE, FAILED, INTERRUPTED
from dask_jobs.outcome import HOST_LOST, HostSetup, Order, Outcome
from dask_jobs.process import JobProcess
from dask_jobs.progress import TOPIC
from dask_jobs.spares import spare_or_new
from dask_jobs.wanted import is_wanted, own_key
from dask_jobs.watched_time import WatchedTime

_LISTEN_SECONDS = 0.25
_MEASURE_SECONDS = 1.0
_LEAVE_SECONDS = 30.0
"""What a job that is done has at least for what programs do at their exit."""


class _Stop(NamedTuple):
    """Why a job is stopped."""

    status: str
    reason: str
    patience_seconds: float
    """0: killed at once."""


_stops: dict[tuple[str, int, int], "queue.SimpleQueue[_Stop]"] = {}
"""(sweep, job, attempt) -> where the task of this attempt looks."""


def stop_jobs(sweep: str, reason: str, patience_seconds: float) -> None:
    """Stop all jobs of this sweep that run here; returns at once. A shorter patience replaces a longer one."""
    for (owner, _, _), stops in list(_stops.items()):
        if owner == sweep:
            stops.put(_Stop(INTERRUPTED, reason, patience_seconds))


def run_job_here(order: Order, setup: HostSetup) -> Outcome:
    """Run one attempt in a process of its own and watch it to its end. A Dask task."""
    worker, key = get_worker(), own_key()
    if worker.id != order.server_id:
        return HOST_LOST
    secede()
    job = order.grant.job
    attempt = (setup.sweep, job, order.grant.attempt)

    def forward(report: dict[str, Any]) -> None:
        worker.log_event(TOPIC, {"sweep": setup.sweep, "kind": "progress", "job": job, **report})

    stops: queue.SimpleQueue[_Stop] = queue.SimpleQueue()
    _stops[attempt] = stops
    try:
        gpus = gpus_of_job(order.num_gpus, setup, worker)
        with gpus as variables, contextlib.closing(spare_or_new(setup)) as process:
            process.hand_over(order, variables)
            watch = _Watch(process, order, setup, stops)
            while not process.has_ended:
                process.listen(_LISTEN_SECONDS, forward)
                watch.look(is_wanted=is_wanted(worker, key))
            return watch.outcome()
    except GpusInUseError as error:
        return Outcome(FAILED, str(error))
    finally:
        del _stops[attempt]


class _Watch:
    """Looks after one process, and ends it once there is a reason."""

    def __init__(self, process: JobProcess, order: Order, setup: HostSetup, stops: "queue.SimpleQueue[_Stop]") -> None:
        self._process = process
        self._stops = stops
        self._stop: _Stop | None = None
        self._watched = WatchedTime()
        self._kill_at = self._measure_at = 0.0
        self._stop_seconds = setup.stop_seconds
        self._ended_at: float | None = None
        """When its outcome was there."""
        self._granted_bytes = order.memory_bytes
        self._memory_factor = setup.memory_factor

    def look(self, is_wanted: bool) -> None:
        """Once in a while: stop the process if there is a reason, kill it when its time is up."""
        with contextlib.suppress(queue.Empty):
            while True:
                self._begin(self._stops.get_nowait())
        if self._stop is None:
            if not is_wanted:
                self._begin(_Stop(INTERRUPTED, "the launcher is gone", self._stop_seconds))
            elif (excess := self._excess()) is not None:
                # At once: memory that its neighbours were granted is being taken.
                self._begin(_Stop(FAILED, excess, 0.0))
        if (self._stop is not None and self._watched.now() >= self._kill_at) or self._lingers():
            self._process.kill()

    def outcome(self) -> Outcome:
        """How the process ended, and why."""
        left = self._process.outcome()
        if self._stop is None:
            return left or Outcome(FAILED, self._process.last_words())
        # One that was told to stop may have come to its end all the same.
        if left is not None and left.status == DONE:
            return left
        return Outcome(self._stop.status, self._stop.reason, None if left is None else left.job_return)

    def _lingers(self) -> bool:
        """Whether the process lives on long after its work: a thread that the job has left would keep it for ever."""
        if self._ended_at is None and self._process.has_outcome:
            self._ended_at = self._watched.now()
        patience_seconds = max(self._stop_seconds, _LEAVE_SECONDS)
        return self._ended_at is not None and self._watched.now() >= self._ended_at + patience_seconds

    def _begin(self, stop: _Stop) -> None:
        kill_at = self._watched.now() + stop.patience_seconds
        if self._stop is None:
            self._stop, self._kill_at = stop, kill_at
            if stop.patience_seconds > 0:
                self._process.interrupt()
        # The launcher says the same again and again: that is no new time.
        self._kill_at = min(self._kill_at, kill_at)

    def _excess(self) -> str | None:
        if not self._granted_bytes or self._memory_factor is None or self._watched.now() < self._measure_at:
            return None
        self._measure_at = self._watched.now() + _MEASURE_SECONDS
        used = self._process.memory_bytes()
        if used <= self._granted_bytes * self._memory_factor:
            return None
        return (
            f"it held {used / 2**30:.2f} GiB, and was granted {self._granted_bytes / 2**30:.2f} GiB (killed above "
            f"{self._memory_factor:g} x that, hydra.launcher.memory_factor)"
        )
