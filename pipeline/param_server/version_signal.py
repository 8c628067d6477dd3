"""A version that grows, and those who wait for it, in threads or on event loops.

Its lock is its own and held for a look only: whoever waits on an event loop must not be held up by an optimizer step.
Not here: what the version counts (`pipeline.param_server.synchronous`).
"""

import threading
from concurrent.futures import Future


class VersionSignal:
    """The newest version that was reached. Safe to use from any thread."""

    def __init__(self, version: int) -> None:
        self._version = version
        self._awaited: dict[int, Future[int]] = {}
        self._lock = threading.Lock()

    @property
    def version(self) -> int:
        """The newest version that was reached."""
        return self._version

    def reach(self, version: int) -> None:
        """Wake those who wait for `version` or an earlier one. An earlier one than before changes nothing."""
        with self._lock:
            self._version = max(version, self._version)
            due = [self._awaited.pop(awaited) for awaited in sorted(self._awaited) if awaited <= self._version]
        for future in due:
            future.set_result(version)

    def reached(self, version: int) -> "Future[int]":
        """Done as soon as `version` is reached. All who wait for it share it: it is not to be cancelled."""
        with self._lock:
            if version > self._version:
                return self._awaited.setdefault(version, Future())
        done: Future[int] = Future()
        done.set_result(self._version)
        return done
