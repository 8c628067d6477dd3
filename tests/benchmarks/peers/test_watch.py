"""Drivers that go well, crash, hang and leave processes behind: real processes, of a bare Python."""

import os
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from benchmarks.peers.progress import Rates
from benchmarks.peers.watch import Outcome, Start, Window, watch
from tests.processes import lives

SAYS = "print(json.dumps({'role': 'all', 'seconds': %s, 'steps': %s, 'updates': %s}), flush=True)"
FOREVER = "threading.Event().wait()"


def watched(*lines: str, start_seconds: float = 60.0, stop: threading.Event | None = None) -> Outcome:
    program = "\n".join(["import json, subprocess, sys, threading", *lines])
    start = Start([sys.executable, "-c", program], dict(os.environ), cores=[min(psutil.Process().cpu_affinity())])
    return watch(start, num_roles=1, window=Window(0.0, 0.1, start_seconds), stop=stop)


@pytest.mark.slow
def test_a_driver_is_ended_when_its_window_is_over(tmp_path: Path) -> None:
    facts = "print('SPS: 3'); print(json.dumps({'facts': {'torch': '3'}}))"
    child = (
        "child = subprocess.Popen([sys.executable, '-c', 'import threading; threading.Event().wait()'])",
        f"open('{tmp_path}/pid', 'w').write(str(child.pid))",
    )
    outcome = watched(*child, facts, SAYS % (1, 10, 1), SAYS % (3, 50, 5), FOREVER)
    assert outcome.rates == Rates(20.0, 2.0, 2.0)
    assert outcome.reason == "" and outcome.facts == {"torch": "3"}
    assert outcome.peak_rss_bytes > 1_000_000
    assert not lives(int((tmp_path / "pid").read_text()))


def test_a_driver_that_crashes_says_why() -> None:
    outcome = watched(SAYS % (1, 10, 1), "raise ValueError('no such game')")
    assert outcome.rates is None
    assert outcome.reason == "exit status 1: ValueError: no such game"


def test_a_driver_that_hangs_is_given_up() -> None:
    outcome = watched(SAYS % (1, 10, 0), FOREVER, start_seconds=0.8)
    assert outcome.rates is None
    assert outcome.reason.startswith("not done after 1 s")


def test_a_driver_is_ended_when_the_benchmark_is() -> None:
    stop = threading.Event()
    timer = threading.Timer(0.5, stop.set)
    timer.start()
    begun = time.monotonic()
    outcome = watched(SAYS % (1, 10, 0), FOREVER, start_seconds=300.0, stop=stop)
    assert outcome.rates is None and time.monotonic() - begun < 100
    timer.join()


def test_the_deadline_is_that_of_the_start_the_warm_up_and_two_windows() -> None:
    assert Window(warmup_seconds=10, seconds=60, start_seconds=300).deadline_seconds == 430
