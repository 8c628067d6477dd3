"""Rows and heartbeats of a thousand roles: `python -m studies gorila_growth.senders`.

Each role is a real task with the real outbox (`pipeline.cluster.coordination.tasks.run_role`), which writes a row every
five seconds as a learner does, tells its progress, looks for the control message, and otherwise sleeps. Coordinator,
lease and inbox are the real ones, and rows are written into CSV files as those of a run are. Host processes of
250 threads each carry the roles; the scheduler lives in the coordinator's process, as with `cluster=processes`.

Beside how many rows came and how late, a row says how long a role's loop took from one look at the control message to
the next, and how many roles left because their lease lapsed. When nothing is in the way it looks every half second, and
each of a thousand every four seconds (`pipeline.cluster.coordination.channel.poll_seconds_of`).
A row a round goes into results/gorila_growth/senders.csv. Three sizes of a minute, three rounds: 12 minutes.
Not here: what happens to messages that are lost (`tests/cluster/coordination/test_channel.py`).
"""

import contextlib
import math
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil

from measuring.rounds import shuffled
from pipeline.cluster.coordination.coordinator import Coordinator
from pipeline.cluster.coordination.tasks import RoleAddress, RoleResult, ServerAddresses, run_role
from pipeline.cluster.session import open_session
from pipeline.config.overrides import compose
from pipeline.experiments.files.run_folder import RunFolder
from pipeline.interfaces import RowSink, Servers
from pipeline.roles.progress import RoleProgress
from pipeline.rows import EpisodeRow, Row
from studies.gorila_growth.settings import NOTHING, OUTPUT, beside_of
from studies.row_file import RowFile

_THREADS_PER_HOST = 250
_STEP_SECONDS = 0.1
_END_SECONDS = 120.0


@dataclass(frozen=True)
class SendersRow:
    """One round of so many roles."""

    num_roles: int
    round: int
    beside: str
    """What else the machine had to do: "nothing" or "other"."""
    num_hosts: int
    seconds: float
    """While all of them were there."""
    rows_per_second: float
    """That were written, of all roles."""
    num_missing_rows: int
    """Sent, and not written in the end."""
    delay_seconds: float
    """From a row's emission to its writing, median."""
    worst_delay_seconds: float
    look_seconds: float
    """From a role's look at the control message to its next, median over the roles of the mean of each."""
    worst_look_seconds: float
    """Of the role that looked least often."""
    num_lapsed: int
    """Roles that left because their lease had lapsed."""
    coordinator_share: float
    """Of one core: the coordinator's process, with the scheduler in it."""
    hosts_share: float
    """Of one core: all host processes together."""
    coordinator_bytes: int
    """Of its process, at the end."""
    end_seconds: float
    """From "stop" until all had left and every row was written."""


def main(
    beside: str = NOTHING,
    num_rounds: int = 3,
    role_counts: Sequence[int] = (10, 100, 1000),
    seconds: float = 40.0,
    row_seconds: float = 5.0,
    output: Path = OUTPUT,
) -> None:
    """Measure what has no row yet."""
    rows = senders_rows(output)
    for round_ in range(num_rounds):
        for count in shuffled(role_counts, round_):
            if not rows.has(count, round_):
                rows.append(_measure(count, round_, beside, seconds, row_seconds))


def senders_rows(folder: Path) -> RowFile[SendersRow]:
    """The rounds that are in `folder`."""
    return RowFile(folder / "senders.csv", SendersRow, settings=("num_roles", "round"), one_processor_within=())


class SleepingRole:
    """Writes a row now and then, until it is stopped. Its spec is (name, seconds between two rows)."""

    def __init__(self, spec: tuple[str, float], servers: Servers, rows: RowSink) -> None:
        self._name, self._row_seconds = spec
        self._rows = rows
        self._num_rows = self._num_steps = 0
        self._pace = threading.Event()
        # Not all at once: roles begin a phase apart by their names.
        index = int(self._name.rpartition("-")[2])
        self._next_at = time.time() + self._row_seconds * (index % 97) / 97

    @property
    def done(self) -> bool:
        """Never."""
        return False

    def step(self) -> None:
        """Sleep, and write if it is time."""
        self._pace.wait(_STEP_SECONDS)
        self._num_steps += 1
        now = time.time()
        if now >= self._next_at:
            self._next_at = now + self._row_seconds
            self._num_rows += 1
            self._rows.emit(EpisodeRow(self._name, 0, self._num_rows, 0, 0.0, 0, False, 0.0, 0, now))

    def progress(self) -> RoleProgress:
        """How many rows and steps there were."""
        return RoleProgress(self._num_steps, self._num_rows, 0, 0.0, 0, 0.0)

    def close(self) -> None:
        """Holds nothing."""


class _Book:
    """Writes rows as a run folder does, and knows how late each was, and how many batches came."""

    def __init__(self, path: Path) -> None:
        self._folder = RunFolder(path)
        self.delays: list[float] = []

    def write(self, rows: Sequence[Row]) -> None:
        """In the coordinator's writing thread."""
        self._folder.write(rows)
        self.delays += [time.time() - row.wall_seconds for row in rows]

    def close(self) -> None:
        """Close the row file, once nothing is written any more."""
        self._folder.close()


def _measure(num_roles: int, round_: int, beside: str, seconds: float, row_seconds: float) -> SendersRow:
    num_hosts = math.ceil(num_roles / _THREADS_PER_HOST)
    config = compose(["game=Pong", "cluster=processes"]).cluster
    threads = math.ceil(num_roles / num_hosts)
    with (
        tempfile.TemporaryDirectory() as folder,
        open_session(config, num_hosts, threads) as session,
        contextlib.closing(_Book(Path(folder))) as book,
        Coordinator(session.client, session.run_id, book.write) as coordinator,
    ):
        names = [f"sender-{index}" for index in range(num_roles)]
        hosts = list(session.hosts)
        tasks = []
        for index, name in enumerate(names):
            address = RoleAddress(session.run_id, name, 1, config.lease_seconds, num_roles)
            arguments = (SleepingRole, (name, row_seconds), ServerAddresses((), ()), address)
            tasks.append(session.submit(run_role, *arguments, host=hosts[index % num_hosts], name=name))
        _wait_for_all(coordinator, names)
        own, children = psutil.Process(), psutil.Process().children(recursive=True)
        start, num_before, looks = time.monotonic(), len(book.delays), _num_looks(coordinator, names)
        busy = _cpu_seconds([own]), _cpu_seconds(children)
        time.sleep(seconds)
        lasted, num_rows = time.monotonic() - start, len(book.delays) - num_before
        counts = _num_looks(coordinator, names) - looks
        shares = [(_cpu_seconds(who) - before) / lasted for who, before in zip(([own], children), busy, strict=True)]
        delays, size = book.delays[num_before:], own.memory_info().rss
        stopped_at = time.monotonic()
        coordinator.stop_roles()
        results: list[RoleResult] = [task.result(timeout=_END_SECONDS) for task in tasks]
        for result in results:
            coordinator.receive(result.undelivered)
        coordinator.finish(_END_SECONDS)
        between = lasted / np.maximum(counts, 1)
        return SendersRow(
            num_roles,
            round_,
            beside,
            num_hosts,
            lasted,
            num_rows / lasted,
            num_missing_rows=sum(result.progress.num_updates for result in results) - len(book.delays),
            delay_seconds=float(np.median(delays)) if delays else math.nan,
            worst_delay_seconds=max(delays, default=math.nan),
            look_seconds=float(np.median(between)),
            worst_look_seconds=float(between.max()),
            num_lapsed=sum(result.reason != "stopped" for result in results),
            coordinator_share=shares[0],
            hosts_share=shares[1],
            coordinator_bytes=size,
            end_seconds=time.monotonic() - stopped_at,
        )


def _wait_for_all(coordinator: Coordinator, names: Sequence[str]) -> None:
    """Until each has been heard of. Raises TimeoutError if that takes too long."""
    end = time.monotonic() + _END_SECONDS
    while any(coordinator.num_heard(name, 1) == 0 for name in names):
        if time.monotonic() > end:
            raise TimeoutError(f"not all of {len(names)} roles were heard of within {_END_SECONDS:g} s")
        time.sleep(0.1)


def _num_looks(coordinator: Coordinator, names: Sequence[str]) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """Batches that have come of each: one goes out with each look that has something to tell."""
    return np.array([coordinator.num_heard(name, 1) for name in names], dtype=np.int64)


def _cpu_seconds(processes: Sequence[psutil.Process]) -> float:
    total = 0.0
    for process in processes:
        times = process.cpu_times()
        total += times.user + times.system
    return total


if __name__ == "__main__":
    main(beside_of(__doc__))
