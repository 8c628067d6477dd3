"""Ctrl-C as a wish to end in order: the first sets an event that the work looks at, the second ends at once.

A job of a sweep has a launcher that kills it when it takes too long, and several who may tell it to stop: a batch
system, its host that is going, the launcher. There the second means nothing new.

Not here: what is done about it (`pipeline.experiments.run`, `pipeline.experiments.scoring.afterwards`).
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interruptible(interrupt: threading.Event, *, second_ends: bool = True) -> Iterator[None]:
    """SIGINT and SIGTERM set `interrupt` meanwhile.

    Where it is set already, they raise KeyboardInterrupt, or do nothing if not `second_ends`.
    """
    # Only the main thread may handle signals; what runs in another thread is stopped by its owner.
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def on_interrupt(_signal: int, _frame: FrameType | None) -> None:
        if interrupt.is_set() and second_ends:
            raise KeyboardInterrupt
        interrupt.set()

    before = {which: signal.signal(which, on_interrupt) for which in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for which, handler in before.items():
            signal.signal(which, handler)
