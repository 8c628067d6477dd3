"""Ctrl-C, SIGTERM and SIGHUP: before there is anything to end in order they end at once, and then they are a wish.

A job of a sweep has a launcher that kills it when it takes too long, and several who may tell it to stop: a batch
system, its host that is going, the launcher. There a second Ctrl-C means nothing new.

Not here: what is done about it (`pipeline.experiments.run`, `pipeline.experiments.scoring.afterwards`), who may say it
how often (`dask_jobs.interrupts`).
"""

import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress

import psutil

from dask_jobs.interrupts import heard, name_of

_STEP = "slurmstepd"
"""Program that is the parent of what a job of Slurm begins with."""


@contextmanager
def interruptible(interrupt: threading.Event, *, second_ends: bool = True) -> Iterator[None]:
    """Each of them sets `interrupt` meanwhile.

    Where it is set already, Ctrl-C raises KeyboardInterrupt, or does nothing if not `second_ends`.
    """

    def hear(which: signal.Signals) -> None:
        if interrupt.is_set() and second_ends and which is signal.SIGINT:
            _end_at_once(which)
        interrupt.set()

    with heard(hear):
        yield


def ending_at_once() -> AbstractContextManager[None]:
    """Each of them raises KeyboardInterrupt meanwhile, with its name: what was started is closed, jobs among it."""
    return heard(_end_at_once)


def _end_at_once(which: signal.Signals) -> None:
    raise KeyboardInterrupt(name_of(which))


def shell_that_ends_first(ancestors: Sequence[str], *, has_terminal: bool) -> str | None:
    """A warning where a shell of a Slurm job stands between Slurm and this command; None where none does.

    `ancestors`: names of the processes that have started this one, nearest first. Slurm signals all processes of a job.
    A shell of a script dies of it, and Slurm kills what the script has left. One at a terminal does not.
    """
    if has_terminal or _STEP not in ancestors[1:]:
        return None
    return (
        f"{ancestors[0]} has started this command in a job of Slurm, and dies first when Slurm ends the job: no "
        "checkpoint is saved then; write `exec` before the command, in its script's last line"
    )


def warning_of_job() -> str | None:
    """The same of this process."""
    with suppress(psutil.Error):
        names = [process.name() for process in psutil.Process().parents()]
        return shell_that_ends_first(names, has_terminal=sys.stdin is not None and sys.stdin.isatty())
    return None
