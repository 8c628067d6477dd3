"""Calls from one process of a machine to another through two pipes: a fraction of what they take through Dask.

    Bell                in the caller: `ring` starts a call, its answer comes in turn
    answer              in the process that is called: a thread that carries calls out one after the other

The pipes have no names: as with shared memory, the other process finds them by the caller's process and descriptors.
Whoever dies closes its ends, and the other one knows at once.
Not here: which calls these are (`.shards`), whether both are on one machine (`.shared_memory`).
"""

import os
import pickle
import threading
import weakref
from collections.abc import Callable
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from dask_jobs.watched_time import waits
from pipeline.errors import CallTimeoutError, PipelineError, RemoteLostError, UnreachableError


class BellOffer(NamedTuple):
    """Where the ends of the pipes are that are meant for another process."""

    pid: int
    calls: int
    answers: int


class _Failed(NamedTuple):
    error: Exception


class Bell:
    """For one thread."""

    def __init__(self) -> None:
        """Raises OSError if there are no descriptors left."""
        self._their_calls, self._calls = Pipe(duplex=False)
        self._answers, self._their_answers = Pipe(duplex=False)
        self.offer = BellOffer(os.getpid(), self._their_calls.fileno(), self._their_answers.fileno())
        self._num_calls = 0
        self._num_answers = 0
        self._arrived: dict[int, Any] = {}

    def hand_over(self) -> None:
        """The other process has opened its ends: from now on they close with it."""
        self._their_calls.close()
        self._their_answers.close()

    def ring(self, what: str, method: str, *args: object) -> "BellCall":
        """Start a call; `what` names it in errors."""
        number, self._num_calls = self._num_calls, self._num_calls + 1
        try:
            self._calls.send((method, args))
        except OSError as error:
            self._arrived[number] = _Failed(UnreachableError(f"{what}: its process is gone ({error!r})"))
        return BellCall(self, number, what)

    def take_answer(self, number: int, what: str, timeout_seconds: float) -> Any:
        """Wait for the answer to this call, which is asked for once. Raises as `BellCall.result`.

        A pause of the whole process is no part of the time (`dask_jobs.watched_time`).
        """
        waiting = waits(timeout_seconds)
        while number not in self._arrived:
            seconds = next(waiting, None)
            if self._answers.poll(seconds or 0.0):
                self._receive(what)
            elif seconds is None:
                raise CallTimeoutError(f"{what} did not answer within {timeout_seconds} s")
        return self._arrived.pop(number)

    def _receive(self, what: str) -> None:
        try:
            self._arrived[self._num_answers] = self._answers.recv()
        except (EOFError, OSError) as error:
            raise UnreachableError(f"{what}: its process is gone ({error!r})") from error
        self._num_answers += 1


class BellCall:
    """A call under way."""

    def __init__(self, bell: Bell, number: int, what: str) -> None:
        self._bell, self._number, self._what = bell, number, what
        self._answers: list[Any] = []
        """The answer, once it is there."""

    def result(self, timeout_seconds: float) -> Any:
        """The answer. Raises what the call raised, CallTimeoutError, UnreachableError or RemoteLostError."""
        if not self._answers:
            self._answers.append(self._bell.take_answer(self._number, self._what, timeout_seconds))
        (answer,) = self._answers
        if isinstance(answer, _Failed):
            raise answer.error
        return answer


def answer(offer: BellOffer, called: object) -> None:
    """Carry out calls of the methods of `called`, which is not kept, until the caller closes. Raises OSError."""
    calls = Connection(_opened(offer.pid, offer.calls, os.O_RDONLY), writable=False)
    answers = Connection(_opened(offer.pid, offer.answers, os.O_WRONLY), readable=False)
    arguments = (calls, answers, weakref.ref(called))
    threading.Thread(target=_answer_all, args=arguments, name=f"bell-{offer.pid}", daemon=True).start()


def _answer_all(calls: Connection, answers: Connection, find: Callable[[], object | None]) -> None:
    with calls, answers:
        while True:
            try:
                method, args = calls.recv()
                answers.send(_carried_out(find(), method, args))
            except (EOFError, OSError):
                return


def _carried_out(called: object | None, method: str, args: tuple[object, ...]) -> Any:
    if called is None:
        return _Failed(RemoteLostError("it was released"))
    try:
        return getattr(called, method)(*args)
    except Exception as error:  # whatever it is, the caller hears it
        return _Failed(_travelling(error))


def _travelling(error: Exception) -> Exception:
    """The error, or in its place one that says both what it was and why it cannot be sent as it is."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301  # of what was pickled a moment ago
    except Exception as why:  # making it anew runs code of its own
        return PipelineError(f"{error!r}, which cannot be sent as it is: {why!r}")
    return error


def _opened(pid: int, descriptor: int, flags: int) -> int:
    return os.open(f"/proc/{pid}/fd/{descriptor}", flags | os.O_CLOEXEC)
