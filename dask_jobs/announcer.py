"""Tells everybody of a job's new state: the ledger, the terminal, and at the scheduler whoever watches the sweep.

Not here: what is told (`sweep`), what the terminal makes of it (`display`), the messages (`progress`).
"""

import contextlib
import time
from collections.abc import Mapping, Sequence
from typing import Any

from distributed import Client

from dask_jobs.board import Board, JobSight
from dask_jobs.display import Display
from dask_jobs.ledger import INTERRUPTED, RUNNING, Ledger, LedgerRow
from dask_jobs.progress import TOPIC

_TELL_SECONDS = 10.0


class Announcer:
    """Of one launch."""

    def __init__(
        self,
        sweep: str,
        ledger: Ledger,
        board: Board,
        display: Display,
        client: Client,
        strays: Sequence[LedgerRow] = (),
    ) -> None:
        """`sweep` names it among all that share the cluster.

        `strays`: jobs that an earlier command has left running when it was killed, and that are none of this launch.
        """
        self._sweep = sweep
        self._ledger = ledger
        self._board = board
        self._client = client
        self._strays = strays
        self.display = display
        self.unwritten: OSError | None = None
        """Why the ledger is older than what has happened; None: it is not."""

    def begin(self) -> None:
        """Name all jobs to whoever watches."""
        self._tell({"kind": "jobs", "jobs": [_listed(sight) for sight in self._board.jobs.values()]})

    def add(self, overrides: Sequence[str], row: LedgerRow) -> None:
        """One more job, which waits."""
        self._write(row)
        self._board.add(overrides, row)
        self._tell({"kind": "jobs", "jobs": [_listed(self._board.jobs[row.job])]})

    def to_come(self, count: int) -> None:
        """So many jobs at most are still to be added."""
        self._board.num_to_come = count

    def row(self, job: int) -> LedgerRow:
        """The job as it was told of last."""
        return self._board.jobs[job].row

    def change(self, job: int, **changes: Any) -> None:
        """A job has another state; its reason, if it has none, is no more."""
        row = self.row(job)._replace(reason="")._replace(**changes)
        self._write(row)
        self._board.change(row, time.monotonic())
        self.display.changed(row)
        told = {name: getattr(row, name) for name in ("job", "status", "host", "reason", "return_value")}
        self._tell({"kind": "status", "attempt": row.attempts, **told})

    def interrupt(self, reason: str) -> None:
        """None of those that run goes on."""
        for job in [job for job, sight in self._board.jobs.items() if sight.row.status == RUNNING]:
            self.change(job, status=INTERRUPTED, reason=reason)

    def adopt(self, jobs: tuple[int, ...]) -> None:
        """Jobs that the file calls running wait, as all others have been told already; strays run no more."""
        ended = (row._replace(status=INTERRUPTED, reason="its launcher was killed") for row in self._strays)
        self._write(*map(self.row, jobs), *ended)

    def progress(self, message: Mapping[str, Any]) -> None:
        """A job has told how far it is."""
        self._board.progress(message, time.monotonic())

    def write_again(self) -> None:
        """Try once more what the disk refused, if it did."""
        if self.unwritten is not None:
            self._write()

    def write_at_last(self, num_attempts: int, pause_seconds: float) -> None:
        """Try it for a while more, when nothing else is left to be done."""
        for _ in range(num_attempts):
            if self.unwritten is not None:
                time.sleep(pause_seconds)
                self.write_again()

    def _tell(self, message: Mapping[str, Any]) -> None:
        # Who watches misses it; a scheduler that is gone for good is found out by the next thing that it is asked.
        # Not `Client.log_event`, which waits for one that stands still without end.
        with contextlib.suppress(Exception):  # one that is closed raises whatever it then lacks
            log_event: Any = self._client.scheduler.log_event  # type: ignore[union-attr]
            told = {"sweep": self._sweep, **message}
            self._client.sync(log_event, topic=TOPIC, msg=told, callback_timeout=_TELL_SECONDS)

    def _write(self, *rows: LedgerRow) -> None:
        """A disk that refuses the ledger for a while costs no job: it is tried again until the end."""
        try:
            self._ledger.write(*rows)
        except OSError as error:
            if self.unwritten is None:
                self.display.say(f"the ledger cannot be written, and is tried again while the jobs go on: {error}")
            self.unwritten = error
            return
        if self.unwritten is not None:
            self.display.say("the ledger is written again")
        self.unwritten = None


def _listed(sight: JobSight) -> dict[str, Any]:
    row = sight.row
    return {
        "job": row.job,
        "overrides": list(sight.overrides),
        "status": row.status,
        "return_value": row.return_value,
    }
