"""What the operating system knows of a thread that computes without end: it takes turns, and interrupts nobody.

Not here: how many threads a role computes with (`pipeline.networks.compute`).
"""

import contextlib
import os
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def batch_thread() -> Iterator[None]:
    """The calling thread, and those that it starts, are batch work until the end. Linux only; elsewhere nothing.

    A waking thread otherwise takes the core of one that computes, even where another core has just become free: two
    roles on two cores, each with its emulators' thread beside it, then wait for each other.
    """
    if sys.platform != "linux" or os.sched_getscheduler(0) != os.SCHED_OTHER:
        yield
        return
    # A container may forbid it.
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    try:
        yield
    finally:
        # Dask's threads live on and run other tasks.
        with contextlib.suppress(PermissionError):
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
