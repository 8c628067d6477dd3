"""Starts a driver, listens to it, adds up the memory of its processes, and ends them all when enough is known.

Whatever a driver does, there is an `Outcome` by the deadline.
Not here: what the lines mean (`benchmarks.peers.progress`).
"""

import contextlib
import queue
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple

import psutil

from benchmarks.peers.progress import Fact, Progress, Rates, heard, rates

_MEMORY_EVERY_SECONDS = 0.5
_LEAVE_SECONDS = 10.0
"""That a driver may take to tidy up behind itself, as Ray does, before it is killed."""


class Window(NamedTuple):
    """What is to be measured of a driver."""

    warmup_seconds: float
    """After its first update."""
    seconds: float
    start_seconds: float
    """That it may take until its first update."""

    @property
    def deadline_seconds(self) -> float:
        """After which a driver that has not come to the end of its window is given up."""
        return self.start_seconds + self.warmup_seconds + 2 * self.seconds


class Outcome(NamedTuple):
    """Of one driver."""

    rates: Rates | None
    reason: str
    """Why there are no rates; "" if there are."""
    peak_rss_bytes: int
    """Largest sum over its processes of what each has resident; memory that they share counts for each of them."""
    facts: Mapping[str, Fact]


class Start(NamedTuple):
    """How a driver is started."""

    command: Sequence[str]
    variables: Mapping[str, str]
    """Its whole environment."""
    cores: Sequence[int]
    """That it may use."""


def watch(start: Start, num_roles: int, window: Window, stop: threading.Event | None = None) -> Outcome:
    """Run a driver until its window is over, it ends by itself, its time is up, or `stop` is set."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        errors = Path(folder) / "stderr"
        with errors.open("w", encoding="utf-8") as stderr:
            process = subprocess.Popen(
                start.command, stdout=subprocess.PIPE, stderr=stderr, text=True, env=dict(start.variables), cwd=folder
            )
        assert process.stdout is not None
        lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        reader = threading.Thread(target=_read, args=(process.stdout, lines), daemon=True)
        reader.start()
        tree = _Tree(process.pid, start.cores)
        try:
            return _listen(process, lines, tree, num_roles, window, errors, stop or threading.Event())
        finally:
            # What it has just started would be nobody's child when it has gone.
            tree.see()
            process.terminate()
            tree.end(_LEAVE_SECONDS)
            process.wait()
            reader.join(_LEAVE_SECONDS)
            process.stdout.close()


def _listen(
    process: "subprocess.Popen[str]",
    lines: "queue.SimpleQueue[str | None]",
    tree: "_Tree",
    num_roles: int,
    window: Window,
    errors: Path,
    stop: threading.Event,
) -> Outcome:
    marks: list[Progress] = []
    facts: dict[str, Fact] = {}
    deadline = time.monotonic() + window.deadline_seconds
    while time.monotonic() < deadline and not stop.is_set():
        tree.look_if_due()
        try:
            line = lines.get(timeout=_MEMORY_EVERY_SECONDS)
        except queue.Empty:
            continue
        if line is None:
            return Outcome(None, _last_words(process, errors), tree.peak_rss_bytes, facts)
        said = heard(line)
        if isinstance(said, Progress):
            marks.append(said)
            if (found := rates(marks, num_roles, window.warmup_seconds, window.seconds)) is not None:
                # A short window may be over before a look is due again.
                tree.look()
                return Outcome(found, "", tree.peak_rss_bytes, facts)
        elif said is not None:
            facts.update(said)
    far = f"{max(mark.steps for mark in marks)} steps" if marks else "no word"
    return Outcome(None, f"not done after {window.deadline_seconds:.0f} s ({far})", tree.peak_rss_bytes, facts)


def _read(stdout: IO[str], lines: "queue.SimpleQueue[str | None]") -> None:
    for line in stdout:
        lines.put(line)
    lines.put(None)


def _last_words(process: "subprocess.Popen[str]", errors: Path) -> str:
    """Why it ended: its exit status and the last line that it wrote."""
    try:
        status = process.wait(_LEAVE_SECONDS)
    except subprocess.TimeoutExpired:
        return "it closed its output and stayed"
    written = [
        line.strip() for line in errors.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()
    ]
    return f"exit status {status}" + (f": {written[-1][:200]}" if written else "")


class _Tree:
    """A process and all that it has started, as far as they were seen."""

    def __init__(self, pid: int, cores: Sequence[int]) -> None:
        self._root = psutil.Process(pid)
        self._seen = {self._root}
        self._last_look = float("-inf")
        self.peak_rss_bytes = 0
        # Those that it starts later inherit it. macOS has no such thing.
        if hasattr(self._root, "cpu_affinity"):
            self._root.cpu_affinity(list(cores))

    def look_if_due(self) -> None:
        """Add up memory, if the last time is long enough ago."""
        if time.monotonic() - self._last_look >= _MEMORY_EVERY_SECONDS:
            self.look()

    def look(self) -> None:
        """Add up memory."""
        self._last_look = time.monotonic()
        self.see()
        self.peak_rss_bytes = max(self.peak_rss_bytes, sum(_rss_bytes(process) for process in self._seen))

    def see(self) -> None:
        """Remember who is there."""
        with contextlib.suppress(psutil.NoSuchProcess):
            self._seen.update(self._root.children(recursive=True))

    def end(self, leave_seconds: float) -> None:
        """Wait for all, then kill those that are still there."""
        _, alive = psutil.wait_procs(self._seen, timeout=leave_seconds)
        for process in alive:
            with contextlib.suppress(psutil.NoSuchProcess):
                self._seen.update(process.children(recursive=True))
        for process in self._seen:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(self._seen, timeout=leave_seconds)


def _rss_bytes(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return 0
