"""Programs whose output fails in the ways that outputs fail, and Ctrl-C while one still imports."""

import errno
import io
import os
import resource
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import TextIO, cast

import pytest
from rich.console import Console

from dask_jobs.terminal import LastingStream
from tests.clusters import LIMIT_SECONDS, wait_until

CHECKOUT = Path(__file__).resolve().parents[2]

PROGRAM = """
from dask_jobs.terminal import begin
begin()
import sys
from rich.console import Console
console = Console()
for number in range(2_000):
    console.print(f"[bold]3 frames[/bold] · {number} of ≥ 2,000 steps, π")
print("plainly · ≥")
open("done", "w").close()
"""


def run(folder: Path, stdout: int, **variables: str) -> "subprocess.CompletedProcess[bytes]":
    environment = os.environ | {"PYTHONPATH": str(CHECKOUT)} | variables
    (folder / "program.py").write_text(PROGRAM, encoding="utf-8")
    words = [sys.executable, "program.py"]
    return subprocess.run(words, cwd=folder, env=environment, stdout=stdout, stderr=subprocess.PIPE, check=False)


@pytest.mark.parametrize(
    "variables",
    [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}],
)
def test_letters_that_a_terminal_cannot_show_are_shown_as_others(tmp_path: Path, variables: dict[str, str]) -> None:
    ended = run(tmp_path, subprocess.PIPE, **variables)
    assert ended.returncode == 0 and ended.stderr == b""
    assert ended.stdout.splitlines()[0] == b"3 frames | 0 of >= 2,000 steps, ?"
    assert ended.stdout.splitlines()[-1] == b"plainly | >="


def test_who_reads_no_more_ends_nothing_and_is_told_of_once(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ended = run(tmp_path, writer)
    finally:
        os.close(writer)
    assert ended.returncode == 0 and (tmp_path / "done").exists()
    (told,) = ended.stderr.decode().splitlines()
    assert told.startswith("warning: the output is lost from here on, and the work goes on: ") and "pipe" in told


def test_a_full_disk_under_the_output_ends_nothing_and_is_told_of_once(tmp_path: Path) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        ended = run(tmp_path, full)
    finally:
        os.close(full)
    assert ended.returncode == 0 and (tmp_path / "done").exists()
    (told,) = ended.stderr.decode().splitlines()
    assert "No space left on device" in told


def test_an_output_that_was_closed_at_the_start_ends_nothing(tmp_path: Path) -> None:
    closed = ["bash", "-c", f'exec {shlex.quote(sys.executable)} -c "$0" >&- 2>&-', PROGRAM]
    ended = subprocess.run(closed, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(CHECKOUT)}, check=False)
    assert ended.returncode == 0 and (tmp_path / "done").exists()


def test_what_a_stream_can_show_is_shown_as_it_is() -> None:
    below = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="")
    stream = LastingStream(below, "output")
    assert stream.write("≥ 2 · π\n") == 8
    stream.flush()
    assert below.buffer.getvalue().decode() == "≥ 2 · π\n"
    assert not stream.isatty() and stream.encoding == "utf-8"


class Tee:
    """What people put in the place of their output: it has no more than it needs."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> None:
        self.text += text

    def flush(self) -> None:
        """Nothing is held."""


def test_a_stream_of_somebody_s_own_may_have_no_more_than_write_and_flush() -> None:
    below = Tee()
    console = Console(file=cast(TextIO, LastingStream(cast(TextIO, below), "output")))
    console.print("≥ 2")
    assert below.text == "≥ 2\n" and not console.is_terminal


def test_an_output_that_is_lost_in_somebody_else_s_program_is_left_to_that_program(
    capfd: pytest.CaptureFixture[str],
) -> None:
    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

        def fileno(self) -> int:
            return 1

    assert LastingStream(Full(), "output").write("text") == 4
    os.write(1, b"still there")
    out, err = capfd.readouterr()
    assert out == "still there" and "the output is lost from here on" in err


class Full:
    """A stream with write and flush alone, on a disk that is full."""

    def write(self, _text: str) -> int:
        """Raises."""
        raise OSError(errno.ENOSPC, "No space left on device")

    def flush(self) -> None:
        """The same."""
        self.write("")


def test_streams_of_somebody_s_own_on_a_full_disk_end_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", cast(TextIO, Full()))
    for is_the_program_s in (False, True):
        lasting = LastingStream(cast(TextIO, Full()), "output")
        if is_the_program_s:
            monkeypatch.setattr(sys, "stdout", lasting)
        print("3 frames", file=cast(TextIO, lasting))
        print("4 frames", file=cast(TextIO, lasting))


def test_ctrl_c_while_a_program_imports_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("import time\n\nopen('imports', 'w').close()\ntime.sleep(300)\n")
    (tmp_path / "program.py").write_text("from dask_jobs.terminal import begin\n\nbegin()\nimport slow\n")
    words = [sys.executable, "-m", "program"]
    environment = os.environ | {"PYTHONPATH": f"{CHECKOUT}:{tmp_path}"}
    with subprocess.Popen(words, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True) as process:
        wait_until(lambda: (tmp_path / "imports").exists(), "it imports")

        process.send_signal(signal.SIGINT)
        _, printed = process.communicate(timeout=LIMIT_SECONDS)
    assert (process.returncode, printed) == (130, "stopped by Ctrl-C\n")


LIMITED = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))
from dask_jobs.terminal import begin
begin()
print(*resource.getrlimit(resource.RLIMIT_NOFILE))
"""
_, HARD = resource.getrlimit(resource.RLIMIT_NOFILE)


@pytest.mark.skipif(0 <= HARD < 2_000, reason="this user may have few open files")
@pytest.mark.parametrize(("soft", "hard", "after"), [(256, 2_000, "2000 2000"), (2_000, 2_000, "2000 2000")])
def test_a_program_takes_what_it_may_have(soft: int, hard: int, after: str) -> None:
    words = [sys.executable, "-c", LIMITED.format(soft=soft, hard=hard)]
    done = subprocess.run(words, cwd=CHECKOUT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == after.split()
