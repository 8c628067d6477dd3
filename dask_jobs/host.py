"""What a host reports of itself: one process of a Dask cluster, on some machine.

Not here: what it does for a sweep (`attempt`, `spares`).
"""

import os
import socket
from dataclasses import dataclass

import psutil
from dask.system import CPU_COUNT
from distributed import Worker

from dask_jobs.memory import memory_limit


@dataclass(frozen=True)
class HostReport:
    """A host as it sees itself."""

    machine: str
    """The same for all hosts on one machine."""
    num_cores: int
    """Of the machine, or of what its container or batch job may use."""
    free_memory_bytes: int
    """Of the machine, or of what its container may use."""


@dataclass(frozen=True)
class JobHostReport(HostReport):
    """A host as the launcher of a sweep has to know it."""

    server_id: str
    """What tells the process from one that was there before it."""
    memory_bytes: int
    """Of its machine, or of what its container may use; the same however much of it is in use now."""
    sees_folder: bool
    """Whether the folder is there where the command was typed."""


def report_here(memory_limit_bytes: int | None = None) -> HostReport:
    """The report of the process that calls this. The limit: None is that of its container, or its batch job."""
    limit = memory_limit() if memory_limit_bytes is None else memory_limit_bytes
    free = min(psutil.virtual_memory().available, limit)
    return HostReport(socket.gethostname(), CPU_COUNT, free)


def report_job_host(folder: str, dask_worker: Worker) -> JobHostReport:
    """The report of the host that runs this; `Client.run` fills in the worker."""
    return JobHostReport(
        **vars(report_here()), server_id=dask_worker.id, memory_bytes=memory_limit(), sees_folder=os.path.isdir(folder)
    )
