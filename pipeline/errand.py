"""One piece of work in a thread of its own, for a loop that must not stand still while it waits for others.

    ask(work) -> None, None, ... -> its result, once; or what it raised      asked at each turn of the loop
    settle()                                                                 from here on nothing is under way

Not here: what the work is. Whatever it waits for has a deadline, and nobody changes what it is given meanwhile.
"""

import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

T = TypeVar("T")


class Errand(Generic[T]):
    """At most one is under way. Used by one thread."""

    def __init__(self, name: str) -> None:
        """`name` is the thread's."""
        self._name = name
        self._under_way: Future[T] | None = None

    @property
    def is_under_way(self) -> bool:
        """Whether one was begun whose result nobody has had."""
        return self._under_way is not None

    def ask(self, work: Callable[[], T]) -> T | None:
        """The result of what is under way if it is there; `work` is begun if nothing is. Raises what it raised."""
        if self._under_way is None:
            self._under_way = self._begin(work)
        if not self._under_way.done():
            return None
        ended, self._under_way = self._under_way, None
        return ended.result()

    def settle(self) -> None:
        """Wait for what is under way, and drop its result."""
        if self._under_way is not None:
            self._under_way.exception()
            self._under_way = None

    def _begin(self, work: Callable[[], T]) -> "Future[T]":
        result: Future[T] = Future()

        def run() -> None:
            try:
                result.set_result(work())
            except BaseException as error:  # for whoever asks: this thread has nobody to raise to
                result.set_exception(error)

        # In the asker's context: Dask knows by it whose client this is, among others of the same process.
        context = contextvars.copy_context()
        # A daemon: who ends the program at once does not wait for it.
        threading.Thread(target=context.run, args=(run,), name=self._name, daemon=True).start()
        return result
