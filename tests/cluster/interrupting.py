"""Ctrl-C at a moment that a test chooses."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

import pytest

from tests.clusters import wait_until


@contextlib.contextmanager
def interrupted(
    condition: Callable[[], object], what: str, and_then: Callable[[], object] = lambda: None
) -> Iterator[None]:
    """SIGINT once `condition()` is true, in the main thread, which is in the block and leaves it by KeyboardInterrupt.

    `and_then` is called before that is raised.
    """

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        and_then()
        raise KeyboardInterrupt

    def interrupt() -> None:
        wait_until(condition, what)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    before = signal.signal(signal.SIGINT, on_signal)
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        thread.join()
        signal.signal(signal.SIGINT, before)
