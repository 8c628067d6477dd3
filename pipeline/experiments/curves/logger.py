"""What a tool that draws a run's curves is told of the run, and what it has to do.

Not here: which tools there are (`pipeline.experiments.curves.loggers`), the points
(`pipeline.experiments.curves.scalars`).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from pipeline.config.run_config import RunConfig
from pipeline.experiments.curves.scalars import Scalar


class LoggedRun(NamedTuple):
    """What a tool is told of the run."""

    config: RunConfig
    folder: Path
    started_at: float
    """First start, in seconds since 1970: with training time on top, the clock of its points. Pauses between resumes do
    not count, so that a tool's own axis of time shows training time."""
    goes_on: bool
    """The tool may hold points of an earlier start, and gets more; else it begins anew."""


class Logger(Protocol):
    """What a tool has to do. Called by one thread at a time."""

    def log(self, points: Sequence[Scalar]) -> None:
        """Take points. Those of one source come in order of frames, except where the run went back before."""

    def close(self) -> None:
        """Hand everything to the disk. More points may come: the run has gone back to a checkpoint then."""
