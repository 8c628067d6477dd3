"""How one attempt to run a job ended, and where it ran: values that travel between launcher, host and job process.

Not here: what a job is granted (`needs`), what the launcher makes of an outcome (`sweep`).
"""

from typing import NamedTuple

from dask_jobs.ledger import FAILED
from dask_jobs.needs import Grant


class Outcome(NamedTuple):
    """The end of an attempt."""

    status: str
    """DONE, FAILED or INTERRUPTED of `ledger`."""
    reason: str = ""
    """One line; empty for a job that is done."""
    job_return: bytes | None = None
    """Hydra's JobReturn, pickled; None where the job's process did not get as far."""
    again: bool = True
    """Whether another attempt may come to something else."""


HOST_LOST = Outcome(FAILED, "its host was lost")
"""Of an attempt of which nothing more will be heard."""


class HostSetup(NamedTuple):
    """What all jobs of a sweep have in common on a host."""

    sweep: str
    """Names the sweep among all that share the cluster."""
    folder: str
    """Where the command was typed; jobs start there."""
    log_folder: str
    """Where the output of jobs goes."""
    sys_path: tuple[str, ...]
    """Places to import from that are not of the Python installation."""
    preload: tuple[str, ...]
    memory_factor: float | None
    stop_seconds: float
    gpus_per_host: int
    """Of hosts that the launcher started itself; 0: hosts know which GPUs are theirs."""


class Order(NamedTuple):
    """One attempt, as a host gets it."""

    grant: Grant
    server_id: str
    """Of the Dask worker that it is meant for: another one at the same address must not run it again."""
    memory_bytes: int
    """Granted on the job's own host; 0: not counted."""
    num_gpus: int
    """Granted on the job's own host."""
    work: bytes
    """What the job's process runs, pickled: see `work.Work`."""


def log_name(job: int, attempt: int) -> str:
    """Name of the file with the output of one attempt."""
    return f"{job}_{attempt}.log"
