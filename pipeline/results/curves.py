"""Learning curves of one game: training scores of one or several runs, with their evaluations, as one figure.

Dots are single training episodes, lines their rolling mean; circles are evaluation means with their 95 % interval.
Training scores are played with the exploration of training: compare them with each other, not with published scores.
Not here: loading (`pipeline.results.load`), the table of scores (`pipeline.results.table`).
"""

from pathlib import Path
from typing import Literal, NamedTuple

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pipeline.results.load import LoadedRuns
from pipeline.results.scores import mean_interval

ROLLING_EPISODES = 100
"""Window of the rolling mean; the first episodes are averaged over as many as there are."""

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Okabe and Ito 2008, told apart by colour-blind readers; one per experiment, then again from the front."""

LINES = ("-", "--", ":", "-.")
"""One per seed of an experiment, then again from the front."""

_LEGEND_TITLE = f"line: mean of {ROLLING_EPISODES} training episodes; circle: mean of an evaluation, 95 % interval"

HorizontalAxis = Literal["frames", "hours", "updates"]


class _Axis(NamedTuple):
    column: str
    per_unit: float
    label: str


_AXES: dict[HorizontalAxis, _Axis] = {
    "frames": _Axis("total_frames", 1e6, "emulator frames (millions)"),
    "hours": _Axis("wall_seconds", 3600.0, "wall time since the run's start (hours)"),
    "updates": _Axis("version", 1e3, "parameter updates (thousands)"),
}


def learning_curves(loaded: LoadedRuns, game: str, *, x: HorizontalAxis = "frames", title: str | None = None) -> Figure:
    """Episode score of every run of `game` against frames, wall hours or updates; one colour an experiment.

    A run without finished episodes appears in no curve. The figure belongs to no window: save it with `savefig`.
    """
    axis = _AXES[x]
    figure = Figure(figsize=(8.0, 5.5), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    episodes = loaded.episodes[loaded.episodes["game"] == game]
    evaluations = loaded.evaluations[
        (loaded.evaluations["game"] == game) & (loaded.evaluations["agent"] == "checkpoint")
    ]
    runs = sorted({*_runs_of(episodes), *_runs_of(evaluations)})
    experiments = sorted({experiment for experiment, _ in runs})
    for experiment, seed in runs:
        seeds = [other for name, other in runs if name == experiment]
        colour = COLOURS[experiments.index(experiment) % len(COLOURS)]
        line = LINES[seeds.index(seed) % len(LINES)]
        label = f"{experiment}, seed {seed}"
        _draw_episodes(axes, _of_run(episodes, experiment, seed), axis, colour, line, label)
        _draw_evaluations(axes, _of_run(evaluations, experiment, seed), axis, colour, label)
    axes.set_title(title if title is not None else _title(game, runs))
    axes.set_xlabel(axis.label)
    axes.set_ylabel("score of an episode (points)")
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    if axes.get_legend_handles_labels()[0]:
        figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize="small", title=_LEGEND_TITLE)
    return figure


def save_learning_curves(
    loaded: LoadedRuns, game: str, path: Path, *, x: HorizontalAxis = "frames", title: str | None = None
) -> None:
    """Write `learning_curves` to `path`; the suffix gives the format (.png, .svg, .pdf)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    learning_curves(loaded, game, x=x, title=title).savefig(path)


def _draw_episodes(axes: Axes, episodes: pd.DataFrame, axis: _Axis, colour: str, line: str, label: str) -> None:
    if episodes.empty:
        return
    # Bundles report in turn: in the file, the order of their episodes is not that of frames.
    ordered = episodes.sort_values(axis.column, kind="stable")
    position = ordered[axis.column] / axis.per_unit
    axes.plot(position, ordered["score"], ".", color=colour, markersize=2, alpha=0.2, rasterized=True)
    rolling = ordered["score"].rolling(ROLLING_EPISODES, min_periods=1).mean()
    axes.plot(position, rolling, line, color=colour, linewidth=1.8, label=label)


def _draw_evaluations(axes: Axes, evaluations: pd.DataFrame, axis: _Axis, colour: str, label: str) -> None:
    for protocol, played in evaluations.groupby("protocol", sort=True):
        # One point per evaluation, where its parameters stood when its first game was over.
        points = [
            (games[axis.column].min() / axis.per_unit, mean_interval(games["score"]))
            for _, games in played.groupby("version", sort=True)
        ]
        axes.errorbar(
            [position for position, _ in points],
            [score.mean for _, score in points],
            # A single game has no interval (NaN), and no bar is drawn.
            yerr=[[score.mean - score.low for _, score in points], [score.high - score.mean for _, score in points]],
            fmt="o",
            color=colour,
            markerfacecolor="white",
            capsize=3,
            zorder=3,
            label=f"{label}: {protocol}",
        )


def _runs_of(rows: pd.DataFrame) -> list[tuple[str, int]]:
    pairs = rows[["experiment", "seed"]].drop_duplicates()
    return [(str(experiment), int(seed)) for experiment, seed in zip(pairs["experiment"], pairs["seed"], strict=True)]


def _of_run(rows: pd.DataFrame, experiment: str, seed: int) -> pd.DataFrame:
    return rows[(rows["experiment"] == experiment) & (rows["seed"] == seed)]


def _title(game: str, runs: list[tuple[str, int]]) -> str:
    seeds = sorted({seed for _, seed in runs})
    return f"{game}: {', '.join(sorted({name for name, _ in runs}))}; seed{'s' if len(seeds) != 1 else ''} " + (
        ", ".join(map(str, seeds)) or "none"
    )
