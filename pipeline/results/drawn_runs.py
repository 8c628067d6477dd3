"""The runs of one game as figures draw them: rows, colour, line and symbols of each.

Not here: the figures (`pipeline.results.curves`).
"""

import itertools
from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd

from pipeline.results.load import LoadedRuns
from pipeline.results.protocols import told_apart
from pipeline.results.run_frames import run_frames
from pipeline.results.run_scores import LAST, SAMPLED, TRAINING
from pipeline.results.style import LINES, legend_label, look

_MARKERS = "oD^sv"
_WHOLE = ("budget", "score")
"""Reasons why a run ended that had not been cut short."""


class DrawnRun(NamedTuple):
    """One run."""

    experiment: str
    is_whole: bool
    """It ended by its budget or at its score; another one goes on, or was cut short."""
    episodes: pd.DataFrame
    evaluations: pd.DataFrame
    """With a column `played`: what a legend says of how, which tells all ways of the figure apart."""
    colour: str
    line: str
    """Of its own curve: another for each seed, until all lines are there."""
    line_of_seeds: str
    """Of the mean over its experiment's seeds: beyond the sixth experiment colours come again, with another line."""
    label: str
    markers: Mapping[str, str]
    """In `played` -> its symbol, the same for all runs of a figure."""


def drawn_runs(loaded: LoadedRuns, game: str) -> list[DrawnRun]:
    """Those of a game, by experiment and seed."""
    episodes = loaded.episodes[loaded.episodes["game"] == game]
    evaluations = loaded.evaluations[
        # Not "best": that is one of these again.
        (loaded.evaluations["game"] == game) & loaded.evaluations["agent"].isin([TRAINING, LAST])
    ]
    evaluations = evaluations.assign(played=_played(evaluations))
    keys = sorted({*keys_of(episodes), *keys_of(evaluations)})
    experiments = sorted({experiment for experiment, _ in keys})
    markers = dict(zip(sorted(evaluations["played"].unique()), itertools.cycle(_MARKERS), strict=False))
    of_game = loaded.runs[(loaded.runs["game"] == game) & loaded.runs["end_reason"].isin(_WHOLE)]
    whole = set(keys_of(of_game))
    runs = []
    for experiment, seed in keys:
        line, colour = look(experiments.index(experiment))
        number = [other for name, other in keys if name == experiment].index(seed)
        own_line = LINES[(LINES.index(line) + number) % len(LINES)]
        played, rows = (_of_run(one, experiment, seed) for one in (episodes, evaluations))
        label = legend_label(f"{experiment}, seed {seed}")
        is_whole = (experiment, seed) in whole
        looks = colour, own_line, line, label, markers
        runs.append(DrawnRun(experiment, is_whole, _with_run_frames(played), rows, *looks))
    return runs


def _with_run_frames(episodes: pd.DataFrame) -> pd.DataFrame:
    return episodes.assign(total_frames=run_frames(episodes))


def _played(evaluations: pd.DataFrame) -> "pd.Series[str]":
    protocol = evaluations["protocol"]
    return told_apart(protocol.where(~evaluations["sampled"], protocol + f", {SAMPLED}"), evaluations)


def keys_of(rows: pd.DataFrame) -> list[tuple[str, int]]:
    """Experiment and seed of each run that has rows here."""
    pairs = rows[["experiment", "seed"]].drop_duplicates()
    return [(str(experiment), int(seed)) for experiment, seed in zip(pairs["experiment"], pairs["seed"], strict=True)]


def _of_run(rows: pd.DataFrame, experiment: str, seed: int) -> pd.DataFrame:
    return rows[(rows["experiment"] == experiment) & (rows["seed"] == seed)]
