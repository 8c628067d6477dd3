"""Work in a thread of its own, asked for until it is there."""

import contextvars
import threading

import pytest

from pipeline.errand import Errand
from tests.clusters import LIMIT_SECONDS, wait_until


def test_what_is_under_way_holds_up_nobody_and_is_handed_over_once() -> None:
    go_on, errand = threading.Event(), Errand[str]("test")
    num_begun = 0

    def work() -> str:
        nonlocal num_begun
        num_begun += 1
        assert go_on.wait(LIMIT_SECONDS)
        return "done"

    assert errand.ask(work) is None and errand.ask(work) is None and errand.is_under_way
    go_on.set()
    wait_until(lambda: errand.ask(work) == "done", "the result")
    assert num_begun == 1 and not errand.is_under_way


def test_what_it_raises_is_raised_where_it_is_asked_for_and_it_can_be_asked_for_anew() -> None:
    errand = Errand[str]("test")

    def fail() -> str:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        wait_until(lambda: errand.ask(fail), "the error")
    wait_until(lambda: errand.ask(lambda: "done") == "done", "another result")


def test_it_runs_in_the_context_of_who_asks() -> None:
    whose = contextvars.ContextVar("whose", default="nobody's")
    whose.set("the asker's")
    errand = Errand[str]("test")
    wait_until(lambda: errand.ask(whose.get) == "the asker's", "the result")


def test_what_was_settled_is_over_whatever_came_of_it() -> None:
    go_on, errand = threading.Event(), Errand[str]("test")

    def fail() -> str:
        go_on.wait(LIMIT_SECONDS)
        raise ZeroDivisionError

    assert errand.ask(fail) is None
    threading.Timer(0.1, go_on.set).start()
    errand.settle()
    assert go_on.is_set() and not errand.is_under_way
