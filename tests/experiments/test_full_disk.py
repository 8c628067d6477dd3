"""A disk that is full, from the start or in mid-run, under each command that writes. A real one, of some megabytes."""

import errno
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.experiments.files import checkpoint
from pipeline.results.load import load_run
from tests.experiments.commands import Command, Start
from tests.experiments.smoke_runs import frames_beyond, smoke_words

pytestmark = pytest.mark.slow

_MEGABYTES = 48
_SENTENCE = os.strerror(errno.ENOSPC)


class Disk:
    """A file system of its own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._filler = path / "filler"

    def fill(self) -> None:
        """Leave no byte."""
        with self._filler.open("wb", buffering=0) as file:
            for size in (2**20, 2**12, 1):
                try:
                    while True:
                        file.write(bytes(size))
                except OSError as error:
                    assert error.errno == errno.ENOSPC

    def clear(self) -> None:
        """Room again."""
        self._filler.unlink()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    path = tmp_path / "disk"
    path.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={_MEGABYTES}m", "tmpfs", str(path)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("only root may mount a small disk")
    try:
        yield Disk(path)
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


def ends_with_a_sentence(command: Command) -> None:
    """By itself, with an error that says what was wrong, and no traceback."""
    assert command.ends() not in (0, -signal.SIGKILL), command.printed
    assert "Traceback" not in command.printed, command.printed
    assert _SENTENCE in command.printed, command.printed


def test_a_disk_that_is_full_before_a_run_is_one_sentence(start: Start, disk: Disk) -> None:
    disk.fill()
    ends_with_a_sentence(start("-m", "pipeline.train", *smoke_words(disk.path / "runs"), "progress=lines"))


def test_a_disk_that_fills_up_ends_a_run_which_then_goes_on_from_its_checkpoint(start: Start, disk: Disk) -> None:
    words = ["-m", "pipeline.train", *smoke_words(disk.path / "runs"), "progress=lines"]
    folder = disk.path / "runs" / "smoke_gorila" / "Breakout" / "0"
    often = ["budget.frames=4_000_000_000", "checkpoint.every_minutes=0.01"]
    command = start(*words, *often)
    command.wait_until(lambda: checkpoint.newest_version(folder / "checkpoints") > 0, "a checkpoint with updates")
    disk.fill()
    ends_with_a_sentence(command)
    saved = checkpoint.load_newest(folder / "checkpoints").server.version
    assert saved > 0
    disk.clear()
    again = start(*words, "resume=true", f"budget.frames={frames_beyond(folder, 4_000)}")
    assert again.ends() == 0, again.printed
    assert load_run(folder).runs["end_reason"].item() == "budget"


def test_commands_that_write_beside_a_run_say_that_the_disk_is_full_and_harm_nothing(start: Start, disk: Disk) -> None:
    folder = disk.path / "runs" / "smoke_gorila" / "Breakout" / "0"
    trained = start("-m", "pipeline.train", *smoke_words(disk.path / "runs"), "progress=lines")
    assert trained.ends() == 0, trained.printed
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    disk.fill()
    for words in (
        ["pipeline.report", f"results_dir={disk.path / 'runs'}", f"output_dir={disk.path / 'out'}"],
        ["pipeline.evaluate", f"run={folder}", "evaluation=sticky", "evaluation.num_episodes=1"],
        ["pipeline.export", f"run={folder}", f"out={disk.path / 'exported'}"],
        ["pipeline.play", f"run={folder}", f"output={disk.path / 'film.mp4'}", "max_seconds=2"],
    ):
        ends_with_a_sentence(start("-m", *words))
    after = {path: path.read_bytes() for path in before}
    assert after == before
