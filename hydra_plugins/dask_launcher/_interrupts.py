"""Ctrl-C and SIGTERM as something that a loop hears of, so that they never break into the middle of a change.

Not here: what is done about them (`_sweep`).
"""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType


@contextlib.contextmanager
def interrupts(tell: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C and SIGTERM call `tell` meanwhile; the third time they raise KeyboardInterrupt."""
    # Only the main thread may handle signals.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    num_signals = 0

    def on_signal(_signal: int, _frame: FrameType | None) -> None:
        nonlocal num_signals
        num_signals += 1
        if num_signals > 2:
            raise KeyboardInterrupt
        tell()

    before = {which: signal.signal(which, on_signal) for which in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for which, handler in before.items():
            signal.signal(which, handler)
