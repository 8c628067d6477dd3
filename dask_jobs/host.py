"""A host's side of a sweep, as Dask tasks: one that runs a job in a process of its own, one that keeps a spare process.

A task secedes, so that it takes no thread from the roles of other jobs, and watches. It stops its job when it is told
to (`stop_jobs`), when the job holds too much memory, and when nobody waits for its result any more: Dask forgets the
tasks of a client that is gone, but does not end what already runs.
Not here: the process (`process`), who runs where (`sweep`).
"""

import contextlib
import os
import queue
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from distributed import Worker, get_worker, secede
from distributed.system import MEMORY_LIMIT

from dask_jobs.ledger import DONE, FAILED, INTERRUPTED
from dask_jobs.outcome import HOST_LOST, HostSetup, Order, Outcome
from dask_jobs.process import JobProcess
from dask_jobs.progress import TOPIC

_LISTEN_SECONDS = 0.25
_MEASURE_SECONDS = 1.0
_LEAVE_SECONDS = 30.0
"""What a job that is done has at least for what programs do at their exit."""
_GPU_VARIABLE = "CUDA_VISIBLE_DEVICES"
_GPU_MARGIN_SECONDS = 10.0
_WANTED_STATES = ("executing", "long-running")


class HostReport(NamedTuple):
    """A host as it sees itself."""

    server_id: str
    machine: str
    """The same for all hosts on one machine."""
    memory_bytes: int
    """Of its machine, or of what its container may use; the same however much of it is in use now."""
    sees_folder: bool


class _GpusInUseError(Exception):
    """What was granted is still held by jobs that nobody waits for."""


class _Stop(NamedTuple):
    """Why a job is stopped."""

    status: str
    reason: str
    patience_seconds: float
    """0: killed at once."""


_stops: dict[tuple[str, int, int], "queue.SimpleQueue[_Stop]"] = {}
"""(sweep, job, attempt) -> where the task of this attempt looks."""

_spares: dict[str, "queue.SimpleQueue[JobProcess]"] = {}
"""Sweep -> its spare process, if it is ready to be taken."""

_gpus_in_use: set[str] = set()
_gpus_lock = threading.Lock()


def report_host(folder: str, dask_worker: Worker) -> HostReport:
    """The report of the host that runs this; `Client.run` fills in the worker."""
    return HostReport(dask_worker.id, socket.gethostname(), MEMORY_LIMIT, os.path.isdir(folder))


def stop_jobs(sweep: str, reason: str, patience_seconds: float) -> None:
    """Stop all jobs of this sweep that run here; returns at once. A shorter patience replaces a longer one."""
    for (owner, _, _), stops in list(_stops.items()):
        if owner == sweep:
            stops.put(_Stop(INTERRUPTED, reason, patience_seconds))


def run_job_here(order: Order, setup: HostSetup) -> Outcome:
    """Run one attempt in a process of its own and watch it to its end. A Dask task."""
    worker, key = get_worker(), _own_key()
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
        with _gpus(order.num_gpus, setup, worker) as variables, _process(setup) as process:
            process.hand_over(order, variables)
            watch = _Watch(process, order, setup, stops)
            while not process.has_ended:
                process.listen(_LISTEN_SECONDS, forward)
                watch.look(is_wanted=_is_wanted(worker, key))
            return watch.outcome()
    except _GpusInUseError as error:
        return Outcome(FAILED, str(error))
    finally:
        del _stops[attempt]


def keep_spare(setup: HostSetup) -> None:
    """Keep one process ready that has imported what jobs need, for as long as anybody wants that. A Dask task."""
    worker, key = get_worker(), _own_key()
    secede()
    ready: queue.SimpleQueue[JobProcess] = queue.SimpleQueue()
    _spares[setup.sweep] = ready
    pause = threading.Event()
    try:
        while _is_wanted(worker, key):
            if ready.empty():
                ready.put(JobProcess(setup))
            pause.wait(_LISTEN_SECONDS)
    finally:
        # Another task may keep spare ones here already.
        if _spares.get(setup.sweep) is ready:
            del _spares[setup.sweep]
        if (spare := _taken(ready)) is not None:
            spare.close()


class _Watch:
    """Looks after one process, and ends it once there is a reason."""

    def __init__(self, process: JobProcess, order: Order, setup: HostSetup, stops: "queue.SimpleQueue[_Stop]") -> None:
        self._process = process
        self._stops = stops
        self._stop: _Stop | None = None
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
        if (self._stop is not None and time.monotonic() >= self._kill_at) or self._lingers():
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
            self._ended_at = time.monotonic()
        patience_seconds = max(self._stop_seconds, _LEAVE_SECONDS)
        return self._ended_at is not None and time.monotonic() >= self._ended_at + patience_seconds

    def _begin(self, stop: _Stop) -> None:
        kill_at = time.monotonic() + stop.patience_seconds
        if self._stop is None:
            self._stop, self._kill_at = stop, kill_at
            if stop.patience_seconds > 0:
                self._process.interrupt()
        # The launcher says the same again and again: that is no new time.
        self._kill_at = min(self._kill_at, kill_at)

    def _excess(self) -> str | None:
        if not self._granted_bytes or self._memory_factor is None or time.monotonic() < self._measure_at:
            return None
        self._measure_at = time.monotonic() + _MEASURE_SECONDS
        used = self._process.memory_bytes()
        if used <= self._granted_bytes * self._memory_factor:
            return None
        return (
            f"it held {used / 2**30:.2f} GiB, and was granted {self._granted_bytes / 2**30:.2f} GiB (killed above "
            f"{self._memory_factor:g} x that, hydra.launcher.memory_factor)"
        )


@contextlib.contextmanager
def _process(setup: HostSetup) -> Iterator[JobProcess]:
    ready = _spares.get(setup.sweep)
    process = (None if ready is None else _taken(ready)) or JobProcess(setup)
    try:
        yield process
    finally:
        process.close()


def _taken(ready: "queue.SimpleQueue[JobProcess]") -> JobProcess | None:
    """The spare process, if it is there and alive: a job is not to fail of what ended one that nobody used."""
    try:
        spare = ready.get_nowait()
    except queue.Empty:
        return None
    if not spare.has_ended:
        return spare
    spare.close()
    return None


@contextlib.contextmanager
def _gpus(num_gpus: int, setup: HostSetup, worker: Worker) -> Iterator[Mapping[str, str]]:
    """The variable that shows a job those GPUs that are its own; none on a host that declares no GPU."""
    if not worker.state.total_resources.get("GPU"):
        yield {}
        return
    taken = _take_gpus(num_gpus, setup, worker)
    try:
        yield {_GPU_VARIABLE: ",".join(taken)}
    finally:
        with _gpus_lock:
            _gpus_in_use.difference_update(taken)


def _take_gpus(num_gpus: int, setup: HostSetup, worker: Worker) -> list[str]:
    # A job of a launcher that is gone holds its own until it has ended, which it has `stop_seconds` for.
    give_up_at = time.monotonic() + setup.stop_seconds + _GPU_MARGIN_SECONDS
    while True:
        with _gpus_lock:
            free = [gpu for gpu in _host_gpus(setup, worker) if gpu not in _gpus_in_use]
            if len(free) >= num_gpus:
                _gpus_in_use.update(free[:num_gpus])
                return free[:num_gpus]
        if time.monotonic() > give_up_at:
            raise _GpusInUseError(
                f"{num_gpus} GPUs were granted, and jobs that should have ended hold all but {len(free)}"
            )
        time.sleep(_LISTEN_SECONDS)


def _host_gpus(setup: HostSetup, worker: Worker) -> list[str]:
    visible = os.environ.get(_GPU_VARIABLE)
    num_gpus = int(worker.state.total_resources["GPU"])
    # Hosts that the launcher started are numbered, and share the GPUs of one machine.
    first = int(worker.name) * num_gpus if setup.gpus_per_host else 0
    gpus = visible.split(",") if visible else [str(gpu) for gpu in range(first + num_gpus)]
    return gpus[first : first + num_gpus]


def _own_key() -> str:
    return str(get_worker().get_current_task())


def _is_wanted(worker: Worker, key: str) -> bool:
    task = worker.state.tasks.get(key)
    return task is not None and task.state in _WANTED_STATES
