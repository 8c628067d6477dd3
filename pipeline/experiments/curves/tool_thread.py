"""One tool in a thread of its own: it may wait for a disk or a network for longer than a training may.

    give(points) -> at once, whatever the tool is doing
                        opens ─► takes points, in turn ─► writes what it holds ─► ... ─► ends
    end(seconds) -> when all is written, or that time is over

Not here: the tools (`pipeline.experiments.curves.loggers`).
"""

import queue
import threading
import time
from collections.abc import Callable, Sequence

from pipeline.experiments.curves.logger import Logger
from pipeline.experiments.curves.scalars import Scalar

STUCK_SECONDS = 600.0
"""In one call, after which a tool is left alone: what waits for it would fill the memory."""


class ToolThread:
    """Used by one thread at a time. A daemon: a program that ends does not wait for a tool that has no end."""

    def __init__(self, name: str, open_tool: Callable[[], Logger], fails: Callable[[Exception], None]) -> None:
        """`fails` hears, once and in the tool's thread or the user's, why it gets nothing more."""
        self._open_tool = open_tool
        self._fails = fails
        self._calls = queue.SimpleQueue[Callable[[Logger], None] | None]()
        self._since: float | None = None
        """When the call began that is under way, if one is."""
        self._is_over = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._work, name=f"pipeline-{name}", daemon=True)
        self._thread.start()

    def give(self, points: Sequence[Scalar]) -> None:
        """Points that it takes when it has taken those before."""
        self._ask(lambda tool: tool.log(points))

    def flush(self) -> None:
        """What it holds is written when it has come so far; more points may follow."""
        self._ask(lambda tool: tool.close())

    def end(self, seconds: float) -> None:
        """All is written, or else it is told that it was not within `seconds`."""
        self.flush()
        self._calls.put(None)
        self._thread.join(seconds)
        if self._thread.is_alive():
            self._fail(TimeoutError(f"it has not taken everything within {seconds:.3g} s"))

    def _ask(self, call: Callable[[Logger], None]) -> None:
        since = self._since
        if since is not None and time.monotonic() - since > STUCK_SECONDS:
            self._fail(TimeoutError(f"it has taken nothing for {STUCK_SECONDS:g} s"))
        if not self._is_over:
            self._calls.put(call)

    def _work(self) -> None:
        try:
            self._since = time.monotonic()
            tool = self._open_tool()
            self._since = None
            while (call := self._calls.get()) is not None and not self._is_over:
                self._since = time.monotonic()
                call(tool)
                self._since = None
        except Exception as error:  # whatever it is, it is no reason to lose a training
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        with self._lock:
            was_over, self._is_over = self._is_over, True
        if not was_over:
            self._fails(error)
