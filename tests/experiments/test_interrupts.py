"""Ctrl-C, once and again."""

import os
import signal
import threading

import pytest

from pipeline.experiments.interrupts import interruptible


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM])
def test_the_first_is_a_wish_and_the_second_ends_at_once(which: signal.Signals) -> None:
    interrupt = threading.Event()
    before = signal.getsignal(which)
    with pytest.raises(KeyboardInterrupt), interruptible(interrupt):
        os.kill(os.getpid(), which)
        assert interrupt.wait(10)
        os.kill(os.getpid(), which)
        threading.Event().wait(10)
    assert signal.getsignal(which) is before


def test_where_somebody_else_ends_what_takes_too_long_the_second_means_nothing() -> None:
    interrupt = threading.Event()
    with interruptible(interrupt, second_ends=False):
        for which in (signal.SIGTERM, signal.SIGINT):
            os.kill(os.getpid(), which)
        assert interrupt.wait(10)
