"""Ctrl-C, SIGTERM and SIGHUP: before there is anything to end in order they end at once, and then they are a wish.

A job of a sweep has a launcher that kills it when it takes too long, and several who may tell it to stop: a batch
system, its host that is going, the launcher. There a second Ctrl-C means nothing new.

Not here: what is done about it (`pipeline.experiments.run`, `pipeline.experiments.scoring.afterwards`), who may say it
how often (`dask_jobs.interrupts`).
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from dask_jobs.interrupts import heard, name_of


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
