"""What all tests need."""

import gc
import signal


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
