"""Jobs of Slurm that hold hosts, as dask-jobqueue submits them.

Not here: what is asked for each (`pipeline.cluster.kinds.slurm`).
"""

import asyncio
import importlib
import os
import shlex
import signal
import threading
from typing import Any

import dask
from distributed.core import Status

from pipeline.cluster.whole import WholeCluster

_CLOSE_SECONDS = 60.0
"""`sbatch` and `scancel` are waited for no longer when a job is to end."""
_DIRECTIVE = "#SBATCH "
_UNWANTED = frozenset({"SBATCH_ARRAY_INX", "SBATCH_WAIT"})
"""Variables of sbatch that no script overrides: one job would be many, or be waited for until it ends."""


def _dask_jobqueue() -> Any:
    # Its import makes Ctrl-C a plain exit, whoever handles it; outside the main thread, which alone may, it fails.
    importing, handle = threading.get_ident(), signal.signal
    signal.signal = lambda *to_set: None if threading.get_ident() == importing else handle(*to_set)
    try:
        return importlib.import_module("dask_jobqueue.slurm")
    finally:
        signal.signal = handle


_SLURM = _dask_jobqueue()
_SlurmJob: Any = _SLURM.SLURMJob
_SlurmCluster: Any = _SLURM.SLURMCluster


class Job(_SlurmJob):  # type: ignore[misc]  # its package is typed by halves, and taken as untyped
    """Says that it is closed, which its base forgets, and is closed well at any time, also while it is submitted.

    Does not make the site's folder for output, which its directives name if it is to be used.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        with dask.config.set({"jobqueue.slurm.log-directory": None}):
            super().__init__(*args, **kwargs)
        self.status: Status

    async def close(self) -> None:
        """Cancel it, once it is submitted."""
        # A submission holds the lock: not before it has ended has the job an id to be cancelled by.
        async with asyncio.timeout(_CLOSE_SECONDS), self.lock:
            if self.status is not Status.closed:
                await super().close()
                self.status = Status.closed

    async def _submit_job(self, script_filename: str) -> Any:
        return await self._call([*shlex.split(self.submit_command), *directives(self.job_header), script_filename])

    @staticmethod
    async def _call(cmd: list[str], **kwargs: Any) -> Any:
        # In a session of its own: a terminal's Ctrl-C would end sbatch half-way, be the job there or not.
        environment = {name: value for name, value in os.environ.items() if name not in _UNWANTED}
        return await _SlurmJob._call(cmd, start_new_session=True, env=environment, **kwargs)


class JobCluster(WholeCluster, _SlurmCluster):  # type: ignore[misc]  # see Job
    """The scheduler in this process, hosts in jobs."""


def in_slurm_s_units(num_bytes: int) -> str:
    """So much memory, as --mem takes it."""
    return str(_SLURM.slurm_format_bytes_ceil(num_bytes))


def directives(header: str) -> list[str]:
    """The options in a script, as words of a command line.

    There they count more than the variables that sbatch reads (SBATCH_TIMELIMIT, …), and in the script less. What the
    script leaves open, such as SBATCH_ACCOUNT where no account is given, a variable may still say.
    """
    lines = (line.removeprefix(_DIRECTIVE) for line in header.splitlines() if line.startswith(_DIRECTIVE))
    return [word for line in lines for word in shlex.split(line, comments=True)]
