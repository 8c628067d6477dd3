"""A run's settings and curves for Weights & Biases, as files below its folder. Nothing is sent unless the user asks.

    <run folder>/wandb/offline-run-<time>-<id>/run-<id>.wandb     metric <tag>/<role>, drawn against `frames`

`wandb sync <run folder>/wandb/offline-run-*` sends them, or WANDB_MODE=online in the environment of the training does
it at once. A run that goes on writes another file for the same id. What it plays again is there twice, since the
service takes nothing back.
Not here: which points (`pipeline.experiments.curves.scalars`), what happens when this fails
(`pipeline.experiments.curves.loggers`).
"""

import itertools
import os
import shutil
import time
from collections.abc import Sequence
from typing import Any

import wandb

from pipeline.experiments.curves.logger import LoggedRun
from pipeline.experiments.curves.scalars import EVALUATIONS, Scalar
from pipeline.settings import as_settings, flat

FOLDER = "wandb"
"""Name inside a run folder."""

PROJECT = "pipeline"
"""What the service would call all runs together; WANDB_PROJECT in the environment says otherwise."""

FRAMES = "frames"
"""Metric that the others are drawn against."""

FINISH_SECONDS = 45.0
"""For what is to be sent at the end; less than a run waits for a tool. Ours."""

_SECONDS = "training_seconds"
_PAUSE_SECONDS = 0.05


class WandbLogger:
    """One run of theirs for a run of ours, in a file for each start."""

    def __init__(self, run: LoggedRun, finish_seconds: float = FINISH_SECONDS) -> None:
        """Begins anew, without the files of before, unless the run goes on. `finish_seconds`: to send all; 0: any."""
        self._logged = run
        self._finish_seconds = finish_seconds
        self._goes_on = run.goes_on
        if not run.goes_on:
            shutil.rmtree(run.folder / FOLDER, ignore_errors=True)
        self._run: Any = self._begin()

    def log(self, points: Sequence[Scalar]) -> None:
        """Add points, those of one row together."""
        if self._run is None:
            self._run = self._begin()
        for (source, frames, seconds), of_row in itertools.groupby(points, _row_of):
            named = {point.tag if source == EVALUATIONS else f"{point.tag}/{source}": point.value for point in of_row}
            self._run.log({FRAMES: frames, _SECONDS: seconds, **named})

    def close(self) -> None:
        """Write everything, and end the file."""
        if self._run is not None:
            self._run.finish()
            self._run = None
            self._goes_on = True

    def _begin(self) -> Any:
        config = self._logged.config
        # A file is called by its second, and another start would write into the one that is there.
        while any((self._logged.folder / FOLDER).glob(f"*{time.strftime('%Y%m%d_%H%M%S')}*")):
            time.sleep(_PAUSE_SECONDS)
        run = wandb.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT),
            group=config.experiment,
            name=f"{config.game}/{config.seed}",
            id=f"{config.experiment}-{config.game}-{config.seed}-{self._logged.started_at:.0f}",
            dir=self._logged.folder,
            # Else the service takes what it has of this id for another run's, and puts this file in its place.
            resume="allow" if self._goes_on else None,
            config=dict(flat(as_settings(config))),
            mode=_mode(),
            settings=_settings(self._finish_seconds),
        )
        run.define_metric(FRAMES)
        run.define_metric("*", step_metric=FRAMES)
        return run


def _settings(finish_seconds: float) -> wandb.Settings:
    settings = wandb.Settings(
        console="off",
        silent=True,
        reinit="create_new",
        disable_git=True,
        disable_code=True,
        disable_job_creation=True,
        x_disable_stats=True,
        x_disable_meta=True,
        x_disable_machine_info=True,
    )
    # Else a program would not end before all is sent, over a lost network never. Older ones have no such setting.
    if "finish_timeout" in wandb.Settings.model_fields:
        settings.finish_timeout = finish_seconds
        settings.finish_timeout_raises = True
    return settings


def _mode() -> Any:
    """Offline unless the environment says otherwise."""
    return os.environ.get("WANDB_MODE", "offline")


def _row_of(point: Scalar) -> tuple[str, int, float]:
    return point.source, point.frames, point.wall_seconds
