"""A run's curves as TensorBoard's event files, in its own folder.

    <run folder>/tensorboard/<role>/events.out.tfevents.*       one of TensorBoard's "runs" for each role
                            /evaluations/events.out.tfevents.*

A folder for each source, because TensorBoard's server takes a step that is not above the one before, in the same curve,
for a training that went back, and hides what was there. So of two games of a role that ended at the same frames it
draws one; the files have both.
Not here: which points (`pipeline.experiments.curves.scalars`), what happens when this fails
(`pipeline.experiments.curves.loggers`).
"""

import shutil
import time
from collections.abc import Sequence

from torch.utils.tensorboard import SummaryWriter

from pipeline.experiments.curves.logger import LoggedRun
from pipeline.experiments.curves.scalars import EVALUATIONS, Scalar

FOLDER = "tensorboard"
"""Name inside a run folder."""

_PREFIX = "events.out.tfevents."
_PAUSE_SECONDS = 0.05
_FLUSH_SECONDS = 10
"""How late a point may be seen. Ours: TensorBoard looks every 30 s by itself."""


class TensorBoardLogger:
    """Frames are the steps."""

    def __init__(self, run: LoggedRun) -> None:
        """Begins anew, without the files of before, unless the run goes on."""
        self._folder = run.folder / FOLDER
        self._started_at = run.started_at
        self._goes_on = run.goes_on
        self._writers: dict[str, SummaryWriter] = {}
        if not run.goes_on:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(exist_ok=True)

    def log(self, points: Sequence[Scalar]) -> None:
        """Add points to the files of their sources."""
        for source in dict.fromkeys(point.source for point in points if point.source not in self._writers):
            first = min(point.frames for point in points if point.source == source)
            self._writers[source] = self._open(source, first)
        for point in points:
            self._writers[point.source].add_scalar(
                point.tag, point.value, point.frames, walltime=self._started_at + point.wall_seconds
            )

    def close(self) -> None:
        """Close the files. What comes afterwards goes into new ones, and replaces what was drawn beyond its start."""
        for writer in self._writers.values():
            writer.close()
        self._writers.clear()
        self._goes_on = True

    def _open(self, source: str, first_frames: int) -> SummaryWriter:
        # What was logged between the checkpoint and the end of an earlier start is played anew, and is not drawn twice.
        # Evaluations stay: they are of parameters of the past, in no order, and rows of them are never set aside.
        replaces = self._goes_on and source != EVALUATIONS
        folder = self._folder / source
        # TensorBoard reads the files of a folder in the order of their names, which begin with the second; within one,
        # what follows is a count without leading zeros, and the tenth file would be read before the ninth.
        while any(file.name.startswith(f"{_PREFIX}{int(time.time()):010d}") for file in folder.glob("*")):
            time.sleep(_PAUSE_SECONDS)
        return SummaryWriter(str(folder), purge_step=first_frames if replaces else None, flush_secs=_FLUSH_SECONDS)
