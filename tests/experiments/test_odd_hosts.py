"""Hosts that are not as the others: one whose core is nearly always somebody else's, one whose clock is wrong."""

import json
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import psutil
import pytest

from pipeline.results.load import LoadedRuns, load_run
from tests.clusters import LIMIT_SECONDS
from tests.experiments.commands import CHECKOUT, Command, Start
from tests.experiments.smoke_runs import smoke_words

pytestmark = pytest.mark.slow

HERE = "127.0.0.1"
DAY = 86_400.0
WRONG_CLOCK = """
import time

right, right_ns = time.time, time.time_ns
time.time = lambda: right() + {seconds}
time.time_ns = lambda: right_ns() + int({seconds} * 1e9)
"""
"""Of `sitecustomize`, which Python imports before anything else."""
SYSTEMS = {
    "bundles": ("smoke_gorila", "topology.num_bundles=2", "param_server.num_shards=1", "topology.shards=beside"),
    "workers": ("smoke_dba3c", "topology.num_workers=2", "topology.num_backup_workers=0"),
    "backup": ("smoke_dba3c", "topology.num_workers=1", "topology.num_backup_workers=1"),
}


@pytest.fixture
def hosts(start: Start, tmp_path: Path) -> Iterator["Hosts"]:
    """A scheduler, and hosts as they are asked for."""
    started = Hosts(start, tmp_path / "scheduler.json")
    yield started
    started.end()


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_slow_host_is_not_lost_and_holds_up_only_those_who_need_it(
    start: Start, hosts: "Hosts", tmp_path: Path, system: str
) -> None:
    both = [hosts.start(), hosts.start()]
    command, folder = started(start, hosts.scheduler, tmp_path, *SYSTEMS[system], "budget.minutes=0.75")
    rows = folder / "updates.csv"
    command.wait_until(lambda: rows.exists() and rows.read_text().count("\n") > 1, "updates")
    told = json.loads((folder / "run.json").read_text())["hosts"]
    # Whoever has a shard holds up everybody.
    address, role = min((len(host["roles"]), host["address"], host["roles"][0]) for host in told)[1:]
    (slow,) = (host for host in both if address in host.printed)
    with slowed(slow.process.pid):
        command.ends()
    admitted = updates_of(good(command, folder)).groupby("role")["num_admitted"].sum()
    is_waited_for = system == "workers"
    assert (2 * admitted.get(role, 0) > admitted.drop(role, errors="ignore").sum()) == is_waited_for, admitted


@pytest.mark.parametrize("system", ["bundles", "workers"])
@pytest.mark.parametrize("seconds", [DAY, -DAY], ids=["a day ahead", "a day behind"])
def test_a_host_whose_clock_is_wrong_takes_part_as_the_others(
    start: Start, hosts: "Hosts", tmp_path: Path, system: str, seconds: float
) -> None:
    (tmp_path / "sitecustomize.py").write_text(WRONG_CLOCK.format(seconds=seconds))
    hosts.start()
    hosts.start("env", f"PYTHONPATH={tmp_path}{os.pathsep}{CHECKOUT}")
    run = good(*started(start, hosts.scheduler, tmp_path, *SYSTEMS[system], "budget.minutes=0.25"))
    assert updates_of(run)["role"].nunique() == 2
    for rows in (updates_of(run), run.episodes):
        assert rows["wall_seconds"].between(0, LIMIT_SECONDS).all(), rows


class Hosts:
    """`dask scheduler`, and `dask worker` of one thread each, without nannies."""

    def __init__(self, start: Start, file: Path) -> None:
        """`file`: where the scheduler writes its address."""
        self._start = start
        words = ("--host", HERE, "--port", "0", "--dashboard-address", f"{HERE}:0", "--scheduler-file", str(file))
        self._all = [start("-m", "dask", "scheduler", *words)]
        self._all[0].wait_until(lambda: file.exists() and file.read_text(), "the scheduler")
        self.scheduler: str = json.loads(file.read_text())["address"]

    def start(self, *prefix: str) -> Command:
        """One more, once it has joined."""
        words = ("--host", HERE, "--nthreads", "1", "--memory-limit", "0", "--no-dashboard", "--no-nanny")
        joined = self._start("-m", "dask", "worker", self.scheduler, *words, prefix=prefix)
        joined.wait_until(lambda: "Registered to" in joined.printed, "it has joined")
        self._all.append(joined)
        return joined

    def end(self) -> None:
        """Hosts first."""
        for command in reversed(self._all):
            command.process.terminate()
            command.ends()


def started(start: Start, scheduler: str, folder: Path, experiment: str, *words: str) -> tuple[Command, Path]:
    """A run on two hosts, and its folder."""
    command = start(
        *("-m", "pipeline.train", *smoke_words(folder / "runs", experiment), *words, "progress=lines"),
        *("cluster=address", f"cluster.address={scheduler}", "cluster.num_hosts=2", "budget.frames=null"),
    )
    return command, folder / "runs" / experiment / "Breakout" / "0"


def good(command: Command, folder: Path) -> LoadedRuns:
    """The rows of a run that has reached its budget and lost nobody, once it ends."""
    assert command.ends() == 0, command.printed
    run = load_run(folder)
    assert run.problems == () and run.runs["end_reason"].item() == "budget"
    assert not re.search(r"(is|was) lost|started again|Traceback", command.printed), command.printed
    return run


def updates_of(run: LoadedRuns) -> pd.DataFrame:
    """Of either kind of role; one table is empty."""
    return run.updates if run.actor_critic_updates.empty else run.actor_critic_updates


@contextmanager
def slowed(pid: int) -> Iterator[None]:
    """Nine tenths of the time the process has no core, in turns too short to be noticed as a silence."""
    process, over = psutil.Process(pid), threading.Event()

    def slow() -> None:
        while not over.wait(0.02):
            process.suspend()
            over.wait(0.18)
            process.resume()

    thread = threading.Thread(target=slow)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
