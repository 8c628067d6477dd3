"""Whole runs of a benchmark as rows of CSV files: what each came to, and its curve of a hundred points.

Not here: figures of a run folder's own rows (`pipeline.results.curves`), on which processor a run may be gone on with
(`studies.trained_on`), what is compared (`studies.quick_agents`, `.dba3c.learning`).
"""

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console

from measuring.processor import processor_here
from pipeline import api
from pipeline.config.run_config import RunConfig
from pipeline.errors import DivergedError, PipelineError
from pipeline.results.load import LoadedRuns
from pipeline.results.run_frames import run_frames
from pipeline.results.run_scores import LAST, run_scores
from studies import trained_on
from studies.row_file import RowFile

FIRST_GORILA_QUICK = (
    "network=nature",
    "algorithm.exploration.decay_share=null",
    "algorithm.exploration.decay_updates=8_000",
    "algorithm.outlier_min_error=0",
)
"""Of `gorila_quick` and those made after it, when the rows of `optimizer_sweep` and `quick_agents` were measured."""
LAST_EPISODES = 100
_FIRST_EPISODES = 20
"""Fewer games have no mean on a curve yet."""
_NUM_POINTS = 100
"""Of a curve."""
_RUN = ("case", "seed", "game", "frames")
"""Columns that tell one curve from another."""


@dataclass(frozen=True)
class TrainedRow:
    """One run."""

    case: str
    seed: int
    game: str
    frames: int
    """Emulator frames that the run was to make."""
    num_updates: int
    training_mean: float
    """Score of the last 100 training games, at the exploration of training."""
    evaluation_mean: float
    """Score of the last parameters, which nobody chose, under the experiment's final protocol; NaN of a run that
    diverged."""
    evaluation_low: float
    """95 % interval over its games."""
    evaluation_high: float
    evaluation_episodes: int
    wall_seconds: float
    """Of training."""
    run_commit: str
    """Of the code that trained; "+" if files differed from it."""


@dataclass(frozen=True)
class CurveRow:
    """One point of the curve of one run."""

    case: str
    seed: int
    game: str
    frames: int
    """That the run was to make."""
    steps: int
    """Agent steps of all workers."""
    wall_seconds: float
    score: float
    """Mean of the last 100 training games before."""


def curve(episodes: pd.DataFrame, mean_frame_skip: float) -> list[tuple[int, float, float]]:
    """(agent steps, wall seconds, mean score of the last 100 games) at the ends of about a hundred games, evenly."""
    # Workers report in turn: in the file, the order of their games is not that of time.
    ordered = episodes.assign(total_frames=run_frames(episodes)).sort_values("wall_seconds", kind="stable")
    means = ordered["score"].rolling(LAST_EPISODES, min_periods=_FIRST_EPISODES).mean().to_numpy()
    first = _FIRST_EPISODES - 1
    if len(ordered) <= first:
        return []
    kept = np.unique(np.linspace(first, len(ordered) - 1, _NUM_POINTS).astype(int))
    steps = (ordered["total_frames"].to_numpy()[kept] / mean_frame_skip).round().astype(int)
    seconds = ordered["wall_seconds"].to_numpy()[kept]
    return [(int(a), float(b), float(c)) for a, b, c in zip(steps, seconds, means[kept], strict=True)]


def train_or_load(config: RunConfig) -> LoadedRuns:
    """The rows of a run that is made, gone on with (`resume=true`), or only read if its folder is done.

    Ends the program if the run ends before its frames are made, or was trained on another kind of processor than this:
    it has no row.
    """
    processor = processor_here(config.precision)
    trained_on.note(config.folder, processor, begins=config.overwrite)
    # Standard output is for figures.
    result = api.train(config, Console(stderr=True))
    trained_on.check_hosts(config.folder, processor)
    assert result.folder is not None
    loaded = api.load_run(result.folder)
    num_frames = int(loaded.runs["total_frames"].iloc[0])
    if result.end_reason != "budget" or num_frames < (config.budget.frames or 0):
        raise SystemExit(
            f"{result.folder} ended with {num_frames:,} of its {config.budget.frames:,} frames ({result.end_reason}): "
            "it has no row"
        )
    return loaded


def train_until_it_diverges(config: RunConfig) -> tuple[LoadedRuns, bool]:
    """As `train_or_load`, and whether the run diverged: then its rows until then.

    Settings that do are a finding; made again, such a run would be rolled until it survives.
    """
    try:
        return train_or_load(config), False
    except PipelineError as error:
        # What a role raises is the cause of what ends the run.
        if not isinstance(error, DivergedError) and not isinstance(error.__cause__, DivergedError):
            raise
        print(error, file=sys.stderr)
        trained_on.check_hosts(config.folder, processor_here(config.precision))
        return api.load_run(config.folder), True


def trained_row(loaded: LoadedRuns, case: str, config: RunConfig) -> TrainedRow:
    """What the run `loaded` came to."""
    # An evaluation of each end that an interrupted run had may be there: the newest counts.
    scores = run_scores(loaded)
    (score,) = scores[(scores["agent"] == LAST) & (scores["protocol"] == config.evaluation.protocol)].to_dict("records")
    return TrainedRow(
        case=case,
        seed=config.seed,
        game=config.game,
        frames=config.budget.frames or 0,
        num_updates=int(score["version"]),
        training_mean=training_mean(loaded),
        evaluation_mean=score["score"],
        evaluation_low=score["low"],
        evaluation_high=score["high"],
        evaluation_episodes=int(score["episodes"]),
        wall_seconds=float(loaded.runs["wall_seconds"].iloc[0]),
        run_commit=str(loaded.runs["commit"].iloc[0]),
    )


def diverged_row(loaded: LoadedRuns, case: str, config: RunConfig) -> TrainedRow:
    """What the run `loaded` had come to when it diverged."""
    updates = loaded.actor_critic_updates if loaded.updates.empty else loaded.updates
    return TrainedRow(
        case=case,
        seed=config.seed,
        game=config.game,
        frames=config.budget.frames or 0,
        num_updates=int(updates["version"].max()) if len(updates) else 0,
        training_mean=training_mean(loaded),
        evaluation_mean=math.nan,
        evaluation_low=math.nan,
        evaluation_high=math.nan,
        evaluation_episodes=0,
        wall_seconds=float(updates["wall_seconds"].max()) if len(updates) else 0.0,
        run_commit=str(loaded.runs["commit"].iloc[0]),
    )


def training_mean(loaded: LoadedRuns, num_episodes: int = LAST_EPISODES) -> float:
    """Score of the last training games of a run, in the order in which they ended."""
    return float(loaded.episodes.sort_values("wall_seconds", kind="stable")["score"].tail(num_episodes).mean())


class CurvesFile(RowFile[CurveRow]):
    """Curves, to be `put`: a run that is made once more has one. All of one kind of processor."""

    def __init__(self, path: Path, renamed: Mapping[str, str] | None = None) -> None:
        super().__init__(path, CurveRow, _RUN, renamed, one_processor_within=())

    def put(self, *rows: CurveRow) -> None:
        """As a RowFile. Raises ValueError as `frame` does."""
        self._in_time(pd.DataFrame(rows, columns=self._columns))
        super().put(*rows)

    def frame(self) -> pd.DataFrame:
        """All points. Raises ValueError if the time of a run falls: code made it that has games in another order."""
        return self._in_time(super().frame())

    def _in_time(self, points: pd.DataFrame) -> pd.DataFrame:
        for run, of_run in points.groupby(list(_RUN), sort=False):
            if (of_run["wall_seconds"].diff() < 0).any():
                raise ValueError(f"{self._path}: the time of {run} falls along its curve; make it anew, or take it out")
        return points


def curve_rows(loaded: LoadedRuns, row: TrainedRow, config: RunConfig) -> list[CurveRow]:
    """The curve of the run that became `row`."""
    points = curve(loaded.episodes, config.environment.mean_frame_skip)
    return [CurveRow(row.case, row.seed, row.game, row.frames, *point) for point in points]
