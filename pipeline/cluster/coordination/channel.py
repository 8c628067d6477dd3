"""How rows and progress travel from roles to their coordinator, and how stop and lease travel back. Logic without I/O.

    role:         emit(row), ... -> batch, numbered -> publish ---------> Inbox.receive -> rows in order, once each
    coordinator:  Control(beat, stop, ...) -> read_control -------------> forget what was acknowledged, stop, or leave

An event can be lost when a connection breaks, so a role keeps each batch until it is acknowledged, sends it again when
it is not, and hands over the rest with its result. The beat is the lease: when it stands still for `lease_seconds` on
the role's own clock, the coordinator is gone and the role leaves. A start of a role that counted as lost, and was not,
hears that it is dismissed: another one has its place, or will have.
Not here: the Dask events and the variable that carry the messages (`pipeline.cluster.coordination.coordinator`,
`.tasks`).
"""

import dataclasses
import time
from collections.abc import Callable, Mapping
from itertools import islice
from typing import NamedTuple

from dask_jobs.watched_time import WatchedTime
from pipeline.roles.progress import RoleProgress
from pipeline.rows import ROW_FILES, Row

POLL_SECONDS = 0.5
"""How often a role looks at the control message and sends what it has gathered, where roles are few."""
POLLS_PER_SECOND = 250
"""Of all roles together: each takes a millisecond of scheduler and coordinator, which have a core each at best."""
RESEND_SECONDS = 10.0
"""A batch that was not acknowledged for this long is sent again, where roles are few, the oldest ones first."""

STOPPED, LEASE_LAPSED, DISMISSED = "stopped", "lease lapsed", "dismissed"
"""Why a role has to leave."""

_RESEND_POLLS = 4
"""A batch goes out with one poll, and the next but one may be the first to see that it has arrived."""

_ROW_TYPES = {row_type.__name__: row_type for row_type in ROW_FILES}


def poll_seconds_of(num_roles: int) -> float:
    """How often each of so many roles exchanges messages: the more they are, the less often."""
    return max(POLL_SECONDS, num_roles / POLLS_PER_SECOND)


class Batch(NamedTuple):
    """Rows and progress of one role, as one message."""

    role: str
    attempt: int
    """Counts the starts of this role in this run; a restarted role numbers its batches anew."""
    sequence: int
    """Counts the batches of this attempt from 1, without gaps."""
    rows: tuple[Row, ...]
    progress: RoleProgress | None

    def to_message(self) -> dict[str, object]:
        """Plain lists and scalars, as Dask's events carry."""
        rows = [[type(row).__name__, *dataclasses.astuple(row)] for row in self.rows]
        progress = None if self.progress is None else list(self.progress)
        return {
            "role": self.role,
            "attempt": self.attempt,
            "sequence": self.sequence,
            "rows": rows,
            "progress": progress,
        }

    @classmethod
    def from_message(cls, message: dict[str, object]) -> "Batch":
        """Inverse of `to_message`; tolerates tuples where lists were sent."""
        role, attempt, sequence, rows, progress = (
            message[key] for key in ("role", "attempt", "sequence", "rows", "progress")
        )
        return cls(
            str(role),
            int(attempt),  # type: ignore[call-overload]
            int(sequence),  # type: ignore[call-overload]
            tuple(_ROW_TYPES[name](*values) for name, *values in rows),  # type: ignore[attr-defined]
            None if progress is None else RoleProgress(*progress),  # type: ignore[misc]
        )


class Control(NamedTuple):
    """What the coordinator tells all its roles."""

    beat: int
    """Counts up as long as the coordinator lives."""
    stop: bool
    acknowledged: dict[str, int]
    """"role/attempt" -> the last batch up to which everything has arrived."""
    dismissed: dict[str, int]
    """Role -> its newest attempt that counts as lost: that one and all before it leave."""

    def to_message(self) -> dict[str, object]:
        """Plain scalars, as a Dask variable carries."""
        return self._asdict()


class Outbox:
    """A role's end: RowSink and StopSignal in one. Used by one thread.

    `publish` sends one message and may lose it; `read_control` returns the newest control message, or None when the
    scheduler does not answer.
    """

    def __init__(
        self,
        role: str,
        attempt: int,
        lease_seconds: float,
        publish: Callable[[dict[str, object]], None],
        read_control: Callable[[], dict[str, object] | None],
        poll_seconds: float = POLL_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._role = role
        self._attempt = attempt
        self._lease_seconds = lease_seconds
        self._publish = publish
        self._read_control = read_control
        self._poll_seconds = poll_seconds
        self._resend_seconds = max(RESEND_SECONDS, _RESEND_POLLS * poll_seconds)
        self._most_again = round(self._resend_seconds / poll_seconds)
        """Batches that are sent again at most in `_resend_seconds`: as many as are new meanwhile."""
        self._clock = clock
        self._rows: list[Row] = []
        self._progress: RoleProgress | None = None
        self._unacknowledged: dict[int, Batch] = {}
        self._sent_at: dict[int, float] = {}
        self._sequence = 0
        self._beat = -1
        self._polled_at = clock()
        # After a gap of its own, as by Ctrl-Z for an hour, the role has to look twice: the coordinator may have stood
        # still with it. No shorter step: there are roles that look every few seconds only.
        self._silence = WatchedTime(clock, longest_seconds=lease_seconds / 2)
        """Since the last beat that was new."""
        self._stop_reason: str | None = None

    @property
    def stop_reason(self) -> str | None:
        """Why the role has to leave: STOPPED, DISMISSED or LEASE_LAPSED; None while it should go on."""
        return self._stop_reason

    def emit(self, row: Row) -> None:
        """Take one row; it travels with the next poll."""
        self._rows.append(row)

    def report(self, progress: RoleProgress) -> None:
        """Take the newest progress; it travels with the next poll."""
        self._progress = progress

    def should_stop(self) -> bool:
        """True once the role has to leave. Exchanges messages at most every `poll_seconds`."""
        now = self._clock()
        if self._stop_reason is None and now - self._polled_at >= self._poll_seconds:
            self._polled_at = now
            self._send(now)
            self._obey()
        return self._stop_reason is not None

    def drain(self) -> list[dict[str, object]]:
        """Everything that was not acknowledged, oldest first: a role returns it with its result."""
        self._close_batch()
        return [batch.to_message() for batch in self._unacknowledged.values()]

    def send_all(self) -> None:
        """Publish everything that was not acknowledged, for a role that ends without a result."""
        for message in self.drain():
            self._publish(message)

    def _close_batch(self) -> Batch | None:
        if not self._rows and self._progress is None:
            return None
        self._sequence += 1
        batch = Batch(self._role, self._attempt, self._sequence, tuple(self._rows), self._progress)
        self._unacknowledged[self._sequence] = batch
        self._rows, self._progress = [], None
        return batch

    def _send(self, now: float) -> None:
        if (batch := self._close_batch()) is not None:
            self._sent_at[batch.sequence] = now
            self._publish(batch.to_message())
        # The oldest alone: once they have arrived, the next ones are. While the coordinator waits for its disk nothing
        # is acknowledged, and all of them again and again would be what it has to read then.
        for sequence, batch in islice(self._unacknowledged.items(), self._most_again):
            if now - self._sent_at[sequence] >= self._resend_seconds:
                self._sent_at[sequence] = now
                self._publish(batch.to_message())

    def _obey(self) -> None:
        message = self._read_control()
        control = None if message is None else Control(**message)  # type: ignore[arg-type]
        self._silence.look()
        if control is not None and control.beat != self._beat:
            self._beat, self._silence.seconds = control.beat, 0.0
            arrived = control.acknowledged.get(f"{self._role}/{self._attempt}", 0)
            for sequence in [s for s in self._unacknowledged if s <= arrived]:
                del self._unacknowledged[sequence], self._sent_at[sequence]
        if control is not None and control.stop:
            self._stop_reason = STOPPED
        elif control is not None and self._attempt <= control.dismissed.get(self._role, -1):
            self._stop_reason = DISMISSED
        elif self._silence.seconds > self._lease_seconds:
            self._stop_reason = LEASE_LAPSED


class Inbox:
    """The coordinator's end: puts each role's batches in order and lets each through once. Used by one thread."""

    def __init__(self) -> None:
        self.progress: dict[str, RoleProgress] = {}
        """Newest progress of each role."""
        self._arrived: dict[str, int] = {}
        self._newest: dict[str, int] = {}
        """Role -> its newest attempt that has begun or was heard of. Of older ones rows count, not progress."""
        self._past: dict[str, int] = {}
        """Role -> its newest attempt of before the run went back: its progress counts no more."""
        self._ended: dict[str, int] = {}
        """The same of those whose rows count no more either."""
        self._early: dict[str, dict[int, Batch]] = {}

    def end_all(self) -> None:
        """What all attempts so far have done is taken back: of what they still send nothing counts."""
        self._ended = dict(self._newest)
        self._early.clear()

    def go_back(self, progress: Mapping[str, RoleProgress]) -> None:
        """All roles begin anew where `progress` says, with attempts that were not heard of before."""
        self.progress = dict(progress)
        self._past = dict(self._newest)

    def begin(self, role: str, attempt: int) -> None:
        """This attempt goes on from the progress that is known; what older ones still say of theirs is past."""
        self._newest[role] = max(attempt, self._newest.get(role, 0))

    def receive(self, message: dict[str, object]) -> list[Row]:
        """Rows that can now be written: those of this batch and of later ones that were waiting for it.

        A batch seen before adds nothing; one that came too early waits.
        """
        batch = Batch.from_message(message)
        if batch.attempt <= self._ended.get(batch.role, -1):
            return []
        sender = f"{batch.role}/{batch.attempt}"
        self.begin(batch.role, batch.attempt)
        early = self._early.setdefault(sender, {})
        if batch.sequence > self._arrived.get(sender, 0):
            early[batch.sequence] = batch
        rows: list[Row] = []
        while (batch_ := early.pop(self._arrived.get(sender, 0) + 1, None)) is not None:
            self._arrived[sender] = batch_.sequence
            rows += batch_.rows
            is_newest = self._past.get(batch_.role, -1) < batch_.attempt == self._newest[batch_.role]
            if batch_.progress is not None and is_newest:
                self.progress[batch_.role] = batch_.progress
        return rows

    def num_arrived(self, role: str, attempt: int) -> int:
        """Batches of this attempt that were let through."""
        return self._arrived.get(f"{role}/{attempt}", 0)

    def acknowledged(self) -> dict[str, int]:
        """For each "role/attempt", the last batch up to which everything has arrived.

        Of each role the two newest attempts: this is told to all, again and again, and older ones have left.
        """
        told = (f"{role}/{attempt}" for role, newest in self._newest.items() for attempt in (newest - 1, newest))
        return {sender: self._arrived[sender] for sender in told if sender in self._arrived}

    def gaps(self) -> list[str]:
        """Senders of which a batch is still missing while a later one has arrived."""
        return sorted(sender for sender, early in self._early.items() if early)
