"""Time as far as somebody looked, on a clock in hand; and a process that stands still for longer than it may wait."""

import signal
import subprocess
import sys
import threading

import pytest

from dask_jobs.watched_time import WatchedTime, waits
from pipeline.cluster.remotes.shared_memory import can_share
from tests.clocks import Clock

DEADLINE_SECONDS = 2.5
_PROGRAM = f"""
import sys, threading
from concurrent.futures import Future

from pipeline.cluster.remotes.bell import Bell, answer
from pipeline.cluster.remotes.calls import RemoteCall
from pipeline.interfaces import AddAnswer, Immediate, ReplayCounts
from pipeline.replay.client import ReplayWriter
from pipeline.replay.config import ReplayTrafficConfig
from tests.replay.chunks import lane_step

is_told, told = threading.Event(), Future()


class Held:
    def add(self, chunk):
        return self.may_add()

    def may_add(self):
        return Immediate(AddAnswer("" if is_told.is_set() else "it is full", ReplayCounts(0, 0, 0, 0.0)))


def ring():
    bell = Bell()
    answer(bell.offer, is_told)
    bell.hand_over()
    return bell.ring("wait", "wait").result({DEADLINE_SECONDS})


def write():
    writer = ReplayWriter("actor-0", Held(), 0, 1, ReplayTrafficConfig(1, 0, None, {DEADLINE_SECONDS}), 1.0)
    for number in range(2):
        writer.add(lane_step(number, first=number == 0))
    while not writer.ready():
        pass
    return True


def call():
    return RemoteCall("call", told).result({DEADLINE_SECONDS})


def outcome(work):
    try:
        told = work()
    except Exception as error:
        told = repr(error)
    # In one piece: others print at the same time.
    sys.stdout.write(f"{{work.__name__}} {{told}}\\n")
    sys.stdout.flush()


threads = [threading.Thread(target=outcome, args=(work,)) for work in (ring, write, call)]
for thread in threads:
    thread.start()
threading.Event().wait(0.2)
print("they wait", flush=True)
sys.stdin.readline()
is_told.set()
told.set_result(True)
"""
"""A bell, a replay and a call, of which nothing comes before somebody says a word to the process."""


def test_a_look_adds_what_has_gone_by_and_of_a_pause_a_second() -> None:
    clock = Clock(100.0)
    time = WatchedTime(clock.monotonic)
    steps = []
    for gap in (0.25, 0.5, 3600.0, 0.25):
        clock.now += gap
        steps.append(time.look())
    assert steps == [0.25, 0.5, 1.0, 0.25] and time.seconds == 2.0


def test_it_is_a_clock_that_does_not_know_of_pauses() -> None:
    clock = Clock(100.0)
    time = WatchedTime(clock.monotonic)
    read = [time.now()]
    for gap in (0.5, 3600.0, 0.25):
        clock.now += gap
        read.append(time.now())
    assert read == [0.0, 0.5, 1.5, 1.75]


def test_who_looks_seldom_says_what_a_look_may_add() -> None:
    clock = Clock()
    time = WatchedTime(clock.monotonic, longest_seconds=15.0)
    for gap in (10.0, 3600.0):
        clock.now += gap
        time.look()
    assert time.seconds == 25.0
    time.seconds = 0.0
    clock.now += 2.0
    assert time.look() == time.seconds == 2.0


@pytest.mark.parametrize(
    ("seconds", "gaps", "waited"),
    [
        pytest.param(2.5, [1.0, 1.0, 0.5], [1.0, 1.0, 0.5], id="in slices"),
        pytest.param(2.5, [1.0, 3600.0, 0.5], [1.0, 1.0, 0.5], id="a pause is one slice"),
        pytest.param(2.5, [0.25, 1.0, 1.0, 0.25], [1.0, 1.0, 1.0, 0.25], id="somebody was woken in between"),
        pytest.param(0.0, [0.0], [0.0], id="one look at least"),
    ],
)
def test_one_waits_in_slices_until_so_much_was_waited(seconds: float, gaps: list[float], waited: list[float]) -> None:
    clock, found = Clock(), []
    for wait in waits(seconds, clock=clock.monotonic):
        found.append(wait)
        clock.now += gaps[len(found) - 1]
    assert found == waited


@pytest.mark.skipif(not can_share(), reason="Linux alone tells of the descriptors of others")
def test_a_process_that_stood_still_for_longer_than_its_deadlines_takes_the_answers_that_come_then() -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", _PROGRAM], stdin=pipe, stdout=pipe, encoding="utf-8") as process:
        assert process.stdout is not None and process.stdout.readline() == "they wait\n"
        process.send_signal(signal.SIGSTOP)
        threading.Event().wait(DEADLINE_SECONDS + 0.1)
        process.send_signal(signal.SIGCONT)
        threading.Event().wait(0.2)
        told, _ = process.communicate("go on\n")
    assert sorted(told.splitlines()) == ["call True", "ring True", "write True"]
