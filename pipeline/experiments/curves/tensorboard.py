"""A run's curves as TensorBoard's event files, in its own folder.

    <run folder>/tensorboard/<role>/events.out.tfevents.*       one of TensorBoard's "runs" for each role
                            /evaluations/events.out.tfevents.*  with the settings, for its page of hyper-parameters

A folder for each source, because TensorBoard's server takes a step that is not above the one before, in the same curve,
for a training that went back, and hides what was there. So of two games of a role that ended at the same frames it
draws one; the files have both. What is drawn is what the run has rows of: where it goes on from a checkpoint, and its
newer rows are set aside, their points are purged.
Not here: which points (`pipeline.experiments.curves.scalars`), what happens when this fails
(`pipeline.experiments.curves.loggers`).
"""

import math
import shutil
import statistics
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from torch.utils.tensorboard import SummaryWriter
from torch.utils.tensorboard.summary import hparams

from pipeline.config.run_config import RunConfig
from pipeline.experiments.curves.logger import LoggedRun
from pipeline.experiments.curves.rows_of_roles import RowsOfRole, rows_of_roles
from pipeline.experiments.curves.scalars import EVALUATIONS, SCORE, Scalar
from pipeline.rows import CHECKPOINT
from pipeline.settings import as_settings, flat, is_of_the_course

FOLDER = "tensorboard"
"""Name inside a run folder."""

MEAN_OF_GAMES = "episodes/mean_score_100"
"""Curve of the mean score of a role's last hundred training games, or of as many as there were."""

_NUM_GAMES = 100
_PREFIX = "events.out.tfevents."
_PAUSE_SECONDS = 0.05
_FLUSH_SECONDS = 10
"""How late a point may be seen. Ours: TensorBoard looks every 30 s by itself."""


class TensorBoardLogger:
    """Frames are the steps."""

    def __init__(self, run: LoggedRun, rows: Mapping[str, RowsOfRole] | None = None) -> None:
        """Begins anew, without the files of before, unless the run goes on: then from `rows`, all that it had."""
        self._run = run
        self._folder = run.folder / FOLDER
        self._started_at = run.started_at
        self._goes_on = run.goes_on
        self._writers: dict[str, SummaryWriter] = {}
        self._games: dict[str, deque[float]] = {}
        if not run.goes_on:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(exist_ok=True)
        self._rows = rows
        if self._rows is not None:
            # A role may have no point any more, and its old ones go all the same.
            for source in [entry.name for entry in self._folder.iterdir() if entry.name != EVALUATIONS]:
                self._writers[source] = self._open(source, math.inf)
        if not (self._folder / EVALUATIONS).exists():
            self._writers[EVALUATIONS] = self._open(EVALUATIONS, 0)
            _write_settings(self._writers[EVALUATIONS], run.config)

    def log(self, points: Sequence[Scalar]) -> None:
        """Add points to the files of their sources."""
        for source in dict.fromkeys(point.source for point in points if point.source not in self._writers):
            if self._rows is None and self._goes_on:
                self._rows = rows_of_roles(self._run.folder)
            first = min(point.frames for point in points if point.source == source)
            self._writers[source] = self._open(source, first)
        for point in points:
            self._add(point)
            if point.tag == SCORE:
                games = self._games.setdefault(point.source, deque(maxlen=_NUM_GAMES))
                games.append(point.value)
                self._add(point._replace(tag=MEAN_OF_GAMES, value=statistics.fmean(games)))

    def close(self) -> None:
        """Close the files. What comes afterwards goes into new ones, and replaces what was drawn beyond its start."""
        for writer in self._writers.values():
            writer.close()
        self._writers.clear()
        self._games.clear()
        self._rows = None
        self._goes_on = True

    def _add(self, point: Scalar) -> None:
        clock = self._started_at + point.wall_seconds
        self._writers[point.source].add_scalar(point.tag, point.value, point.frames, walltime=clock)

    def _open(self, source: str, first_frames: float) -> SummaryWriter:
        # What was logged between the checkpoint and the end of an earlier start is played anew, and is not drawn twice.
        # Evaluations stay: they are of parameters of the past, in no order, and rows of them are never set aside.
        purge_step = None
        if self._goes_on and source != EVALUATIONS:
            purge_step = self._first_purged(source, first_frames)
        folder = self._folder / source
        # TensorBoard reads the files of a folder in the order of their names, which begin with the second; within one,
        # what follows is a count without leading zeros, and the tenth file would be read before the ninth.
        while any(file.name.startswith(f"{_PREFIX}{int(time.time()):010d}") for file in folder.glob("*")):
            time.sleep(_PAUSE_SECONDS)
        return SummaryWriter(str(folder), purge_step=purge_step, flush_secs=_FLUSH_SECONDS)

    def _first_purged(self, source: str, first_frames: float) -> int:
        """The step from which on old points go: behind the last row that the role has before its `first_frames`."""
        if self._rows is None:
            return int(first_frames)
        rows = self._rows.get(source, RowsOfRole([], []))
        kept = [score for frames, score in rows.games if frames < first_frames]
        self._games[source] = deque(kept, maxlen=_NUM_GAMES)
        return max((frames for frames in rows.frames if frames < first_frames), default=-1) + 1


def _write_settings(writer: SummaryWriter, config: RunConfig) -> None:
    """The settings that make the agent, and what it is worth: the mean of its final evaluation, once it is there."""
    own = [pair for pair in flat(as_settings(config)) if not is_of_the_course(pair[0])]
    metric = f"{EVALUATIONS}/{config.evaluation.protocol}/{CHECKPOINT}"
    assert writer.file_writer is not None  # made with the writer
    for summary in _of_hyper_parameters({name: _as_hyper_parameter(value) for name, value in own}, metric):
        writer.file_writer.add_summary(summary)


def _of_hyper_parameters(values: Mapping[str, float | str | bool], metric: str) -> Iterable[object]:
    described, started, _ = hparams(dict(values), {metric: 0.0})
    return described, started


def _as_hyper_parameter(value: object) -> float | str | bool:
    return value if isinstance(value, bool | int | float | str) else "null" if value is None else str(value)
