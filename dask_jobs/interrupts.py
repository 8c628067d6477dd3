"""Ctrl-C, SIGTERM and SIGHUP: who has work to end hears of them, so that they never break into the middle of a change.

    heard(hear)          here, meanwhile: a function is told
    dask_setup(server)   on hosts that we start: nothing. Batch systems and terminals signal every process of a job, and
                         hosts have to live on, for their jobs to end in order; who has started them closes them, and
                         then they leave at once

A host whose process of origin dies ends by itself: Dask's nanny sees to that, and over ssh the lost scheduler.
Not here: what a sweep does about them (`sweep`).
"""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

from dask_jobs.quiet import leave_out_broken_connections
from dask_jobs.terminal import leave_at_once

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""How somebody says that a program is to end: Ctrl-C; a batch system; a terminal or an ssh connection that is gone."""

LEAVE_SIGNALS = (
    "import importlib.util; "
    'dask_setup = importlib.util.find_spec("dask_jobs") and __import__("dask_jobs.interrupts").interrupts.dask_setup'
)
"""To be preloaded by hosts on machines that may lack this launcher, which they are asked about later, in words. In one
line: over ssh Dask takes an empty one for a failure."""


@contextlib.contextmanager
def heard(hear: Callable[[signal.Signals], None]) -> Iterator[None]:
    """SIGINT calls `hear` each time meanwhile; SIGTERM and SIGHUP, the first time.

    A person who presses Ctrl-C again means more by it. A batch system signals a process and then its whole group
    (`timeout`), and of a connection that is gone the kernel tells, and the shell. SIGHUP that was ignored stays so
    (`nohup`).
    """
    # Only the main thread may handle signals; what runs in another thread is stopped by its owner.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {which: signal.getsignal(which) for which in SIGNALS}
    known: set[signal.Signals] = set()

    def on_signal(number: int, _frame: FrameType | None) -> None:
        which = signal.Signals(number)
        if which is signal.SIGINT or which not in known:
            known.add(which)
            hear(which)

    # One that a program around Python has set, as R does, could not be put back.
    settable = [which for which in SIGNALS if before[which] is not None]
    ours = [which for which in settable if which is not signal.SIGHUP or before[which] is not signal.SIG_IGN]
    for which in ours:
        signal.signal(which, on_signal)
    try:
        yield
    finally:
        for which in ours:
            signal.signal(which, before[which])


@contextlib.contextmanager
def interrupts(tell: Callable[[str], None]) -> Iterator[None]:
    """The first signal calls `tell` with its name, and so does a Ctrl-C after it; the one after that ends at once."""
    num_told = 0

    def hear(which: signal.Signals) -> None:
        nonlocal num_told
        if num_told and which is not signal.SIGINT:
            return
        num_told += 1
        if num_told > 2:
            raise KeyboardInterrupt
        tell(name_of(which))

    with heard(hear):
        yield


def name_of(which: signal.Signals) -> str:
    """As users know it."""
    return "Ctrl-C" if which is signal.SIGINT else which.name


def dask_setup(_server: object) -> None:
    """What Dask calls in the main thread of a server that preloads this module: no signal ends it from now on.

    Its end, when it comes, is short, and without a traceback of the scheduler that goes before it.
    """
    leave_at_once()
    leave_out_broken_connections()
    for which in SIGNALS:
        # Not SIG_IGN, which the programs of jobs would inherit.
        signal.signal(which, _leave)


def _leave(_number: int, _frame: FrameType | None) -> None:
    pass
