"""What is kept of a campaign: a row a kill, a row a run; `results/chaos/kills.csv` and `runs.csv`.

Not here: what stands in the tables (`studies.chaos.tables`).
"""

from dataclasses import dataclass
from pathlib import Path

from studies.row_file import RowFile

DID_NOT_GO_BACK = -1
"""In `went_back_to`."""
YES, NO, NEEDLESS = "yes", "no", "nothing to name"
"""In `named`: needless of what stood still and went on, of hosts without roles, and once a run has all its rows."""


@dataclass(frozen=True)
class _OfRun:
    seed: int
    """Of the campaign."""
    run: int
    """From 0; which kind of run that is, `studies.chaos.cases` says."""
    system: str
    cluster: str
    replacement: str
    """"yes" or "no": a host that dies is started again by its nanny, a nanny by us."""
    shards: str
    """"beside" or "apart"."""


@dataclass(frozen=True)
class KillRow(_OfRun):
    """One kill, or one time that a process was made to stand still."""

    number: int
    """In its run, from 0."""
    victim: str
    """"host", "nanny", "scheduler" or "coordinator"."""
    roles: str
    """That stood on the host then, or on the nanny's, with spaces between."""
    signal: str
    stop_seconds: float
    """From SIGSTOP to SIGCONT; 0 for SIGKILL."""
    second: float
    """Since the first start of the run, all of its time counted."""
    update: int
    """Of the server at the kill, as far as the run had said it."""
    frames: int
    """Emulator frames, likewise."""
    went_back_to: int
    """Update of the checkpoint that the run went back to; DID_NOT_GO_BACK."""
    updates_lost: int
    seconds_lost: float
    """From that checkpoint to the kill; 0 where it did not go back, NaN for one that was kept in memory till then."""
    seconds_without_rows: float
    """From the kill to the next row that was written; where the command was typed again, with that."""
    named: str
    """Whether the output of the run speaks of it: YES, NO or NEEDLESS."""
    outcome: str
    """One of `studies.chaos.judging.OUTCOMES`."""


@dataclass(frozen=True)
class RunRow(_OfRun):
    """One run, from its first start to its end."""

    num_kills: int
    num_starts: int
    """How often the command was typed."""
    minutes: float
    end_reason: str
    """What `run.json` says at the end."""
    exit_status: int
    """Of the last command; -1: it was not waited for any longer."""
    within_deadline: str
    """"yes" or "no": new rows or an end came within the deadline, after each kill."""
    rows_doubled: int
    rows_lost: int
    processes_left: int
    roles_left: int
    """Tasks and parameter shards that the run has left on a scheduler that others may use."""
    ports_left: int
    """That the processes left listened on."""
    files_left: int
    """Temporary files."""
    faults: str
    """What is wrong with it, in words; empty: nothing."""
    distributed: str
    """Version of Dask."""


def kill_rows(folder: Path) -> RowFile[KillRow]:
    """The kills that are in `folder`."""
    return RowFile(folder / "kills.csv", KillRow, settings=("seed", "run", "number"))


def run_rows(folder: Path) -> RowFile[RunRow]:
    """The runs that are in `folder`."""
    return RowFile(folder / "runs.csv", RunRow, settings=("seed", "run"))
