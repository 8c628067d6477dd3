"""Which GPUs of a host each job sees: as many as it was granted, and no others.

Not here: how many those are (`allocation`).
"""

import contextlib
import os
import threading
import time
from collections.abc import Iterator, Mapping

from distributed import Worker
from hydra.errors import CompactHydraException

from dask_jobs.outcome import HostSetup
from dask_jobs.watched_time import waits

_VARIABLE = "CUDA_VISIBLE_DEVICES"
_LOOK_SECONDS = 0.25
_MARGIN_SECONDS = 10.0

_gpus_in_use: set[str] = set()
_gpus_lock = threading.Lock()


class GpusInUseError(Exception):
    """What was granted is not there, or still held by jobs that nobody waits for."""


def check_visible(num_wanted: int) -> None:
    """Raise CompactHydraException if this process may see fewer than its hosts are to have together."""
    visible = _visible()
    if visible is not None and len(visible) < num_wanted:
        raise CompactHydraException(
            f"hydra.launcher.num_hosts x gpus_per_host are {num_wanted} GPUs, and {_VARIABLE}={','.join(visible)} "
            f"shows {len(visible)}: ask for fewer, or set {_VARIABLE} to more"
        )


@contextlib.contextmanager
def gpus_of_job(num_gpus: int, setup: HostSetup, worker: Worker) -> Iterator[Mapping[str, str]]:
    """The variable that shows a job those GPUs that are its own; none on a host that declares no GPU."""
    if not worker.state.total_resources.get("GPU"):
        yield {}
        return
    taken = _take(num_gpus, setup, worker)
    try:
        yield {_VARIABLE: ",".join(taken)}
    finally:
        with _gpus_lock:
            _gpus_in_use.difference_update(taken)


def _take(num_gpus: int, setup: HostSetup, worker: Worker) -> list[str]:
    if len(gpus := _host_gpus(setup, worker)) < num_gpus:
        raise GpusInUseError(
            f"{num_gpus} GPUs were granted, and {_VARIABLE}={os.environ.get(_VARIABLE)} shows {len(gpus)}"
        )
    # A job of a launcher that is gone holds its own until it has ended, which it has `stop_seconds` for.
    for seconds in waits(setup.stop_seconds + _MARGIN_SECONDS):
        with _gpus_lock:
            free = [gpu for gpu in gpus if gpu not in _gpus_in_use]
            if len(free) >= num_gpus:
                _gpus_in_use.update(free[:num_gpus])
                return free[:num_gpus]
        time.sleep(min(seconds, _LOOK_SECONDS))
    raise GpusInUseError(f"{num_gpus} GPUs were granted, and jobs that should have ended hold all but {len(free)}")


def _visible() -> list[str] | None:
    """The GPUs that this process may see; None: nobody has said which."""
    told = os.environ.get(_VARIABLE)
    return None if told is None else [gpu for gpu in told.split(",") if gpu]


def _host_gpus(setup: HostSetup, worker: Worker) -> list[str]:
    visible = _visible()
    num_gpus = int(worker.state.total_resources["GPU"])
    # Hosts that the launcher started are numbered, and share the GPUs of one machine.
    first = int(worker.name) * num_gpus if setup.gpus_per_host else 0
    gpus = [str(gpu) for gpu in range(first + num_gpus)] if visible is None else visible
    return gpus[first : first + num_gpus]
