"""The ledger of a sweep: a CSV file that tells what became of each job, always whole, with one writer at a time.

A job is known by its overrides. The file is rewritten under a temporary name at each change, synced and renamed, so
that a reader and a killed writer never leave half of it. The operating system keeps the lock of the writer and gives it
back when its process ends, however it ends. On a network disk both are as good as that disk is.

    for row in read_ledger(Path("results/sweeps/atari49")):
        print(row.job, row.overrides, row.status, row.reason)

The same file read with pandas has the columns of LedgerRow.
Not here: deciding what is run (`sweep`).
"""

import csv
import datetime
import fcntl
import io
import json
import math
import os
import socket
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

STATUSES = WAITING, RUNNING, DONE, FAILED, INTERRUPTED = "waiting", "running", "done", "failed", "interrupted"

LEDGER = "ledger.csv"
"""Name of the file in the folder of a sweep."""

_LOCK = "ledger.lock"
_PAUSES = (0.02, 0.1)
"""Seconds between attempts to take the lock."""
_MAX_FIELD = 2**31 - 1


class LedgerError(Exception):
    """A ledger is missing, damaged, or in use by another command."""


class LedgerRow(NamedTuple):
    """One job of a sweep."""

    job: int
    """Its number, which Hydra calls hydra.job.num; the same for as long as the ledger lives."""
    overrides: str
    """As Hydra gave them, joined by spaces: what the job is known by."""
    status: str = WAITING
    """One of STATUSES; "running" in a ledger that nobody holds is of a launcher that was killed."""
    attempts: int = 0
    """How often it was started, by all commands together."""
    host: str = ""
    """Dask address of the host of its last attempt."""
    started: str = ""
    """When its last attempt began, ISO 8601 in UTC."""
    ended: str = ""
    """When its last attempt ended, ISO 8601 in UTC."""
    seconds: float | None = None
    """How long its last attempt took."""
    return_value: str = ""
    """What the job function returned, as JSON; empty for what JSON cannot hold, and for jobs that are not done."""
    reason: str = ""
    """Why it failed or was interrupted."""


class Ledger:
    """The ledger of one folder, held by this process until `close`. Made by `Ledger.open`."""

    def __init__(self, folder: Path, lock: io.TextIOWrapper, rows: Sequence[LedgerRow]) -> None:
        self._folder = folder
        self._lock = lock
        self._rows = {row.overrides: row for row in rows}

    @classmethod
    def open(cls, folder: Path) -> "Ledger":
        """Become the only writer of the ledger in `folder`, which is made if need be.

        Raises LedgerError if another process holds it, or what is there is no ledger.
        """
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / _LOCK).open("a+", encoding="utf-8")
        try:
            _take(lock, folder)
            rows = read_ledger(folder) if (folder / LEDGER).exists() else []
        except (LedgerError, OSError):
            lock.close()
            raise
        return cls(folder, lock, rows)

    @property
    def rows(self) -> list[LedgerRow]:
        """Every job that was ever in this sweep, in order of their numbers."""
        return sorted(self._rows.values())

    def row(self, overrides: str) -> LedgerRow | None:
        """The job with these overrides; None if it is not in the ledger yet."""
        return self._rows.get(overrides)

    def free_number(self, wanted: int) -> int:
        """`wanted`, or the next number that no job has."""
        taken = {row.job for row in self._rows.values()}
        while wanted in taken:
            wanted += 1
        return wanted

    def add(self, row: LedgerRow) -> None:
        """Add this row; on disk with the next `write`."""
        self._rows[row.overrides] = row

    def write(self, *rows: LedgerRow) -> None:
        """Add these rows or replace those of the same jobs, on disk when this returns.

        Raises OSError where the disk refuses; the rows are kept for the next call.
        """
        self._rows |= {row.overrides: row for row in rows}
        temporary = self._folder / f".{LEDGER}"
        with temporary.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(LedgerRow._fields)
            writer.writerows(self.rows)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self._folder / LEDGER)

    def close(self) -> None:
        """Let others write."""
        self._lock.close()


def read_ledger(folder: Path) -> list[LedgerRow]:
    """All rows of the ledger in `folder`. Raises LedgerError if there is none, or it is none."""
    path = folder / LEDGER
    try:
        if path.exists() and not path.is_file():
            raise LedgerError(f"{path} is a folder, a pipe or a device, and no ledger")
        data = path.read_bytes()
    except OSError as error:
        raise LedgerError(f"{path}: there is no ledger of a sweep ({error.strerror})") from error
    advice = (
        "it was cut short or changed, or is another program's. Nothing was overwritten: repair it, or move it away, "
        "and all jobs start anew"
    )
    # Python's own limit, 131,072 characters, is for reading alone: what could be written would be lost.
    limit_before = csv.field_size_limit(_MAX_FIELD)
    try:
        text = data.decode()
        header, *records = list(csv.reader(io.StringIO(text, newline=""), strict=True)) or [[]]
    except (UnicodeDecodeError, csv.Error) as error:
        raise LedgerError(f"{path} cannot be read: {error}: {advice}") from error
    finally:
        csv.field_size_limit(limit_before)  # of all readers in this process
    if header != list(LedgerRow._fields) or not text.endswith("\n"):
        raise LedgerError(f"{path} is no whole ledger with the columns {', '.join(LedgerRow._fields)}: {advice}")
    rows = []
    for number, record in enumerate(records, 2):
        try:
            rows.append(_to_row(record))
        except (ValueError, RecursionError) as error:
            raise LedgerError(f"{path}, row {number}: {error}: {advice}") from error
    return rows


def _to_row(record: list[str]) -> LedgerRow:
    if len(record) != len(LedgerRow._fields):
        raise ValueError(f"{len(record)} of {len(LedgerRow._fields)} columns")
    job, overrides, status, attempts, host, started, ended, seconds, return_value, reason = record
    if status not in STATUSES:
        raise ValueError(f"status {status!r} is none of {', '.join(STATUSES)}")
    if return_value:
        json.loads(return_value)
    for time_of in filter(None, (started, ended)):
        if datetime.datetime.fromisoformat(time_of).tzinfo is None:
            raise ValueError(f"{time_of} is a time without its zone")
    if int(job) < 0 or int(attempts) < 0:
        raise ValueError(f"job {job} and attempts {attempts} must be at least 0")
    if seconds and not 0 <= float(seconds) < math.inf:
        raise ValueError(f"seconds {seconds} must be a number from 0 on")
    return LedgerRow(
        int(job),
        overrides,
        status,
        int(attempts),
        host,
        started,
        ended,
        float(seconds) if seconds else None,
        return_value,
        reason,
    )


def is_held(folder: Path) -> bool:
    """True while a command writes the ledger in `folder`, and where nothing can be known of that."""
    try:
        with (folder / _LOCK).open(encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:  # another has it, or this disk has no locks, or it is not ours to read
        return True
    return False


def _lock(lock: io.TextIOWrapper) -> None:
    """Raises BlockingIOError if another command has it."""
    for pause in (*_PAUSES, None):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            # `is_held` has it for a moment whenever it looks.
            if pause is None:
                raise
            time.sleep(pause)
        else:
            return


def _take(lock: io.TextIOWrapper, folder: Path) -> None:
    try:
        _lock(lock)
    except BlockingIOError as error:
        lock.seek(0)
        raise LedgerError(
            f"{folder} is in use by another command ({lock.read().strip() or 'unknown'}): wait for its end, or end it "
            "with Ctrl-C, or give this one another hydra.sweep.dir"
        ) from error
    except OSError as error:
        raise LedgerError(
            f"no ledger can be kept in {folder}: its disk has no locks ({error.strerror}), so that two commands might "
            "write there at once; give another hydra.sweep.dir"
        ) from error
    lock.truncate(0)
    lock.write(f"process {os.getpid()} on {socket.gethostname()}\n")
    lock.flush()
