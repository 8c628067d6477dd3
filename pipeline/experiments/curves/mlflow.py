"""A run's settings and curves in a local database of MLflow, one for all runs below a results folder.

    <results_dir>/mlflow.db     experiment <experiment>, run <game>/<seed>, metric <tag>/<role>, step = emulator frames

Nothing leaves the machine: there is no tracking server. (MLflow's other local store, a folder of text files, is no
longer developed, and refused by default.)
Not here: which points (`pipeline.experiments.curves.scalars`), what happens when this fails
(`pipeline.experiments.curves.loggers`).
"""

import contextlib
import re
import sqlite3
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from mlflow.entities import Metric, Param, RunStatus, RunTag
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient

from pipeline.config.run_config import RunConfig
from pipeline.experiments.curves.logger import LoggedRun
from pipeline.experiments.curves.scalars import EVALUATIONS, Scalar
from pipeline.run_folders import results_dir_of
from pipeline.settings import as_settings, flat

DATABASE = "mlflow.db"
"""Name inside the results folder."""

FOLDER_TAG = "run_folder"
"""Tag of each run of MLflow's: the absolute path of ours."""

_NO_SIGN = re.compile(r"[^/\w.\- :]")
"""Of those that MLflow has in names of metrics."""
_MOST_METRICS, _MOST_PARAMS = 1000, 100
"""That MLflow takes at once."""


class MlflowLogger:
    """One run in the database."""

    def __init__(self, run: LoggedRun) -> None:
        """Takes up the newest run of this folder if the run goes on and there is one; else begins a new one.

        Older ones of the folder are then marked as deleted, since it holds nothing of them any more.
        """
        results_dir = results_dir_of(run.folder)
        self._started_at = run.started_at
        _check_database(results_dir / DATABASE)
        self._client = MlflowClient(tracking_uri=f"sqlite:///{results_dir / DATABASE}")
        experiment = self._experiment(run.config.experiment, results_dir)
        folder = str(run.folder.resolve())
        # MLflow's filters have no escapes, and either kind of quotes.
        quote = '"' if "'" in folder else "'"
        there = self._client.search_runs(
            [experiment], f"tags.{FOLDER_TAG} = {quote}{folder}{quote}", order_by=["attributes.start_time DESC"]
        )
        if run.goes_on and there:
            self._run_id = there[0].info.run_id
        else:
            for old in there:
                self._client.delete_run(old.info.run_id)
            self._run_id = self._new_run(experiment, run.config, folder)
        self._client.update_run(self._run_id, RunStatus.to_string(RunStatus.RUNNING))

    def log(self, points: Sequence[Scalar]) -> None:
        """Add points. Those that a resumed run makes anew are added to those of before: MLflow takes nothing back."""
        metrics = (
            Metric(
                _name_of(point.tag if point.source == EVALUATIONS else f"{point.tag}/{point.source}"),
                point.value,
                round(1000 * (self._started_at + point.wall_seconds)),
                point.frames,
            )
            for point in points
        )
        while batch := list(islice(metrics, _MOST_METRICS)):
            self._client.log_batch(self._run_id, metrics=batch)

    def close(self) -> None:
        """Mark the run as finished."""
        self._client.set_terminated(self._run_id)

    def _experiment(self, name: str, results_dir: Path) -> str:
        find = self._client.get_experiment_by_name
        if (found := find(name)) is not None:
            return str(found.experiment_id)
        try:
            # Where files of a run would be put; nothing is, they are in the run folder.
            return str(self._client.create_experiment(name, artifact_location=(results_dir / name).as_uri()))
        except MlflowException:
            # Another run that began at the same moment has been faster.
            if (found := find(name)) is None:
                raise
            return str(found.experiment_id)

    def _new_run(self, experiment: str, config: RunConfig, folder: str) -> str:
        tags = {FOLDER_TAG: folder, "game": config.game, "seed": str(config.seed)}
        made = self._client.create_run(
            experiment, start_time=round(1000 * self._started_at), run_name=f"{config.game}/{config.seed}"
        )
        params = iter([Param(name, str(value)) for name, value in flat(as_settings(config))])
        while batch := list(islice(params, _MOST_PARAMS)):
            self._client.log_batch(made.info.run_id, params=batch)
        self._client.log_batch(made.info.run_id, tags=[RunTag(name, value) for name, value in tags.items()])
        return str(made.info.run_id)


def _name_of(tag: str) -> str:
    """A tag as MLflow takes it: "noop_starts (2)" as "noop_starts 2", and other signs as "_"."""
    return _NO_SIGN.sub("_", tag.replace("(", "").replace(")", ""))


def _check_database(path: Path) -> None:
    """Raise sqlite3.Error where no database can be: MLflow itself would try again and again, for minutes."""
    if "?" in str(path):
        raise sqlite3.OperationalError(f"{path}: MLflow cuts a path at its question mark; choose another results_dir")
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA schema_version")
