"""The command of one run as a user types it, once and again, and what it leaves: output, rows, checkpoints.

Not here: killing (`studies.chaos.watched`).
"""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from pipeline.numbered_files import numbers_in
from pipeline.run_folders import CHECKPOINTS

CHECKOUT = Path(__file__).resolve().parents[2]
ROW_FILES = ("episodes.csv", "updates.csv", "evaluations.csv")


class Rows(NamedTuple):
    """The whole lines of one file."""

    header: list[str]
    lines: list[str]

    @property
    def all(self) -> list[str]:
        """What is set aside may have no header."""
        return [",".join(self.header), *self.lines]


class TypedCommand:
    """`python -m pipeline.train ...` in a folder of its own; each start appends to the same output."""

    def __init__(self, folder: Path, words: list[str], environment: Mapping[str, str]) -> None:
        self._folder = folder
        self._words = words
        self._environment = {**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONPATH": str(CHECKOUT), **environment}
        self._process: subprocess.Popen[bytes] | None = None
        self.output = folder / "output.txt"
        """What all starts have printed."""
        self.output.touch()
        self.num_starts = 0
        self.checkpoints: dict[int, float] = {}
        """Update of each checkpoint that was seen -> when, on the monotonic clock."""

    def type(self) -> None:
        """Once anew; from then on with resume=true."""
        again = ["resume=true"] if self.num_starts else []
        words = [sys.executable, "-m", "pipeline.train", *self._words, *again]
        with self.output.open("ab") as file:
            self._process = subprocess.Popen(
                words, cwd=self._folder, env=self._environment, stdout=file, stderr=subprocess.STDOUT
            )
        self.num_starts += 1

    @property
    def pid(self) -> int:
        """Of the start that is under way, or of the last one."""
        assert self._process is not None
        return self._process.pid

    @property
    def exit_status(self) -> int | None:
        """Of the last start; None: it goes on."""
        assert self._process is not None
        return self._process.poll()

    def printed(self) -> str:
        """By all starts so far."""
        return self.output.read_text(encoding="utf-8", errors="replace")

    @property
    def run_folder(self) -> Path | None:
        """None as long as there is none."""
        return next((path.parent for path in (self._folder / "runs").glob("*/*/*/config.yaml")), None)

    def end_reason(self) -> str | None:
        """What `run.json` says; None: nothing."""
        folder = self.run_folder
        with contextlib.suppress(OSError, ValueError):
            if folder is not None:
                reason = json.loads((folder / "run.json").read_text(encoding="utf-8"))["end_reason"]
                return None if reason is None else str(reason)
        return None

    def rows(self, *below: str) -> dict[str, Rows]:
        """File -> what is in it, in the run folder or in a folder below it."""
        return {
            name: _rows(path)
            for name in ROW_FILES
            if (folder := self.run_folder) is not None and (path := folder.joinpath(*below, name)).exists()
        }

    def see_checkpoints(self) -> None:
        """Note when new ones came."""
        folder = self.run_folder
        for update in [] if folder is None else numbers_in(folder / CHECKPOINTS):
            self.checkpoints.setdefault(update, time.monotonic())

    def temporary_files(self) -> list[str]:
        """What a run is to have cleared away: hidden files of its folder, whatever is beside it, all in `tmp`.

        Dask's folders of hosts that were killed are Dask's: the next host in the same place removes them.
        """
        beside = {"runs", "output.txt", "tmp", "dask_worker.log", "dask_scheduler.log"}
        found = [path for path in self._folder.iterdir() if path.name not in beside]
        found += [path for path in (self._folder / "tmp").iterdir() if not path.name.startswith("dask-scratch-space")]
        folder = self.run_folder
        found += [] if folder is None else [path for path in folder.rglob(".*") if path.name != ".lock"]
        return sorted(str(path.relative_to(self._folder)) for path in found)


def _rows(path: Path) -> Rows:
    whole = path.read_text(encoding="utf-8").split("\n")[:-1]  # behind the last line end, a line that is being written
    return Rows(whole[0].split(",") if whole else [], whole[1:])
