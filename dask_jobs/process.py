"""The host's end of a job's process: starts it, hands it its order, hears its progress, measures and ends it.

Not here: the process itself (`work`), when it is ended (`attempt`).
"""

import contextlib
import json
import os
import pickle
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import dask
import psutil

from dask_jobs.needs import GRANT_VARIABLE, to_variable
from dask_jobs.outcome import HostSetup, Order, Outcome, log_name
from dask_jobs.progress import PIPE_VARIABLE
from dask_jobs.work import LENGTH_BYTES, JobOrder

_BOOT = (
    # First: a stop that comes while this is imported would be lost where SIGINT is ignored. Signals of a batch system
    # are for the launcher, which has jobs stopped in order.
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "[signal.signal(which, lambda *_: None) for which in (signal.SIGTERM, signal.SIGHUP)]; "
    "import json, sys; sys.path[:0] = json.loads(sys.argv.pop()); "
    "from dask_jobs.work import main; main()"
)

_THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")

_READ_BYTES = 1 << 16
_TAIL_BYTES = 1 << 16
_MAX_SAID = 500
"""Letters of a job's last line that go into the ledger."""


class JobProcess:
    """A process that waits for one order, in a session of its own: Ctrl-C in the terminal does not reach it."""

    def __init__(self, setup: HostSetup) -> None:
        self._setup = setup
        self._folder = Path(tempfile.mkdtemp(prefix="dask-launcher-"))
        self._log_file = self._before_order = self._folder / "before_order.log"
        self._progress, progress_end = os.pipe()
        os.set_blocking(progress_end, False)
        self._progress_end = progress_end
        self._unread = b""
        self._writer: threading.Thread | None = None
        with self._before_order.open("wb") as log:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-c", _BOOT),
                    *(str(self._folder), json.dumps(setup.preload), json.dumps(setup.sys_path)),
                ],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=setup.folder,
                env=_environment(),
                pass_fds=(progress_end,),
                start_new_session=True,
            )
        os.close(progress_end)

    @property
    def has_ended(self) -> bool:
        """True once the process is gone; its children may live."""
        return self._process.poll() is not None

    @property
    def has_outcome(self) -> bool:
        """True once its work is done, whether or not the process has ended."""
        return self._outcome_file.exists()

    def hand_over(self, order: Order, variables: Mapping[str, str]) -> None:
        """Give it its order, with environment variables beside those that every job gets."""
        grant = order.grant
        self._log_file = Path(self._setup.log_folder) / log_name(grant.job, grant.attempt)
        self._log_file.parent.mkdir(parents=True, exist_ok=True)
        pipe = f"{self._process.pid}:{self._progress_end}"
        num_threads = str(max(next(iter(grant.hosts.values())), 1))
        message = pickle.dumps(
            JobOrder(
                variables=dict.fromkeys(_THREAD_VARIABLES, num_threads)
                | {GRANT_VARIABLE: to_variable(grant), PIPE_VARIABLE: pipe}
                | dict(variables),
                log_file=str(self._log_file),
                outcome_file=str(self._outcome_file),
                stop_seconds=self._setup.stop_seconds,
                work=order.work,
            )
        )
        # In a thread: what is larger than a pipe waits until the process has imported all that it preloads, and
        # meanwhile somebody has to look after it.
        self._writer = threading.Thread(target=self._send, args=(message,), daemon=True)
        self._writer.start()

    def listen(self, seconds: float, hear: Callable[[dict[str, Any]], None]) -> None:
        """Hand every progress report to `hear`, as soon as one comes; returns after that, or at the process's end."""
        if self._progress < 0:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(seconds)
            return
        # Not `select`, which knows no files beyond the 1,024th.
        poll = select.poll()
        poll.register(self._progress, select.POLLIN)
        if not poll.poll(1000 * seconds):
            return
        data = os.read(self._progress, _READ_BYTES)
        if not data:
            self._close_progress()
            return
        *lines, self._unread = (self._unread + data).split(b"\n")
        for line in lines:
            # A line that was cut short by a full pipe is no JSON.
            with contextlib.suppress(ValueError):
                hear(json.loads(line))

    def memory_bytes(self) -> int:
        """Resident memory of the process and all below it; pages that they share count for each."""
        num_bytes = 0
        for process in _tree(self._process.pid):
            with contextlib.suppress(psutil.Error):
                num_bytes += process.memory_info().rss
        return num_bytes

    def interrupt(self) -> None:
        """Tell it to stop."""
        self._process.send_signal(signal.SIGINT)

    def kill(self) -> None:
        """End it and everything that it started, at once."""
        # Its group covers what dead children left behind; the tree, what has a group of its own.
        if not self.has_ended:
            for process in _tree(self._process.pid):
                with contextlib.suppress(psutil.Error):
                    process.kill()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def outcome(self) -> Outcome | None:
        """What it left; None if it ended without an outcome, or has not ended yet."""
        with contextlib.suppress(OSError):
            outcome: Outcome = pickle.loads(self._outcome_file.read_bytes())
            return outcome
        return None

    def last_words(self) -> str:
        """How a process without an outcome ended, in words."""
        code = self._process.returncode
        ending = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
        output = self._log_file if self._log_file.exists() else self._before_order
        with output.open("rb") as file:
            file.seek(max(output.stat().st_size - _TAIL_BYTES, 0))
            # A progress bar ends its lines with a return.
            lines = file.read().decode(errors="replace").replace("\r", "\n").split("\n")
        said = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f"its process {ending}" + (f", after: {said[:_MAX_SAID]}" if said else "")

    def close(self) -> None:
        """Kill what is left, and clean up; what was printed before there was an order joins the log."""
        self.kill()
        if self._writer is not None:
            self._writer.join()
        with contextlib.suppress(BrokenPipeError):
            self._stdin.close()
        self._close_progress()
        # Machines clear away what has lain in their temporary folder for days, and a full disk takes no more of a log:
        # what the job has come to is more than that.
        with contextlib.suppress(OSError):
            if self._before_order.stat().st_size and self._log_file is not self._before_order:
                with self._log_file.open("ab") as log:
                    log.write(self._before_order.read_bytes())
        shutil.rmtree(self._folder, ignore_errors=True)

    def _send(self, message: bytes) -> None:
        # A process that has died already leaves no outcome, which says it all.
        with contextlib.suppress(BrokenPipeError):
            self._stdin.write(len(message).to_bytes(LENGTH_BYTES, "big") + message)
            self._stdin.flush()

    @property
    def _outcome_file(self) -> Path:
        return self._folder / "outcome"

    @property
    def _stdin(self) -> Any:
        assert self._process.stdin is not None
        return self._process.stdin

    def _close_progress(self) -> None:
        if self._progress >= 0:
            os.close(self._progress)
            self._progress = -1


def _environment() -> dict[str, str]:
    """That of this host, without what Dask's nanny has set for the sake of the host alone."""
    set_by_nanny = dask.config.get("distributed.nanny.pre-spawn-environ")
    return {name: value for name, value in os.environ.items() if str(set_by_nanny.get(name)) != value}


def _tree(pid: int) -> Iterator[psutil.Process]:
    with contextlib.suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        yield from process.children(recursive=True)
        yield process
