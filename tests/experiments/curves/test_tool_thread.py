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
        self.asked.append("log")

    def close(self) -> None:
        self.asked.append("close")


def opened(open_tool: Callable[[], Tool]) -> tuple[ToolThread, list[Exception]]:
    failures: list[Exception] = []
    return ToolThread("tool", open_tool, failures.append), failures


def test_what_is_given_is_taken_in_turn_and_all_of_it_before_the_end() -> None:
    tool = Tool()
    thread, failures = opened(lambda: tool)
    begun = time.monotonic()
    for _ in range(3):
        thread.give(POINTS)
    thread.flush()
    thread.give(POINTS)
    assert time.monotonic() - begun < 30.0 and tool.asked == [], "nobody has waited"
    tool.may_go_on.set()
    thread.end(60.0)
    assert tool.asked == ["log", "log", "log", "close", "log", "close"] and failures == []


def test_a_tool_without_an_end_is_named_once_and_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    tool = Tool()
    thread, failures = opened(lambda: tool)
    thread.give(POINTS)
    thread.end(0.1)
    (error,) = failures
    assert str(error) == "it has not taken everything within 0.1 s"
    thread.give(POINTS)
    tool.may_go_on.set()

    stuck, tool = Tool(), Tool()
    monkeypatch.setattr(tool_thread, "STUCK_SECONDS", 0.05)
    thread, failures = opened(lambda: stuck)
    thread.give(POINTS)
    deadline = time.monotonic() + 60.0
    while not failures and time.monotonic() < deadline:
        thread.give(POINTS)
        time.sleep(0.01)
    (error,) = failures
    assert str(error) == "it has taken nothing for 0.05 s"
    stuck.may_go_on.set()
    thread.end(60.0)
    assert stuck.asked == ["log"], "what was not taken before is taken no more"


def test_a_tool_that_cannot_be_opened_is_told_with_its_error() -> None:
    def fail() -> Tool:
        raise OSError("no such database")

    thread, failures = opened(fail)
    thread.give(POINTS)
    thread.end(60.0)
    assert [str(error) for error in failures] == ["no such database"]
