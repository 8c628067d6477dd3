"""The coordinator's side of a run: collects rows, acknowledges them, renews the lease, says stop. Dask carries it.

Rows come as events of one topic; the control message lies in one Dask variable. Events are handled on the client's
loop, which must not wait for a disk: a thread of its own writes.
Not here: the rules (`pipeline.cluster.coordination.channel`), the role's side (`pipeline.cluster.coordination.tasks`),
files (`pipeline.experiments.files.run_folder`).
"""

import contextlib
import queue
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from distributed import Client, Variable

from pipeline.cluster.coordination.channel import Control, Inbox
from pipeline.cluster.scheduler import scheduler_of
from pipeline.errors import PipelineError, SchedulerLostError, UnreachableError
from pipeline.roles.progress import RoleProgress
from pipeline.rows import Row

T = TypeVar("T")

BEAT_SECONDS = 1.0
"""How often the lease is renewed."""
_ATTEMPTS = 6
"""To say what roles must know before they start, ten seconds each."""
_FAREWELL_SECONDS = 5.0


def topic(run_id: str) -> str:
    """Name of a run's event topic and of its control variable."""
    return f"pipeline-{run_id}"


def forgetting(name: str) -> Callable[..., None]:
    """What has a scheduler forget the events of a topic; travels by value, to a scheduler without this package too."""

    def forget(dask_scheduler: Any) -> None:
        # No part of Dask's documented interface: one that has another keeps the events, as all did.
        if (broker := getattr(dask_scheduler, "_broker", None)) is not None:
            broker.truncate(name)

    return forget


class Coordinator:
    """Use as a context manager around the life of a run's roles. `write` gets rows in order, in a thread of its own."""

    def __init__(self, client: Client, run_id: str, write: Callable[[list[Row]], None]) -> None:
        self._client = client
        self._topic = topic(run_id)
        self._write = write
        self._inbox = Inbox()
        self._lock = threading.Lock()
        self._messages: queue.SimpleQueue[dict[str, object] | None] = queue.SimpleQueue()
        self._variable = Variable(self._topic, client=client)
        self._beat = 0
        self._stop = False
        self._dismissed: dict[str, int] = {}
        self._error: BaseException | None = None
        self._is_reading = False
        self._publishing = threading.Lock()
        self._closing = threading.Event()
        self._threads = [
            threading.Thread(target=self._collect, name="pipeline-rows", daemon=True),
            threading.Thread(target=self._renew, name="pipeline-lease", daemon=True),
        ]

    def __enter__(self) -> "Coordinator":
        self._publish_surely()
        self._client.subscribe_topic(self._topic, self._on_event)
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop_roles()
        self._closing.set()
        self._messages.put(None)
        for thread in self._threads:
            thread.join()
        # A cluster that is gone needs no good-bye.
        with contextlib.suppress(OSError, ValueError, TimeoutError, SchedulerLostError), scheduler_of(self._client):
            self._client.unsubscribe_topic(self._topic)
            self._variable.delete()
            # The scheduler keeps the last thousand messages of each run, to its end.
            with contextlib.suppress(Exception):  # whatever its side raises: a courtesy ends no run
                self._client.run_on_scheduler(forgetting(self._topic), callback_timeout=_FAREWELL_SECONDS)

    def stop_roles(self) -> None:
        """Tell all roles to finish their step and leave."""
        self._stop = True
        with contextlib.suppress(OSError, TimeoutError, SchedulerLostError):  # the lease says it too
            self._publish_control()

    def let_roles_run(self, progress: Mapping[str, RoleProgress]) -> None:
        """Roles are about to start where `progress` says: a stop of an earlier generation is taken back."""
        with self._lock:
            self._inbox.go_back(progress)
        self._stop = False
        self._publish_surely()

    def go_back(self, take_back: Callable[[], T]) -> T:
        """What `take_back` gives, which undoes what was written, in turn with writing. Raises what it raises.

        Of roles that have begun so far nothing is written any more: one that hung may yet send rows.
        """
        result: Future[T] = Future()

        def carry_out() -> None:
            with self._lock:
                self._inbox.end_all()
            try:
                result.set_result(take_back())
            except BaseException as error:  # for whoever waits
                result.set_exception(error)

        self._messages.put({"call": carry_out})
        return result.result()

    def begins(self, role: str, attempt: int) -> None:
        """This start of a role goes on from its newest progress, which older ones change no more."""
        with self._lock:
            self._inbox.begin(role, attempt)

    def dismiss(self, role: str, attempt: int) -> None:
        """Have this start of a role leave as soon as it hears of it, and all before: it counts as lost."""
        with self._lock:
            self._dismissed[role] = max(attempt, self._dismissed.get(role, 0))

    def receive(self, messages: Iterable[dict[str, object]]) -> None:
        """Take the batches that a role handed over with its result."""
        for message in messages:
            self._messages.put(message)

    def write(self, rows: Sequence[Row]) -> None:
        """Have rows written that did not come from a role, in turn with those that did."""
        if rows:
            self._messages.put({"write": list(rows)})

    def progress(self) -> dict[str, RoleProgress]:
        """Newest progress of each role."""
        with self._lock:
            return dict(self._inbox.progress)

    def num_heard(self, role: str, attempt: int) -> int:
        """Batches of this start of a role that have been read."""
        with self._lock:
            return self._inbox.num_arrived(role, attempt)

    @property
    def is_behind(self) -> bool:
        """Whether messages have arrived that are not written yet."""
        return self._is_reading or not self._messages.empty()

    def check(self) -> None:
        """Raise what stopped the writing of rows, if anything did."""
        if self._error is not None:
            raise PipelineError(f"rows could not be written: {self._error}") from self._error

    def finish(self, timeout_seconds: float) -> None:
        """Wait until every message so far is written. Raises PipelineError when a batch is missing."""
        written = threading.Event()
        self._messages.put({"flush": written})
        if not written.wait(timeout_seconds):
            self.check()
            raise PipelineError(f"rows were not written within {timeout_seconds:g} s")
        self.check()
        with self._lock:
            gaps = self._inbox.gaps()
        if gaps:
            raise PipelineError(f"rows are missing: batches of {', '.join(gaps)} never arrived")

    def _on_event(self, event: Any) -> None:
        _, message = event
        self._messages.put(message)

    def _collect(self) -> None:
        while (message := self._next_message()) is not None:
            if isinstance(flush := message.get("flush"), threading.Event):
                flush.set()
                continue
            if callable(call := message.get("call")):
                call()
                continue
            try:
                if isinstance(rows := message.get("write"), list):
                    self._write(rows)
                    continue
                with self._lock:
                    rows = self._inbox.receive(message)
                self._write(rows)
            except Exception as error:  # kept for `check`: this thread has nobody to raise to
                self._error = error

    def _next_message(self) -> dict[str, object] | None:
        self._is_reading = False
        message = self._messages.get()
        self._is_reading = True
        return message

    def _renew(self) -> None:
        while not self._closing.wait(BEAT_SECONDS):
            # The scheduler may come back before the lease lapses; one that does not, others miss.
            with contextlib.suppress(OSError, TimeoutError, SchedulerLostError):
                self._publish_control()

    def _publish_surely(self) -> None:
        """Raises UnreachableError if the scheduler does not answer for long, SchedulerLostError if it is gone."""
        for _ in range(_ATTEMPTS):
            with contextlib.suppress(TimeoutError):
                self._publish_control()
                return
        raise UnreachableError("the scheduler does not answer")

    def _publish_control(self) -> None:
        # One after the other: an old "stop" of the other thread must not arrive behind a "go on".
        with self._publishing:
            with self._lock:
                self._beat += 1
                control = Control(self._beat, self._stop, self._inbox.acknowledged(), dict(self._dismissed))
            # The first is the scheduler's own limit; one that stands still keeps it not.
            with scheduler_of(self._client):
                self._variable.set(control.to_message(), timeout="5s", callback_timeout="10s")
