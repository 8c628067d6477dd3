"""Hosts of a scheduler that stood still with them are not lost; one that stands still alone is."""

import signal
import subprocess
import sys
import threading
from types import SimpleNamespace
from typing import Any, cast

import psutil
import pytest

from dask_jobs.patience import Patience
from tests.clocks import Clock

TTL_SECONDS = 8.0
_PROGRAM = f"""
import os, sys, time

import dask
from distributed import Client

from dask_jobs.scheduler import SETTINGS, settled, start_here

if __name__ == "__main__":
    dask.config.set({{"distributed.scheduler.worker-ttl": {TTL_SECONDS}}})
    with settled(SETTINGS), start_here(2, 1, processes=True, dashboard_address="127.0.0.1:0") as cluster:
        with Client(cluster, set_as_default=False) as client:
            for _ in sys.stdin:
                client.wait_for_workers(2)
                print(*sorted(client.run(os.getpid).values()), flush=True)
"""
"""Two hosts, whose process numbers are told whenever a line comes in."""


@pytest.mark.parametrize(
    ("gap_seconds", "heard_at"),
    [
        pytest.param(1.5, [90.0, 99.5], id="a look that is late"),
        pytest.param(3601.0, [3690.0, 3699.5], id="a pause"),
    ],
)
def test_after_a_pause_hosts_were_heard_from_as_lately_as_before(gap_seconds: float, heard_at: list[float]) -> None:
    clock = Clock(100.0)
    hosts = {"a": SimpleNamespace(last_seen=90.0), "b": SimpleNamespace(last_seen=99.5)}
    patience = Patience(cast(Any, SimpleNamespace(workers=hosts)), clock.monotonic)
    clock.now += gap_seconds
    patience.look()
    assert [host.last_seen for host in hosts.values()] == heard_at


def test_whom_it_has_heard_since_it_has_not_heard_later_than_now() -> None:
    clock, host = Clock(100.0), SimpleNamespace(last_seen=3700.0)
    patience = Patience(cast(Any, SimpleNamespace(workers={"a": host})), clock.monotonic)
    clock.now = 3700.5
    patience.look()
    assert host.last_seen == 3700.5


@pytest.mark.slow
def test_hosts_that_stood_still_with_their_scheduler_go_on_and_one_that_does_so_alone_is_started_anew() -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", _PROGRAM], stdin=pipe, stdout=pipe, encoding="utf-8") as program:

        def hosts() -> set[int]:
            assert program.stdin is not None and program.stdout is not None
            program.stdin.write("\n")
            program.stdin.flush()
            return {int(pid) for pid in program.stdout.readline().split()}

        before = hosts()
        processes = [psutil.Process(program.pid), *psutil.Process(program.pid).children(recursive=True)]
        for process in processes:
            process.send_signal(signal.SIGSTOP)
        threading.Event().wait(2 * TTL_SECONDS)
        for process in processes:
            process.send_signal(signal.SIGCONT)
        # Long enough for a check of all hosts.
        threading.Event().wait(1.5 * TTL_SECONDS)
        assert hosts() == before

        alone = min(before)
        psutil.Process(alone).send_signal(signal.SIGSTOP)
        threading.Event().wait(2.5 * TTL_SECONDS)
        after = hosts()
        program.communicate("")
    assert alone not in after and len(after & before) == 1
