"""What drivers say, and windows of hand-sized runs."""

import json

import pytest

from benchmarks.peers.progress import Progress, ProgressReporter, Rates, heard, rates, say, say_facts


def marks(*points: tuple[float, int, int], role: str = "all") -> list[Progress]:
    return [Progress(seconds, steps, updates, role) for seconds, steps, updates in points]


def test_what_is_said_is_heard_and_what_a_library_prints_beside_it_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    say(Progress(1.5, 10, 2, "bundle-0"))
    say_facts(torch="2.13.0", compute_threads=2)
    said, facts = capsys.readouterr().out.splitlines()
    assert heard(said) == Progress(1.5, 10, 2, "bundle-0")
    assert heard(facts) == {"torch": "2.13.0", "compute_threads": 2}
    for line in ("SPS: 50", "[1]", "3", '{"steps": 3}', '{"facts": 3}', "", "{"):
        assert heard(line) is None


def test_a_driver_may_ask_to_say_it_after_every_step(capsys: pytest.CaptureFixture[str]) -> None:
    reporter = ProgressReporter(every_seconds=3600.0)
    reporter.say(1, 0)
    reporter.say(2, 1)
    assert [json.loads(line)["steps"] for line in capsys.readouterr().out.splitlines()] == [1]


def test_the_window_begins_after_the_first_update_and_the_warm_up() -> None:
    # Fast while nothing is learned; the first update by 10 s, warm at 15 s, the window from 16 s to 26 s.
    run = marks((0, 0, 0), (5, 5_000, 0), (10, 5_100, 1), (14, 5_140, 11), (16, 5_160, 16), (20, 5_180, 21))
    assert rates(run, 1, warmup_seconds=5, window_seconds=10) is None
    assert rates([*run, *marks((26, 5_260, 41))], 1, 5, 10) == Rates(10.0, 2.5, 10.0)


def test_a_window_ends_with_the_first_progress_after_its_time() -> None:
    run = marks((0, 0, 1), (4, 40, 5), (6, 90, 7), (8, 1_000, 9))
    assert rates(run, 1, warmup_seconds=0, window_seconds=5) == Rates(15.0, 1.0, 6.0)


def test_a_window_has_an_update_however_short_it_is() -> None:
    run = marks((0, 0, 1), (1, 50, 1), (2, 70, 1))
    assert rates(run, 1, warmup_seconds=0, window_seconds=1) is None
    assert rates([*run, *marks((4, 80, 2))], 1, 0, 1) == Rates(20.0, 0.25, 4.0)


def test_steps_of_roles_are_added_and_updates_are_those_of_all() -> None:
    one = marks((0, 0, 1), (10, 100, 61), role="bundle-0")
    other = marks((1, 0, 4), (11, 200, 64), role="bundle-1")
    assert rates(one, 2, 0, 10) is None
    assert rates([*one, *other], 2, 0, 10) == Rates(30.0, 6.0, 10.0)


def test_without_an_update_there_is_no_window() -> None:
    assert rates(marks((0, 0, 0), (100, 1_000, 0)), 1, 0, 10) is None
    assert rates([], 1, 0, 10) is None
