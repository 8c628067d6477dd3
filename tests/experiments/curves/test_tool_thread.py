"""Tools that wait for a disk or a network hold up nobody, and are left alone in the end."""

import threading
import time
from collections.abc import Callable, Sequence

import pytest

from pipeline.experiments.curves import tool_thread
from pipeline.experiments.curves.scalars import Scalar
from pipeline.experiments.curves.tool_thread import ToolThread

POINTS = [Scalar("bundle-0", "episodes/score", 1.5, 200, 2.0)]


class Tool:
    """Takes points, as soon as `may_go_on` is set, and remembers what was asked of it."""

    def __init__(self) -> None:
        self.may_go_on = threading.Event()
        self.asked: list[str] = []

    def log(self, points: Sequence[Scalar]) -> None:
        self.may_go_on.wait(60.0)
        self.asked.append(f"{len(points)} points")

    def close(self) -> None:
        self.asked.append("close")


def opened(open_tool: Callable[[], Tool]) -> tuple[ToolThread, list[Exception]]:
    failures: list[Exception] = []
    return ToolThread("tool", open_tool, failures.append), failures


def ended(thread: ToolThread, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    thread.end()
    thread.wait(lambda: time.monotonic() < deadline)


def test_what_is_given_is_taken_in_turn_and_all_of_it_before_the_end() -> None:
    tool = Tool()
    thread, failures = opened(lambda: tool)
    begun = time.monotonic()
    thread.give(POINTS)
    thread.flush()
    for _ in range(3):
        thread.give(POINTS)
    assert time.monotonic() - begun < 30.0 and tool.asked == [], "nobody has waited"
    tool.may_go_on.set()
    ended(thread)
    assert tool.asked == ["1 points", "close", "3 points", "close"] and failures == [], "what waits is one call"


def test_a_tool_that_takes_long_for_each_call_gets_what_waits_in_a_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_thread, "_MOST_AT_ONCE", 40)
    tool = Tool()
    thread, failures = opened(lambda: tool)
    for _ in range(100):
        thread.give(POINTS)
    tool.may_go_on.set()
    ended(thread)
    sizes = [int(asked.split()[0]) for asked in tool.asked[:-1]]
    assert sum(sizes) == 100 and max(sizes) <= 40 and len(sizes) <= 4 and failures == []


def test_a_tool_without_an_end_is_named_once_and_left_alone() -> None:
    tool = Tool()
    thread, failures = opened(lambda: tool)
    thread.give(POINTS)
    ended(thread, 0.1)
    (error,) = failures
    assert str(error) == "it has not taken everything within 0 s"
    thread.give(POINTS)
    begun = time.monotonic()
    ended(thread)
    assert time.monotonic() - begun < 30.0 and len(failures) == 1, "it is waited for once"
    tool.may_go_on.set()
    thread._thread.join(60.0)
    assert tool.asked == ["1 points", "close"], "it may go on with what it has"


def test_a_tool_that_stands_still_gets_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    tool = Tool()
    monkeypatch.setattr(tool_thread, "STUCK_SECONDS", 0.05)
    thread, failures = opened(lambda: tool)
    deadline = time.monotonic() + 60.0
    while not failures and time.monotonic() < deadline:
        thread.give(POINTS)
        time.sleep(0.01)
    (error,) = failures
    assert str(error) == "it has taken nothing for 0.05 s"
    tool.may_go_on.set()


def test_a_tool_that_is_too_slow_is_given_up_before_its_points_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    tool = Tool()
    monkeypatch.setattr(tool_thread, "MOST_WAITING", 10)
    thread, failures = opened(lambda: tool)
    for _ in range(20):
        thread.give(POINTS)
    (error,) = failures
    assert str(error).startswith("it is too slow: 1") and str(error).endswith(" points wait for it")
    tool.may_go_on.set()


def test_a_tool_that_cannot_be_opened_is_told_with_its_error() -> None:
    def fail() -> Tool:
        raise OSError("no such database")

    thread, failures = opened(fail)
    thread.give(POINTS)
    ended(thread)
    assert [str(error) for error in failures] == ["no such database"]
