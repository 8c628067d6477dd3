"""Calls through pipes: answered in their order, with their errors, and ended by the death of either side."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from pipeline.cluster.remotes.bell import Bell, answer
from pipeline.cluster.remotes.shared_memory import can_share
from pipeline.errors import CallTimeoutError, PipelineError, RemoteLostError, UnreachableError
from tests.clusters import LIMIT_SECONDS, wait_until

pytestmark = pytest.mark.skipif(not can_share(), reason="Linux alone tells of the descriptors of others")


class Counter:
    """Something to be called."""

    def __init__(self) -> None:
        self.total = 0
        self.may_go_on = threading.Event()

    def add(self, number: int) -> int:
        self.total += number
        return self.total

    def wait(self) -> str:
        assert self.may_go_on.wait(LIMIT_SECONDS)
        return "waited"

    def fail(self) -> None:
        raise ValueError("got (3,), this shard holds (4,)")

    def fail_strangely(self) -> None:
        raise StrangeError("a", "b")


class StrangeError(Exception):
    """One that cannot be made anew of what it says."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(first + second)


@pytest.fixture
def counter() -> Iterator[Counter]:
    counter = Counter()
    yield counter
    counter.may_go_on.set()


@pytest.fixture
def bell(counter: Counter) -> Bell:
    bell = Bell()
    answer(bell.offer, counter)
    bell.hand_over()
    return bell


def test_calls_are_carried_out_in_their_order_whichever_answer_is_asked_for_first(bell: Bell) -> None:
    calls = [bell.ring("add of counter", "add", number) for number in (1, 10, 100)]
    assert [call.result(LIMIT_SECONDS) for call in reversed(calls)] == [111, 11, 1]


def test_an_error_comes_back_as_what_it_is_and_the_next_call_is_answered(bell: Bell) -> None:
    failed, added = bell.ring("fail of counter", "fail"), bell.ring("add of counter", "add", 5)
    with pytest.raises(ValueError, match=r"got \(3,\)"):
        failed.result(LIMIT_SECONDS)
    assert added.result(LIMIT_SECONDS) == 5


def test_an_error_that_cannot_travel_is_told_in_words(bell: Bell) -> None:
    with pytest.raises(PipelineError, match=r"StrangeError\('ab'\), which cannot be sent as it is: TypeError"):
        bell.ring("fail_strangely of counter", "fail_strangely").result(LIMIT_SECONDS)
    assert bell.ring("add of counter", "add", 5).result(LIMIT_SECONDS) == 5


def test_a_call_past_its_deadline_is_a_timeout_and_its_answer_can_still_come(bell: Bell, counter: Counter) -> None:
    waits = bell.ring("wait of counter", "wait")
    with pytest.raises(CallTimeoutError, match=r"wait of counter did not answer within 0.05 s"):
        waits.result(0.05)
    counter.may_go_on.set()
    assert waits.result(LIMIT_SECONDS) == "waited"


def test_what_was_released_is_lost_and_not_kept_alive_by_its_bell() -> None:
    released, bell = Counter(), Bell()
    answer(bell.offer, released)
    bell.hand_over()
    del released
    gc.collect()
    with pytest.raises(RemoteLostError, match="it was released"):
        bell.ring("add of counter", "add", 1).result(LIMIT_SECONDS)


def bells() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == f"bell-{os.getpid()}"]


def test_the_thread_that_answers_ends_with_its_caller(counter: Counter) -> None:
    before = set(bells())
    bell = Bell()
    answer(bell.offer, counter)
    bell.hand_over()
    (own,) = set(bells()) - before
    del bell
    gc.collect()
    wait_until(lambda: not own.is_alive(), "the thread has ended")


def test_the_death_of_the_process_that_is_called_is_known_at_once() -> None:
    bell = Bell()
    program = (
        "import sys, threading\n"
        "from pipeline.cluster.remotes.bell import BellOffer, answer\n"
        "called = threading.Event()\n"
        "answer(eval(sys.argv[1], {'BellOffer': BellOffer}), called)\n"
        "print('there', flush=True)\n"
        "threading.Event().wait()\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, repr(bell.offer)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"there\n"
        bell.hand_over()
        assert bell.ring("is_set of called", "is_set").result(LIMIT_SECONDS) is False
        waits = bell.ring("wait of called", "wait")
        process.send_signal(signal.SIGKILL)
        begun = time.monotonic()
        with pytest.raises(UnreachableError, match="wait of called: its process is gone"):
            waits.result(LIMIT_SECONDS)
        with pytest.raises(UnreachableError, match="is_set of called: its process is gone"):
            bell.ring("is_set of called", "is_set").result(LIMIT_SECONDS)
        assert time.monotonic() - begun < LIMIT_SECONDS / 2
