"""What all tests need."""

import signal


def pytest_configure() -> None:
    """A suite that a script starts in the background ignores SIGINT, and so would each command that a test starts."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
