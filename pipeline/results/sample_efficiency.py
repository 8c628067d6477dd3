"""How soon an experiment is good: the interquartile mean of normalised evaluations over frames, and over hours.

    our_points -> of each run the newest evaluation at each of some budgets -> IQM over games and runs, its interval

Agarwal et al. 2021, "Deep Reinforcement Learning at the Edge of the Statistical Precipice", section 4.3 and figure 8.
Not here: scores of finished runs (`pipeline.results.summary`), single games (`pipeline.results.curves`).
"""

from collections.abc import Mapping
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pipeline.games import ATARI49
from pipeline.results.aggregates import interquartile_mean, stratified_estimates
from pipeline.results.atari49 import counted_games
from pipeline.results.protocols import NOOP_STARTS, Starts
from pipeline.results.published import load_published
from pipeline.results.scores import FloatArray, normalised_score
from pipeline.results.style import NAMES_STYLE, look

AXES = {"frames": ("emulator frames (millions)", 1e6), "hours": ("wall time since the run's start (hours)", 1.0)}
"""Column of `our_points` -> label, and how much is one unit."""

COLUMNS = ("entry", "axis", "budget", "iqm", "low", "high", "games")
"""In percent; low and high NaN where a game has a single run."""

NUM_BUDGETS = 100
_NUM_RESAMPLES = 200


def efficiency(points: pd.DataFrame) -> pd.DataFrame:
    """One row per entry, axis and budget, with COLUMNS, of rows of `equal_frames.our_points`.

    Of those that were played like published scores, on the 49 games; and of runs that were evaluated twice at least, at
    budgets that all runs of the entry have reached.
    """
    comparable = points[(points["differs"] == "") & points["game"].isin(ATARI49)]
    rows: list[tuple[object, ...]] = []
    for entry, of_entry in comparable.groupby("entry", sort=True):
        runs = {key: run for key, run in of_entry.groupby(["game", "seed"], sort=True) if run["frames"].nunique() > 1}
        games = sorted({str(game) for game, _ in runs})
        for axis in AXES if runs else ():
            rows += [(entry, axis, *values, len(games)) for values in _curve(runs, games, axis)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def budgets_of(runs: list[FloatArray]) -> FloatArray:
    """Where all runs, each given by where it was evaluated, have a newest evaluation; empty if there is none."""
    first, last = max(run.min() for run in runs), min(run.max() for run in runs)
    return np.linspace(first, last, NUM_BUDGETS) if first < last else np.empty(0)


def newest(places: FloatArray, scores: FloatArray, budgets: FloatArray) -> FloatArray:
    """The score of the newest evaluation at each budget: places (N,), in any order, and scores (N,)."""
    order = np.argsort(places, kind="stable")
    return scores[order][np.searchsorted(places[order], budgets, side="right") - 1]


@matplotlib.rc_context(NAMES_STYLE)
def efficiency_figure(curves: pd.DataFrame, starts: Starts) -> Figure:
    """Rows of `efficiency`: a panel an axis, a line an entry."""
    figure = Figure(figsize=(10.0, 4.2), layout="constrained")
    entries = list(dict.fromkeys(curves["entry"]))
    panels = figure.subplots(1, len(AXES), sharey=True)
    for axes, (axis, (name, unit)) in zip(panels, AXES.items(), strict=True):
        for index, entry in enumerate(entries):
            rows = curves[(curves["entry"] == entry) & (curves["axis"] == axis)]
            if rows.empty:
                continue
            (line, colour), games = look(index), counted_games(range(int(rows["games"].iloc[0])))
            budget, label = rows["budget"] / unit, f"ours: {entry}, {games}"
            axes.step(budget, rows["iqm"], line, where="post", color=colour, label=label)
            axes.fill_between(budget, rows["low"], rows["high"], step="post", color=colour, alpha=0.2, linewidth=0)
        axes.set_xlabel(name)
    panels[0].set_ylabel("interquartile mean (% of the human)")
    figure.suptitle(f"Sample efficiency, {starts.name}; normalised by {starts.normalised_by.partition(',')[0]}")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize="small")
    return figure


def _curve(runs: Mapping[Any, pd.DataFrame], games: list[str], axis: str) -> list[tuple[float, float, float, float]]:
    places = {key: run[axis].to_numpy("float64") for key, run in runs.items()}
    budgets = budgets_of(list(places.values()))
    if not len(budgets):
        return []
    published = load_published().loc[games]
    ends = published[NOOP_STARTS.random].to_numpy("float64"), published[NOOP_STARTS.human].to_numpy("float64")
    of_game = [
        [newest(places[key], run["score"].to_numpy("float64"), budgets) for key, run in runs.items() if key[0] == game]
        for game in games
    ]
    matrix = np.full((max(map(len, of_game)), len(games), len(budgets)), np.nan)
    for column, curves in enumerate(of_game):
        matrix[: len(curves), column] = curves
    found = []
    for index, budget in enumerate(budgets):
        scores = normalised_score(matrix[:, :, index], *ends)
        estimates = stratified_estimates(scores, {"iqm": interquartile_mean}, num_resamples=_NUM_RESAMPLES)
        value, low, high = estimates["iqm"]
        found.append((float(budget), float(value), float(low), float(high)))
    return found
