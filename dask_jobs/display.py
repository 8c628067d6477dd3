"""What the terminal shows of a sweep: a live table, or a line for each change, or nothing but the end.

Not here: what there is to show (`board`).
"""

import datetime
import time
from pathlib import Path

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from dask_jobs.board import Board, JobSight, rounded
from dask_jobs.ledger import DONE, FAILED, INTERRUPTED, RUNNING, WAITING, LedgerRow
from dask_jobs.outcome import log_name
from dask_jobs.terminal import can_redraw

_LINE_SECONDS = 30.0
_BAR_WIDTH = 20


class Display:
    """Shows one board. Use as a context manager; `refresh` every now and then."""

    def __init__(self, console: Console, style: str, board: Board) -> None:
        """`style`: live, lines, none, or auto: live on a terminal that can move its cursor, else lines."""
        self._console = console
        self._style = ("live" if can_redraw(console) else "lines") if style == "auto" else style
        self._board = board
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._line_at = time.monotonic()

    def __enter__(self) -> "Display":
        if self._style == "live":
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._style == "live":
            self._live.stop()

    def refresh(self) -> None:
        """Show the board as it is now."""
        if self._style == "live":
            self._live.update(_table(self._board, time.monotonic()), refresh=True)
        elif self._style == "lines" and time.monotonic() - self._line_at >= _LINE_SECONDS:
            self._line_at = time.monotonic()
            self.say(_summary(self._board, self._line_at))

    def changed(self, row: LedgerRow) -> None:
        """A job has another state: failures are told at once and everywhere, the rest as lines."""
        if row.reason or (self._style == "lines" and row.status != WAITING):
            self.say(_sentence(self._board.jobs[row.job], row))

    def say(self, text: str) -> None:
        """A line for the user, above the table."""
        if self._style != "none":
            self._console.print(Text(text), soft_wrap=True)


def ending(board: Board, ledger: Path, log_folder: Path) -> str:
    """What is said when all has ended: how many of what, and where to look for those that failed."""
    lines = [f"{board.counts()}, in {ledger}"]
    for job in board.jobs.values():
        if job.row.status in (FAILED, INTERRUPTED):
            log = f"; its output: {log_folder / log_name(job.row.job, job.row.attempts)}" if job.row.attempts else ""
            lines.append(f"  job {job.row.job} {job.label} {job.row.status}: {job.row.reason}{log}")
    return "\n".join(lines)


def _table(board: Board, now: float) -> Group:
    table = Table(box=None, pad_edge=False, expand=False)
    for column in ("job", "overrides", "", "done", "rate", "time", "host"):
        table.add_column(column, no_wrap=True, justify="right" if column in ("job", "done", "rate", "time") else "left")
    for job in board.with_status(RUNNING):
        rate = "" if job.rate is None else f"{rounded(job.rate)} {job.unit}"
        done = "" if job.fraction is None else f"{job.fraction:.0%}"
        host = job.row.host.rpartition("://")[2]
        again = f" (attempt {job.row.attempts})" if job.row.attempts > 1 else ""
        elapsed = _clock(now - job.started_at)
        table.add_row(str(job.row.job), Text(job.label + again), _bar(job.fraction), done, rate, elapsed, host)
    return Group(Text(_summary(board, now), style="bold"), table)


def _summary(board: Board, now: float) -> str:
    eta = board.eta_seconds(now)
    words = [board.counts(), board.rates(), "" if eta is None else f"ETA {_clock(eta)}"]
    return " · ".join(word for word in words if word)


def _sentence(job: JobSight, row: LedgerRow) -> str:
    name = f"job {row.job} {job.label}".rstrip()
    if row.status == RUNNING:
        return f"{name}: attempt {row.attempts} on {row.host}"
    if row.status == DONE:
        value = f", returned {row.return_value}" if row.return_value else ""
        return f"{name}: done in {_clock(row.seconds or 0.0)}{value}"
    status = f"attempt {row.attempts} failed" if row.status == WAITING else row.status
    return f"{name}: {status}: {row.reason}"


def _bar(fraction: float | None) -> Text:
    if fraction is None:
        return Text("")
    filled = round(fraction * _BAR_WIDTH)
    return Text("━" * filled, style="green") + Text("━" * (_BAR_WIDTH - filled), style="dim")


def _clock(seconds: float) -> str:
    return str(datetime.timedelta(seconds=round(seconds)))
