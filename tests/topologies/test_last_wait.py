"""The wait for roles that were told to leave, on a clock that is turned by hand."""

import pytest

from pipeline.topologies import last_wait
from pipeline.topologies.last_wait import LastWait
from tests.clocks import Clock


def test_all_are_waited_for_until_one_deadline_and_named_once_it_takes_long() -> None:
    clock, said = Clock(), list[str]()
    wait = LastWait(60.0, said.append, clock=clock.monotonic)
    clock.now += 4.0
    wait.mention(["bundle-0", "bundle-1"])
    assert said == [] and wait.seconds_left == 56.0
    clock.now += 1.0
    wait.mention(["bundle-1"])
    clock.now += 30.0
    wait.mention(["bundle-1"])
    assert said == ["waiting up to 60 s for bundle-1 to finish a step and leave"]
    clock.now += 25.0
    assert wait.seconds_left == 0.0 and not wait.is_hurried


def test_a_hurry_shortens_what_is_left_whenever_it_comes() -> None:
    clock, hurry = Clock(), list[str]()
    wait = LastWait(60.0, hurried_seconds=8.0, has_hurry=lambda: bool(hurry), clock=clock.monotonic)
    clock.now += 20.0
    assert wait.seconds_left == 40.0
    hurry.append("SIGTERM")
    assert wait.seconds_left == 8.0 and wait.limit_seconds == 28.0 and wait.is_hurried
    clock.now += 5.0
    assert wait.seconds_left == 3.0


def test_a_hurry_is_no_new_time() -> None:
    clock = Clock()
    wait = LastWait(60.0, hurried_seconds=8.0, has_hurry=lambda: clock.now >= 55.0, clock=clock.monotonic)
    clock.now += 55.0
    assert wait.seconds_left == 5.0


def test_a_pause_of_the_whole_process_is_no_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(last_wait, "time", clock)
    wait = LastWait(60.0)
    for gap in (0.5, 3600.0, 0.5):
        clock.now += gap
        assert wait.seconds_left > 0
    assert wait.seconds_left == 58.0
