"""A spare process on a host, which has imported what jobs need, for the next job there.

Not here: the process (`process`), for how long one is kept (`sweep`).
"""

import queue
import threading

from distributed import get_worker, secede

from dask_jobs.outcome import HostSetup
from dask_jobs.process import JobProcess
from dask_jobs.wanted import is_wanted, own_key

_LOOK_SECONDS = 0.25

_spares: dict[str, "queue.SimpleQueue[JobProcess]"] = {}
"""Sweep -> its spare process, if it is ready to be taken."""


def keep_spare(setup: HostSetup) -> None:
    """Keep one process ready that has imported what jobs need, for as long as anybody wants that. A Dask task."""
    worker, key = get_worker(), own_key()
    secede()
    ready: queue.SimpleQueue[JobProcess] = queue.SimpleQueue()
    _spares[setup.sweep] = ready
    pause = threading.Event()
    try:
        while is_wanted(worker, key):
            if ready.empty():
                ready.put(JobProcess(setup))
            pause.wait(_LOOK_SECONDS)
    finally:
        # Another task may keep spare ones here already.
        if _spares.get(setup.sweep) is ready:
            del _spares[setup.sweep]
        if (spare := taken(ready)) is not None:
            spare.close()


def spare_or_new(setup: HostSetup) -> JobProcess:
    """The spare process of this sweep if there is one, else one that is started now."""
    ready = _spares.get(setup.sweep)
    return (None if ready is None else taken(ready)) or JobProcess(setup)


def taken(ready: "queue.SimpleQueue[JobProcess]") -> JobProcess | None:
    """The spare process, if it is there and alive: a job is not to fail of what ended one that nobody used."""
    try:
        spare = ready.get_nowait()
    except queue.Empty:
        return None
    if not spare.has_ended:
        return spare
    spare.close()
    return None
