"""Commands of this project as processes: started, watched, signalled and waited for."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil

from tests.clusters import LIMIT_SECONDS, wait_until
from tests.processes import lives

CHECKOUT = Path(__file__).resolve().parents[2]


class Command:
    """A process of this Python; what it prints goes to a file. `prefix`: the command that starts it in its place."""

    def __init__(self, output: Path, *words: str, prefix: tuple[str, ...] = ()) -> None:
        self.output = output
        with output.open("w") as file:
            environment = os.environ | {"PYTHONPATH": str(CHECKOUT), "PYTHONUNBUFFERED": "1"}
            self.process = subprocess.Popen(
                [*prefix, sys.executable, *words],
                cwd=output.parent,
                env=environment,
                stdout=file,
                stderr=subprocess.STDOUT,
            )

    @property
    def printed(self) -> str:
        """What it has printed so far."""
        return self.output.read_text()

    @property
    def said(self) -> str:
        """The same as one line, however wide its lines were."""
        return " ".join(self.printed.split())

    def send(self, which: signal.Signals) -> None:
        """Send a signal to it alone, as it is."""
        assert self.process.poll() is None, self.printed
        self.process.send_signal(which)

    def send_to_all(self, which: signal.Signals, *, itself: bool = True) -> None:
        """What a batch system does: the signal to it and to everything that it has started, whatever its group."""
        assert self.process.poll() is None, self.printed
        started = psutil.Process(self.process.pid).children(recursive=True)
        for process in ([psutil.Process(self.process.pid)] if itself else []) + started:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(which)

    def ctrl_c(self) -> None:
        """What a terminal does."""
        self.send_to_all(signal.SIGINT)

    def ends(self, limit_seconds: float = LIMIT_SECONDS) -> int:
        """Its exit code, waited for; AssertionError with what it has printed if it does not end."""
        try:
            return self.process.wait(timeout=limit_seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"after {limit_seconds:g} s it runs still, and has printed:\n{self.printed}") from None

    def wait_until(self, condition: Callable[[], object], what: str) -> None:
        """Wait, but not longer than the process lives; AssertionError with what it has printed if that is in vain."""
        try:
            wait_until(lambda: self.process.poll() is not None or condition(), what)
        except AssertionError as error:
            raise AssertionError(f"{error}; it has printed:\n{self.printed}") from error
        assert self.process.poll() is None, self.printed


Start = Callable[..., Command]


def processes_in(folder: Path) -> list[psutil.Process]:
    """Live processes whose working folder it is."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.cwd() == str(folder) and lives(process):
                found.append(process)
        except psutil.Error:
            continue
    return found
