"""One tool in a thread of its own: it may wait for a disk or a network for longer than a training may.

    give(points) -> at once, whatever the tool is doing
                        opens ─► takes the points that wait ─► writes what it holds ─► ... ─► ends
    end()        -> at once: nothing more comes
    wait(...)    -> when all is written, or it takes too long

Not here: the tools (`pipeline.experiments.curves.loggers`).
"""

import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from enum import Enum, auto

from pipeline.experiments.curves.logger import Logger
from pipeline.experiments.curves.scalars import Scalar

STUCK_SECONDS = 600.0
"""In one call, after which a tool is left alone."""
MOST_WAITING = 200_000
"""Points that wait for a tool, after which it is left alone. Ours: some 60 MB."""
_MOST_AT_ONCE = 5_000
"""Points in one call: it is to end long before `STUCK_SECONDS`, though each may take a tool a disk's time."""
_LOOK_SECONDS = 0.1


class _Then(Enum):
    """What follows the points so far."""

    FLUSH = auto()
    END = auto()


class ToolThread:
    """Used by one thread at a time. A daemon: a program that ends does not wait for a tool that has no end.

    A tool that is left alone gets nothing more; it may go on with what it has.
    """

    def __init__(self, name: str, open_tool: Callable[[], Logger], fails: Callable[[Exception], None]) -> None:
        """`fails` hears, once and in the tool's thread or the user's, why it gets nothing more."""
        self._open_tool = open_tool
        self._fails = fails
        self._orders = queue.SimpleQueue[list[Scalar] | _Then]()
        self._num_waiting = 0
        """Points that it has not begun with."""
        self._since: float | None = None
        """When the call began that is under way, if one is."""
        self._is_over = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._work, name=f"pipeline-{name}", daemon=True)
        self._thread.start()

    def give(self, points: Sequence[Scalar]) -> None:
        """Points that it takes when it has taken those before."""
        since = self._since
        if since is not None and time.monotonic() - since > STUCK_SECONDS:
            self._fail(TimeoutError(f"it has taken nothing for {STUCK_SECONDS:g} s"))
        if self._num_waiting > MOST_WAITING:
            self._fail(TimeoutError(f"it is too slow: {self._num_waiting:,} points wait for it"))
        if not self._is_over:
            self._count(len(points))
            self._orders.put(list(points))

    def flush(self) -> None:
        """What it holds is written when it has come so far; more points may follow."""
        if not self._is_over:
            self._orders.put(_Then.FLUSH)

    def end(self) -> None:
        """Nothing more comes: when it has come so far it writes what it holds, and ends."""
        self._orders.put(_Then.FLUSH)
        self._orders.put(_Then.END)

    def wait(self, goes_on: Callable[[], bool]) -> None:
        """Until it has ended, or has failed; once `goes_on` is false, it has failed by not having ended."""
        begun = time.monotonic()
        while self._thread.is_alive() and not self._is_over:
            if not goes_on():
                self._fail(TimeoutError(f"it has not taken everything within {time.monotonic() - begun:.0f} s"))
            self._thread.join(_LOOK_SECONDS)

    def _work(self) -> None:
        try:
            self._since = time.monotonic()
            tool = self._open_tool()
            self._since = None
            for order in self._in_turn():
                self._since = time.monotonic()
                if isinstance(order, list):
                    tool.log(order)
                else:
                    tool.close()
                self._since = None
        except Exception as error:  # whatever it is, it is no reason to lose a training
            self._fail(error)

    def _in_turn(self) -> Iterator[list[Scalar] | _Then]:
        """What is to be done, to the end. Points that wait come together: each call may take a disk's time."""
        points: list[Scalar] = []
        while True:
            order = None if points and (self._orders.empty() or len(points) >= _MOST_AT_ONCE) else self._orders.get()
            if isinstance(order, list):
                points += order
                continue
            if points:
                self._count(-len(points))
                yield points
                points = []
            if order is _Then.END:
                return
            if order is not None:
                yield order

    def _count(self, more: int) -> None:
        with self._lock:
            self._num_waiting += more

    def _fail(self, error: Exception) -> None:
        with self._lock:
            was_over, self._is_over = self._is_over, True
        if not was_over:
            self._fails(error)
