"""What a job needs, what it was granted, and how it says how it ended: for the authors of job functions.

    def job_needs(config: DictConfig) -> JobNeeds:                  hydra.launcher.needs=my_package.my_module.job_needs
        return JobNeeds((Part(num_threads=4, memory_bytes=2**31),))

    grant = current_grant()                                         in the job function
    if grant is not None and not grant.fits_one_host:
        client = distributed.Client(grant.scheduler)                and use grant.hosts, no others

A job is told to stop by SIGINT, which Python turns into KeyboardInterrupt. One that handles the signal itself raises
JobInterrupted when it has ended in order. A failure that words can tell is a JobFailedError.
Not here: how far a job is (`progress`), who gets what (`allocation`).
"""

import json
import os
from typing import NamedTuple

from hydra.errors import CompactHydraException

GRANT_VARIABLE = "DASK_LAUNCHER_GRANT"
"""Environment variable of a job's process."""


class Part(NamedTuple):
    """A piece of a job that stays on one host."""

    num_threads: int
    memory_bytes: int = 0
    num_gpus: int = 0


class JobNeeds(NamedTuple):
    """What a job needs before it can start, all or nothing."""

    parts: tuple[Part, ...]
    """Each fits one host as a whole; several may share a host. The job's own process runs on that of the first."""


class Grant(NamedTuple):
    """What a job was given, for one attempt to run it."""

    job: int
    """Its number in the sweep."""
    attempt: int
    """1 at the first time that this job was started in this sweep's folder, whichever command started it."""
    scheduler: str | None
    """Address of the Dask scheduler that the hosts belong to; None: the job may not use it."""
    hosts: dict[str, int]
    """Address of each host -> threads of the job there. The job's own process runs on the first."""
    launch_id: str = ""
    """Of the command, and of no other: a job that writes it into its files knows at a retry which are of this command,
    whatever clocks say."""
    seats: tuple[str, ...] = ()
    """Address of the host of each part that the job asked for, in their order: there is room for it there."""

    @property
    def fits_one_host(self) -> bool:
        """True: all that was granted is where the job's process runs, which needs no cluster then."""
        return len(self.hosts) == 1


class JobInterrupted(Exception):
    """Raised by a job that was told to stop (SIGINT) and ended in order before its work was done.

    It counts as interrupted, not as failed; the same command runs it again.
    """


class JobFailedError(CompactHydraException):
    """Raised by a job whose failure its words tell: Hydra ends with them, and the traceback is in the job's log alone.

    The launcher raises it for jobs that ended without an exception that could travel.
    """

    def __init__(self, words: str, *, again: bool = True) -> None:
        """`again=False`: another attempt would come to the same, and none is made."""
        super().__init__(words)
        self.again = again


def current_grant() -> Grant | None:
    """What this process was granted; None outside of a job of this launcher."""
    text = os.environ.get(GRANT_VARIABLE)
    if text is None:
        return None
    grant = Grant(**json.loads(text))
    return grant._replace(seats=tuple(grant.seats))


def to_variable(grant: Grant) -> str:
    """The value of GRANT_VARIABLE that `current_grant` reads."""
    return json.dumps(grant._asdict())
