"""What a run leaves behind, as a value. Not here: its files (`pipeline.experiments.files`)."""

from pathlib import Path
from typing import NamedTuple

from pipeline.results.scores import MeanInterval


class RunResult(NamedTuple):
    """What a run leaves behind."""

    folder: Path | None
    """None when only the plan was asked for."""
    end_reason: str
    """"budget", "score", "interrupted" or "plan"."""
    total_frames: int = 0
    """Emulator frames of all roles since the run first began."""
    score: MeanInterval | None = None
    """Of the last parameters in the final evaluation, with its 95 % interval over games; None without one."""
