"""Ctrl-C and SIGTERM: a loop hears of them, so that they never break into the middle of a change; hosts do not.

Not here: what a sweep does about them (`sweep`).
"""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

from distributed import Client, Worker, WorkerPlugin


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


def ignore_interrupts(client: Client) -> None:
    """SIGINT ends none of the hosts, nor those that come later: what runs there is to end in order."""
    client.register_plugin(IgnoreInterrupts())


class IgnoreInterrupts(WorkerPlugin):
    """Ctrl-C in a terminal reaches all processes there; hosts have to live on, to end their jobs in order."""

    name = "dask-launcher-ignore-interrupts"

    def setup(self, worker: Worker) -> None:
        """Runs in the main thread of a host, where signals are handled."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
