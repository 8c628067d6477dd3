"""Spare processes on a host."""

import queue
from pathlib import Path

from dask_jobs.outcome import HostSetup
from dask_jobs.process import JobProcess
from dask_jobs.spares import taken


def test_a_spare_process_that_has_died_is_given_to_no_job(tmp_path: Path) -> None:
    setup = HostSetup("s1", str(tmp_path), str(tmp_path), (), (), None, 1.0, 0)
    ready: queue.SimpleQueue[JobProcess] = queue.SimpleQueue()
    dead, alive = JobProcess(setup), JobProcess(setup)
    dead.kill()
    ready.put(dead)
    assert taken(ready) is None
    ready.put(alive)
    assert taken(ready) is alive and taken(ready) is None
    alive.close()
