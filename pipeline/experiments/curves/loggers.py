"""Other tools that draw a run's curves while it goes, or once it is over: TensorBoard, MLflow, Weights & Biases.

    rows, as they are written -> points (`pipeline.experiments.curves.scalars`) -> each tool that `logging` names

The run folder is what counts: a tool that fails is left out with one warning, and the run goes on without it. None is
waited for while the run goes on.
Each tool has a module of its own, imported when it is asked for; its packages are an extra of the project.
Not here: the rows' own files (`pipeline.experiments.files.run_folder`), what a user sees on the terminal
(`pipeline.experiments.progress`).
"""

import contextlib
import datetime
import importlib.util
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.config.run_config import LOGGING_TOOLS, MLFLOW, TENSORBOARD, WANDB
from pipeline.config.words import no_such
from pipeline.envs.episodes import never
from pipeline.errors import ConfigError, PipelineError, RunFolderError, in_words
from pipeline.experiments.curves.logger import LoggedRun, Logger
from pipeline.experiments.curves.rows_of_roles import RowsOfRole, rows_of_roles
from pipeline.experiments.curves.scalars import scalars
from pipeline.experiments.curves.tool_thread import ToolThread
from pipeline.experiments.files import run_lock
from pipeline.experiments.files.saved_config import config_anywhere
from pipeline.extras import how_to_install
from pipeline.rows import ActorCriticUpdateRow, EpisodeRow, EvaluationRow, Row, UpdateRow
from pipeline.run_folders import CONFIG
from pipeline.settings import several

if TYPE_CHECKING:
    from pipeline.results.load import LoadedRuns

_PACKAGES = {TENSORBOARD: ("tensorboard",), MLFLOW: ("mlflow", "sqlalchemy", "alembic"), WANDB: ("wandb",)}
"""Tool, which is also the name of the extra in `pyproject.toml` -> what it imports."""


def check_installed(tools: Iterable[str]) -> None:
    """Raise ConfigError, naming what to install, for all tools that could not be used here."""
    missing = {
        tool: [package for package in _PACKAGES[tool] if importlib.util.find_spec(package) is None] for tool in tools
    }
    mistakes = [
        f"logging={tool}: not installed here: {', '.join(packages)}: {how_to_install(tool)}"
        for tool, packages in missing.items()
        if packages
    ]
    if mistakes:
        raise ConfigError(mistakes)


class Loggers:
    """All tools of one run; none of them can end it, or hold it up."""

    def __init__(
        self,
        tools: Iterable[str],
        say: Callable[[str], None],
        patience_seconds: float = 60.0,
        hurried_seconds: float = 5.0,
    ) -> None:
        """`say` gets one sentence, once, about each tool that fails, or that is not done so long after the end.

        `hurried_seconds`: in place of it, for a user who is in a hurry.
        """
        self._tools = tuple(tools)
        self._say = say
        self._patience_seconds = patience_seconds
        self._hurried_seconds = hurried_seconds
        self._open: list[ToolThread] = []

    def open(self, run: LoggedRun) -> None:
        """Make the tools ready, before the first row of this start is written."""
        for tool in self._tools:
            give_up = partial(self._give_up, tool)
            try:
                # Here: in the tool's thread they would be those, too, that roles have written since.
                rows = rows_of_roles(run.folder) if run.goes_on and tool == TENSORBOARD else None
                self._open.append(ToolThread(tool, partial(_open, tool, run, rows), give_up))
            except Exception as error:  # as in its thread
                give_up(error)

    def see(self, rows: Sequence[Row]) -> None:
        """Pass on rows that have been written. All games of an evaluation come at once."""
        if points := scalars(rows) if self._open else []:
            for tool in self._open:
                tool.give(points)

    def went_back(self) -> None:
        """Have the tools write what they hold. Rows of a time before may follow."""
        for tool in self._open:
            tool.flush()

    def close(self, has_hurry: Callable[[], bool] = never) -> None:
        """Have the tools write what they hold, and let go of them. All have the same time, side by side."""
        open_ones, self._open = self._open, []
        begun = time.monotonic()

        def goes_on() -> bool:
            return time.monotonic() - begun < (self._hurried_seconds if has_hurry() else self._patience_seconds)

        for tool in open_ones:
            tool.end()
        for tool in open_ones:
            tool.wait(goes_on)

    def _give_up(self, tool: str, error: Exception) -> None:
        self._say(
            f"warning: logging={tool} failed and gets nothing more: {in_words(error)}. The run goes on, and its own "
            "files have everything"
        )


def log_run(folder: Path, tools: Sequence[str]) -> None:
    """Give a run that is over, or its rows so far, to `tools`, from its first row on; what they held of it is replaced.

    Raises ConfigError for a tool that is unknown or not installed, RunFolderError for a folder that is of no run, or of
    one under way, PipelineError with what a tool failed of.
    """
    folder, tools = Path(folder), several(tools)
    if unknown := [tool for tool in tools if tool not in LOGGING_TOOLS]:
        raise ConfigError([no_such("tool", tool, tool, LOGGING_TOOLS) for tool in unknown])
    check_installed(tools)
    # pandas, for runs that are over alone
    from pipeline.results.load import load_run

    loaded = load_run(folder)
    started_at = _started_at(loaded)
    run = LoggedRun(config_anywhere(folder), folder, started_at, goes_on=False)
    points = scalars(_rows_of(loaded))
    # A training that is under way writes to the same places. Where nothing may be written, none of ours is.
    own = folder / CONFIG
    with run_lock.hold(own) if os.access(own, os.W_OK) else contextlib.nullcontext():
        for tool in tools:
            try:
                with contextlib.closing(_open(tool, run, is_waited_for=True)) as logger:
                    logger.log(points)
            except Exception as error:
                raise PipelineError(f"{folder}: {tool} failed: {in_words(error)}") from error


def seconds_since_1970(started_at: str) -> float:
    """Of a time as `run.json` has it."""
    return datetime.datetime.fromisoformat(started_at).timestamp()


def _open(
    tool: str, run: LoggedRun, rows: Mapping[str, RowsOfRole] | None = None, *, is_waited_for: bool = False
) -> Logger:
    if tool == TENSORBOARD:
        from pipeline.experiments.curves.tensorboard import TensorBoardLogger

        return TensorBoardLogger(run, rows)
    if tool == WANDB:
        # Before the first import, which would report its own errors to its makers.
        os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
        from pipeline.experiments.curves.wandb import WandbLogger

        return WandbLogger(run, finish_seconds=0.0) if is_waited_for else WandbLogger(run)
    # As above: MLflow would report its use.
    os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
    from pipeline.experiments.curves.mlflow import MlflowLogger

    return MlflowLogger(run)


def _started_at(loaded: "LoadedRuns") -> float:
    (run,) = loaded.runs.to_dict("records")
    if not isinstance(run["started_at"], str):
        raise RunFolderError(f"{run['folder']}: run.json does not say when the run started")
    return seconds_since_1970(run["started_at"])


def _rows_of(loaded: "LoadedRuns") -> list[Row]:
    """Rows again, in order of frames: a file has them as they came, with those of several roles in turn."""
    from pipeline.results.load import RUN_KEYS

    frames: Mapping[Any, Any] = {
        EpisodeRow: loaded.episodes,
        UpdateRow: loaded.updates,
        ActorCriticUpdateRow: loaded.actor_critic_updates,
        EvaluationRow: loaded.evaluations,
    }
    return [
        row_type(**record)
        for row_type, frame in frames.items()
        for record in frame.drop(columns=list(RUN_KEYS)).sort_values("total_frames", kind="stable").to_dict("records")
    ]
