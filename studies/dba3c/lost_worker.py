"""How long updates of DBA3C pause when a worker's process is killed: `python -m studies dba3c.lost_worker`.

Real processes, one for each worker, of which the last is killed by SIGKILL in the middle of the run; the parameters
stand beside the first:

    with a backup worker       two gradients of three make an update: the others need not wait
    without a backup worker    two of two: updates stop until the lost one has been started again

A pause is the time from one gradient of the first worker to its next (`max_pause_seconds` of updates.csv). After the
kill a new process starts up on the same cores, which is in the figures too. A row a run goes into
results/dba3c/lost_worker.csv, and runs that are there are not made again.
2 x 5 runs of a minute and a quarter: 13 minutes.
Not here: workers that are slow (`studies.dba3c.stragglers`).
"""

import csv
import json
import os
import signal
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import psutil

from measuring.markdown import commits_cell, markdown
from measuring.provenance import report
from measuring.rounds import shuffled
from measuring.worker_speed import run
from pipeline.config.overrides import compose
from pipeline.config.run_config import RunConfig
from pipeline.results.formats import cell
from pipeline.topologies.kinds.workers import worker_name
from studies.arguments import on_top
from studies.dba3c.settings import GAME, NETWORKS, OUTPUT, QUICK, precision_of
from studies.row_file import RowFile

_NUM_WORKERS = 2
RUN = (
    *QUICK,
    *NETWORKS["nature_grey"],
    "cluster=processes",
    f"topology.num_workers={_NUM_WORKERS}",
    "topology.num_lanes=4",
    "algorithm.batch_size=20",
    "param_server.num_shards=1",
)
_POLL_SECONDS = 0.05


@dataclass(frozen=True)
class LostWorkerRow:
    """One run."""

    num_backup_workers: int
    round: int
    game: str
    num_workers: int
    """N, so many gradients make an update."""
    seconds_per_update: float
    """Before the kill, from the first worker's first row on."""
    longest_before_seconds: float
    """Longest pause before the kill."""
    longest_after_seconds: float
    """Longest pause from the kill on."""
    pause_in_updates: float
    """The same in updates: 1.0 is no pause."""
    num_updates_after: int
    """That were made after the rows that were there at the kill, to the end of the run."""


def main(
    game: str = GAME,
    num_rounds: int = 5,
    run_seconds: float = 60.0,
    rows_before: int = 10,
    backup_counts: Sequence[int] = (1, 0),
    overrides: Sequence[str] = (),
    output: Path = OUTPUT,
) -> None:
    """Measure what has no row yet, then print one JSON line. The kill comes once the first worker has `rows_before`."""
    rows = lost_worker_rows(output).made_with(on_top(overrides, game=(game, GAME)), precision_of(overrides))
    for round_ in range(num_rounds):
        for num_backup in shuffled(backup_counts, round_):
            if not rows.has(num_backup, round_):
                settings = [*RUN, f"game={game}", f"budget.minutes={run_seconds / 60:.6f}", *overrides]
                rows.append(_measure(settings, num_backup, round_, rows_before))
    measured = rows.frame().groupby("num_backup_workers").median(numeric_only=True)
    report(
        "dba3c_lost_worker",
        num_rounds=num_rounds,
        **{
            f"backup_{num_backup}_{column}": measured[column].to_dict()[num_backup]
            for num_backup in backup_counts
            for column in ("seconds_per_update", "longest_before_seconds", "longest_after_seconds", "pause_in_updates")
        },
    )


def lost_worker_rows(folder: Path) -> RowFile[LostWorkerRow]:
    """The runs that are in `folder`."""
    settings = ("num_backup_workers", "round")
    return RowFile(folder / "lost_worker.csv", LostWorkerRow, settings, one_processor_within=())


def lost_worker_table(runs: pd.DataFrame) -> str:
    """A line a run; LostWorkerRows."""
    return markdown(
        {
            "backup workers": str(run["num_backup_workers"]),
            "round": str(run["round"]),
            "ms per update": cell(1e3 * run["seconds_per_update"], 0),
            "longest pause before the kill, ms": cell(1e3 * run["longest_before_seconds"], 0),
            "longest pause from the kill on, ms": cell(1e3 * run["longest_after_seconds"], 0),
            "the same, in updates": cell(run["pause_in_updates"], 1),
            "commit": commits_cell([run["commit"]]),
        }
        for run in runs.sort_values(["num_backup_workers", "round"], ascending=[False, True]).to_dict("records")
    )


def lost_worker_row(updates: pd.DataFrame, num_rows_before: int, num_backup: int, round_: int) -> LostWorkerRow:
    """What the first worker saw in its ActorCriticUpdateRows, of which `num_rows_before` were there at the kill.

    Raises ValueError without rows after it: then there is no pause to tell of.
    """
    first = updates[updates["role"] == worker_name(0)].sort_values("version")
    before, after = first.iloc[:num_rows_before], first.iloc[num_rows_before:]
    if after.empty:
        raise ValueError(
            f"the run was over before the first worker had a row after the kill, which came after {num_rows_before} "
            "of its rows: make the run longer"
        )
    seconds, versions = (before[column].iloc[-1] - before[column].iloc[0] for column in ("wall_seconds", "version"))
    seconds_per_update, longest_after = float(seconds / versions), float(after["max_pause_seconds"].max())
    return LostWorkerRow(
        num_backup,
        round_,
        str(first["game"].iloc[0]),
        _NUM_WORKERS,
        seconds_per_update,
        # The first row has the start of all processes in it.
        longest_before_seconds=float(before["max_pause_seconds"].iloc[1:].max()),
        longest_after_seconds=longest_after,
        pause_in_updates=longest_after / seconds_per_update,
        num_updates_after=int(first["version"].iloc[-1] - before["version"].iloc[-1]),
    )


def _measure(settings: list[str], num_backup: int, round_: int, rows_before: int) -> LostWorkerRow:
    with tempfile.TemporaryDirectory() as results_dir:
        config = compose([*settings, f"topology.num_backup_workers={num_backup}", f"results_dir={results_dir}"])
        killer = _Killer(config, rows_before)
        killer.start()
        updates = run(config)
        killer.end()
    return lost_worker_row(updates, killer.num_rows_seen, num_backup, round_)


class _Killer(threading.Thread):
    """Kills the last worker's process once the first worker has left so many rows."""

    def __init__(self, config: RunConfig, rows_before: int) -> None:
        super().__init__(daemon=True)
        self._config = config
        self._rows_before = rows_before
        self.num_rows_seen = 0
        """Rows of the first worker at the kill."""
        self._run_is_over = threading.Event()
        self._has_killed = False

    def run(self) -> None:
        """Wait, then kill."""
        folder, last = self._config.folder, worker_name(self._config.topology.num_playing - 1)
        while self.num_rows_seen < self._rows_before:
            if self._run_is_over.wait(_POLL_SECONDS):
                return
            self.num_rows_seen = _num_rows(folder / "updates.csv")
        hosts = json.loads((folder / "run.json").read_text(encoding="utf-8"))["hosts"]
        (address,) = (host["address"] for host in hosts if last in host["roles"])
        os.kill(_listening_child(int(address.rpartition(":")[2])), signal.SIGKILL)
        self._has_killed = True

    def end(self) -> None:
        """Once the run is over. Raises ValueError if nothing was killed."""
        self._run_is_over.set()
        self.join()
        if not self._has_killed:
            raise ValueError(
                f"the run was over after {self.num_rows_seen} rows of the first worker, the kill would have come after "
                f"{self._rows_before}: make the run longer"
            )


def _num_rows(path: Path) -> int:
    """Of the first worker, so far."""
    if not path.exists():
        return 0
    with path.open(encoding="utf-8", newline="") as file:
        return sum(row["role"] == worker_name(0) for row in csv.DictReader(file))


def _listening_child(port: int) -> int:
    """The process below this one that listens on `port`."""
    for child in psutil.Process().children(recursive=True):
        if any(c.status == psutil.CONN_LISTEN and c.laddr.port == port for c in child.net_connections(kind="tcp")):
            return child.pid
    raise ValueError(f"no process of this one listens on port {port}")


if __name__ == "__main__":
    main()
