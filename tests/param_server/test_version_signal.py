"""Waiting for a version in threads and on event loops."""

import asyncio
import threading

import pytest

from pipeline.param_server.version_signal import VersionSignal


def test_a_version_that_was_reached_is_there_at_once() -> None:
    signal = VersionSignal(3)
    assert signal.version == 3
    for version in (0, 3):
        assert signal.reached(version).result(timeout=0) == 3


def test_whoever_waits_is_woken_at_its_version_and_not_before() -> None:
    signal = VersionSignal(0)
    first, second, third = (signal.reached(version) for version in (1, 2, 3))
    signal.reach(2)
    assert first.result(timeout=0) == second.result(timeout=0) == 2
    assert not third.done()
    with pytest.raises(TimeoutError):
        third.result(timeout=0)


def test_a_version_does_not_go_back() -> None:
    signal = VersionSignal(0)
    signal.reach(2)
    signal.reach(1)
    assert signal.version == 2 and signal.reached(2).done()


def test_all_who_wait_for_a_version_share_what_they_wait_for() -> None:
    signal = VersionSignal(0)
    assert signal.reached(1) is signal.reached(1)
    assert signal.reached(1) is not signal.reached(2)


def test_a_thread_that_waits_is_woken_by_another() -> None:
    signal, woken = VersionSignal(0), threading.Event()

    def wait() -> None:
        assert signal.reached(1).result(timeout=60) == 1
        woken.set()

    thread = threading.Thread(target=wait)
    thread.start()
    assert not woken.is_set()
    signal.reach(1)
    thread.join(timeout=60)
    assert woken.is_set()


def test_an_event_loop_that_waits_is_woken_by_another_thread() -> None:
    signal = VersionSignal(0)

    async def wait() -> int:
        reached = asyncio.wrap_future(signal.reached(1))
        threading.Thread(target=signal.reach, args=(1,)).start()
        return await asyncio.wait_for(reached, timeout=60)

    assert asyncio.run(wait()) == 1
