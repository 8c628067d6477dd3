"""Who hears of signals, how often, and that hosts do not die of them."""

import logging
import os
import signal
from collections.abc import Iterator

import psutil
import pytest
from distributed import Client

from dask_jobs.interrupts import SIGNALS, heard, interrupts
from dask_jobs.scheduler import SETTINGS, settled, start_here
from tests.clusters import wait_until


@pytest.fixture(autouse=True)
def no_signal_is_left_handled() -> Iterator[None]:
    before = {which: signal.getsignal(which) for which in SIGNALS}
    yield
    assert {which: signal.getsignal(which) for which in SIGNALS} == before


def test_ctrl_c_is_heard_each_time_and_a_batch_system_or_a_lost_terminal_once() -> None:
    told: list[signal.Signals] = []
    with heard(told.append):
        for which in (signal.SIGTERM, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGINT, signal.SIGHUP):
            os.kill(os.getpid(), which)
    assert told == [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGINT]


def test_a_signal_that_a_program_around_python_handles_is_left_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    handler_of = signal.getsignal
    monkeypatch.setattr(signal, "getsignal", lambda which: None if which is signal.SIGTERM else handler_of(which))
    before = handler_of(signal.SIGTERM)
    with heard(lambda _: None):
        assert handler_of(signal.SIGTERM) is before
    assert handler_of(signal.SIGTERM) is before


def test_what_nohup_has_started_lives_on_without_its_terminal() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        told: list[signal.Signals] = []
        with heard(told.append):
            os.kill(os.getpid(), signal.SIGHUP)
        assert told == [] and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_of_a_sweep_only_ctrl_c_asks_for_more_the_second_time() -> None:
    told: list[str] = []
    with pytest.raises(KeyboardInterrupt), interrupts(told.append):
        for which in (signal.SIGTERM, signal.SIGHUP, signal.SIGTERM):
            os.kill(os.getpid(), which)
        assert told == ["SIGTERM"]
        os.kill(os.getpid(), signal.SIGINT)
        assert told == ["SIGTERM", "Ctrl-C"]
        os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.slow
def test_hosts_live_on_whatever_signal_comes_and_end_with_their_cluster() -> None:
    with (
        settled(SETTINGS),
        start_here(1, 1, processes=True, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        (pid,) = client.run(os.getpid).values()
        for which in SIGNALS:
            os.kill(pid, which)
        assert client.submit(os.getpid).result(timeout=60) == pid
        assert client.submit(_inherited).result(timeout=60) == dict.fromkeys(SIGNALS, True)
        # A heartbeat that is under way when a command is killed would end with a traceback on its terminal.
        assert client.submit(_logs, OSError).result(timeout=60) is False
        assert client.submit(_logs, ValueError).result(timeout=60) is True
    wait_until(lambda: not psutil.pid_exists(pid), "the host has ended")


def _logs(error: type[Exception]) -> bool:
    """Whether this host has a word for it."""
    logger = logging.getLogger("distributed.worker")
    facts = (error, error(), None)
    return bool(logger.filter(logger.makeRecord(logger.name, logging.ERROR, "", 0, "of a heartbeat", (), facts)))


def _inherited() -> dict[int, bool]:
    """Whether programs that this process starts can be ended by these signals."""
    return {int(which): signal.getsignal(which) is not signal.SIG_IGN for which in SIGNALS}
