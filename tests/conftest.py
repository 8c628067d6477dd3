"""What all tests need."""

import gc
import logging
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

OWN = Path(__file__).resolve().parent / "own"
"""A package of a user's own, `mylab`, and a folder of files for it, `conf`."""


@pytest.fixture
def caplog(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """With all warnings: as long as a cluster of Dask's is there, in any test's fixture, all handlers hear less."""
    caplog.set_level(logging.WARNING)
    return caplog


@pytest.fixture
def dask_log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """What Dask's workers in this process log, whatever tests before have left out of it."""
    logger = logging.getLogger("distributed.worker")
    filters, logger.filters[:] = list(logger.filters), []
    logger.addHandler(caplog.handler)
    caplog.set_level(logging.ERROR, logger.name)
    yield caplog
    logger.removeHandler(caplog.handler)
    logger.filters[:] = filters


@pytest.fixture
def own_package(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """`mylab` can be imported, which nobody has done before; no test that comes later finds it."""
    _forget_own_package()
    monkeypatch.syspath_prepend(OWN)
    yield
    _forget_own_package()


def _forget_own_package() -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "mylab"]:
        del sys.modules[name]


def pytest_configure() -> None:
    """A suite that a script starts ignores SIGINT in the background, and under `nohup` SIGHUP.

    So would each command that a test starts.
    """
    for which, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(which) is signal.SIG_IGN:
            signal.signal(which, handler)


def pytest_collection_finish() -> None:
    """What thousands of tests are made of stays to the end: no collection need look through it."""
    gc.collect()
    gc.freeze()
