"""A trained agent's scores beside the random player's, as a row of a CSV file.

Not here: the training itself and its curve (`studies.trained_runs`), what is compared (`studies.centred_pixels`,
`.six_minutes`).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console

from measuring.processor import processor_here
from pipeline import api
from pipeline.algorithms.config import ActorCriticConfig
from pipeline.results.cautions import living_filters
from pipeline.results.formats import interval_cell
from pipeline.results.load import LoadedRuns
from pipeline.results.protocols import NOOP_STARTS
from pipeline.results.random_player import BELOW, YES, is_above, of_starts, random_scores
from pipeline.results.run_scores import SAMPLED, entries, run_scores
from studies.row_file import RowFile
from studies.trained_runs import train_or_load

GREEDY, DRAWN, RANDOM = "greedy", "drawn", "random"
"""Ways to play, each three columns of a row."""
_NO_SCORE = {"score": math.nan, "low": math.nan, "high": math.nan}


@dataclass(frozen=True)
class ScoredRow:
    """One run, whose last parameters played 30 games in each way under no-op starts."""

    case: str
    game: str
    seed: int
    frames: int
    """Emulator frames of its training."""
    active_filters: float
    """Share of the first convolution's filters that still learned at its end; NaN for a Q-learner."""
    greedy: float
    """Score by the best action."""
    greedy_low: float
    """95 % interval over its games."""
    greedy_high: float
    drawn: float
    """The same with actions drawn from the policy; NaN for a Q-learner, which has none."""
    drawn_low: float
    drawn_high: float
    random: float
    """Our random player's."""
    random_low: float
    random_high: float
    processor: str
    """Instructions and precision of the training."""
    run_commit: str
    """Of the code that trained; "+" if files differed from it."""


def row_file(path: Path, *, alike: tuple[str, ...]) -> RowFile[ScoredRow]:
    """What is in it; a run is told by its case, game and seed. Runs with these in common are of one processor."""
    return RowFile(path, ScoredRow, ("case", "game", "seed"), one_processor_within=alike)


def train_and_score(case: str, words: Sequence[str]) -> ScoredRow:
    """Train with these settings, or go on, and play in each way that the agent has.

    Ends the program if the run ends before its budget, or was trained on another processor than this: it has no row.
    """
    config = api.compose([*words, "resume=true"])
    loaded = train_or_load(config)
    if isinstance(config.algorithm, ActorCriticConfig):
        folder = Path(loaded.runs["folder"].item())
        drawn = api.EvaluationRequest((folder,), settings=("evaluation.policy=sampled",))
        api.evaluate_runs(drawn, Console(stderr=True))
        loaded = api.load_run(folder)
    return scored_row(loaded, case, processor_here(config.precision))


def scored_row(loaded: LoadedRuns, case: str, processor: str) -> ScoredRow:
    """Of one run that is done; `processor`: what trained it."""
    run = loaded.runs.iloc[0]
    of = entries(run_scores(loaded))
    (random,) = of_starts(random_scores(loaded), NOOP_STARTS).to_dict("records")
    filters = living_filters(loaded)
    return ScoredRow(
        case=case,
        game=str(run["game"]),
        seed=int(run["seed"]),
        frames=int(run["total_frames"]),
        active_filters=float(filters.item()) if len(filters) else math.nan,
        **_columns(GREEDY, _only(of[run["experiment"]])),
        **_columns(DRAWN, _only(of.get(f"{run['experiment']}, {SAMPLED}"))),
        **_columns(RANDOM, {**random, "score": random["mean"]}),
        processor=processor,
        run_commit=str(run["commit"]),
    )


def score_cell(row: Mapping[Any, Any], way: str) -> str:
    """The score of a ScoredRow with its interval; it says so where that is apart from the random player's."""
    if math.isnan(row[way]):
        return ""
    low, high = row[f"{way}_low"], row[f"{way}_high"]
    where = place(row, way)
    return interval_cell(row[way], low, high, 1) + {YES: ", above", BELOW: ", below"}.get(where, "")


def place(row: Mapping[Any, Any], way: str) -> str:
    """Where it is to the random player: one of `pipeline.results.random_player`'s words."""
    return is_above(row[f"{way}_low"], row[f"{way}_high"], {"low": row["random_low"], "high": row["random_high"]})


def _only(rows: pd.DataFrame | None) -> Mapping[Any, Any]:
    return _NO_SCORE if rows is None else rows.iloc[0].to_dict()


def _columns(way: str, score: Mapping[Any, Any]) -> dict[str, float]:
    return {way: float(score["score"]), f"{way}_low": float(score["low"]), f"{way}_high": float(score["high"])}
