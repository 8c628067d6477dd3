"""Ours: `python -m benchmarks.peers.drivers.ours 2 experiment=gorila game=Pong …`, a run of `pipeline.train` as it is.

Its rows are read while it writes them. SIGTERM ends the run too. The run's folder is below the one that this is started
in, which whoever starts it removes, however it ends.
Not here: settings (`benchmarks.peers.contenders`).
"""

import csv
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.peers.progress import Progress, say

FRAMES_PER_STEP = 4
_LOOK_EVERY_SECONDS = 0.25


def main() -> None:
    """Train until somebody ends it. Words: how many roles play, then settings."""
    num_roles, *settings = sys.argv[1:]
    # Python's own way to go on SIGTERM passes by everything below.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with tempfile.TemporaryDirectory(dir=os.getcwd(), ignore_cleanup_errors=True) as folder:
        words = [*settings, f"results_dir={folder}", "progress=none"]
        training = subprocess.Popen([sys.executable, "-m", "pipeline.train", *words], stdout=sys.stderr)
        rows = NewRows()
        try:
            while training.poll() is None:
                for file in Path(folder).rglob("updates.csv"):
                    with file.open(encoding="utf-8", newline="") as opened:
                        for row in rows.of(opened.read()):
                            say(as_progress(row, int(num_roles)))
                time.sleep(_LOOK_EVERY_SECONDS)
        finally:
            training.terminate()
            training.wait()
        raise SystemExit(training.returncode or "the run came to its end")


class NewRows:
    """Rows of a CSV file that grows, each once."""

    def __init__(self) -> None:
        self._num_told = 0

    def of(self, text: str) -> Sequence[Mapping[str, str]]:
        """Those that were not there before. `text` is the whole file, whose last line may be half written."""
        whole, _, _ = text.rpartition("\n")
        rows = list(csv.DictReader(whole.splitlines()))
        new = rows[self._num_told :]
        self._num_told = len(rows)
        return new


def as_progress(row: Mapping[str, str], num_roles: int) -> Progress:
    """Of an UpdateRow or an ActorCriticUpdateRow: `total_frames` are a role's own times the number of roles."""
    return Progress(
        seconds=float(row["wall_seconds"]),
        steps=int(row["total_frames"]) // (FRAMES_PER_STEP * num_roles),
        updates=int(row["version"]),
        role=row["role"],
    )


if __name__ == "__main__":
    main()
