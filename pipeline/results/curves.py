"""Learning curves of one game: training scores of one or several runs, with their evaluations, as one figure.

Dots are single training episodes, lines their rolling mean; symbols are evaluation means with their 95 % interval,
another one for each protocol.
Training scores are played with the exploration of training: compare them with each other, not with published scores.
Not here: loading (`pipeline.results.load`), the table of scores (`pipeline.results.table`).
"""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pipeline.games import check_game
from pipeline.results.drawn_runs import DrawnRun, drawn_runs, keys_of
from pipeline.results.load import LoadedRuns
from pipeline.results.scores import FloatArray, seed_interval
from pipeline.results.seed_bands import far_enough, seed_band
from pipeline.results.style import FAINT, LINES, NAMES_STYLE, PAPER, legend_label, save_figure

ROLLING_EPISODES = 100
"""Window of the rolling mean; the first episodes are averaged over as many as there are."""

_LEGEND_TITLE = (
    f"line: mean of {ROLLING_EPISODES} training episodes; band: lowest to highest seed; "
    "symbol: mean of an evaluation, with 95 % interval where it stands alone"
)

_LEGEND_COLUMNS = 3
"""Of panels."""

_MAX_POINTS = 250
"""Of a line among panels: as many as can be told apart there."""

HorizontalAxis = Literal["frames", "hours", "updates"]

_Place = Literal["lower center", "outside lower center"]


class _Axis(NamedTuple):
    column: str
    per_unit: float
    label: str


_AXES: dict[HorizontalAxis, _Axis] = {
    "frames": _Axis("total_frames", 1e6, "emulator frames (millions)"),
    "updates": _Axis("version", 1e3, "parameter updates (thousands)"),
    "hours": _Axis("wall_seconds", 3600.0, "wall time since the run's start (hours)"),
}


class Curve(NamedTuple):
    """Something to compare with, that is none of ours."""

    label: str
    frames: FloatArray
    """(N,) emulator frames."""
    scores: FloatArray
    """(N,) points."""


@matplotlib.rc_context(NAMES_STYLE)
def learning_curves(loaded: LoadedRuns, game: str, *, x: HorizontalAxis = "frames", title: str | None = None) -> Figure:
    """Episode score of every run of `game` against frames, wall hours or updates; one colour an experiment.

    A run without finished episodes appears in no curve. The figure belongs to no window: save it with `savefig`.
    Raises ConfigError for no game.
    """
    check_game(game)
    figure = Figure(figsize=(8.0, 5.5), layout="constrained")
    axes = figure.add_subplot()
    for run in drawn_runs(loaded, game):
        _draw_dots(axes, run, _AXES[x])
        _draw_mean(axes, run, _AXES[x])
        _draw_evaluations(axes, run, _AXES[x])
    axes.set_title(title if title is not None else _title(loaded, game))
    _finish(figure, [axes], [_AXES[x]], loc="outside lower center", ncols=2)
    return figure


@matplotlib.rc_context(NAMES_STYLE)
def learning_panels(loaded: LoadedRuns, game: str, beside: Sequence[Curve] = (), *, with_seeds: bool = False) -> Figure:
    """The same three times side by side, against frames, updates and hours; rolling means without dots.

    Several seeds of an experiment are one line, their mean, with their range; `with_seeds` adds a thin line for each.
    Curves `beside` ours are grey, against frames only, and as far as ours go.
    """
    runs = drawn_runs(loaded, game)
    experiments = {run.experiment: [one for one in runs if one.experiment == run.experiment] for run in runs}
    # Room for a legend of a line and some symbols an experiment, in inches. Worked out here: a layout engine takes as
    # long as the drawing, and a report has one such figure for each of 49 games.
    symbols = {(run.experiment, played) for run in runs for played in run.evaluations["played"].unique()}
    rows = -(-(len(experiments) + len(symbols) + len(beside)) // _LEGEND_COLUMNS)
    legend = 0.3 + 0.2 * rows if runs else 0.0
    height = 3.8 + legend
    figure = Figure(figsize=(11.0, height))
    panels = list(figure.subplots(1, 3, sharey=True))
    figure.subplots_adjust(left=0.08, right=0.99, top=1 - 0.4 / height, bottom=(0.6 + legend) / height, wspace=0.08)
    for axes, axis in zip(panels, _AXES.values(), strict=True):
        for of_experiment in experiments.values():
            if len(of_experiment) > 1:
                _draw_band(axes, of_experiment, axis, with_seeds=with_seeds)
                _draw_evaluations_of_seeds(axes, of_experiment, axis)
            else:
                _draw_mean(axes, of_experiment[0], axis, max_points=_MAX_POINTS)
                _draw_evaluations(axes, of_experiment[0], axis)
    _draw_beside(panels[0], runs, beside)
    figure.suptitle(_title(loaded, game), y=1 - 0.1 / height, va="top")
    _finish(figure, panels, list(_AXES.values()), loc="lower center", ncols=_LEGEND_COLUMNS)
    return figure


def save_learning_curves(
    loaded: LoadedRuns, game: str, path: Path, *, x: HorizontalAxis = "frames", title: str | None = None
) -> None:
    """Write `learning_curves` to `path`; the suffix gives the format (.png, .svg, .pdf)."""
    save_figure(learning_curves(loaded, game, x=x, title=title), path)


def _finish(figure: Figure, panels: list[Axes], axes_of_panels: list[_Axis], *, loc: _Place, ncols: int) -> None:
    for axes, axis in zip(panels, axes_of_panels, strict=True):
        axes.set_xlabel(axis.label)
    panels[0].set_ylabel("score of an episode (points)")
    if panels[0].get_legend_handles_labels()[0]:
        figure.legend(
            *panels[0].get_legend_handles_labels(),
            loc=loc,
            ncols=ncols,
            fontsize="small",
            title=_LEGEND_TITLE,
        )


def _draw_dots(axes: Axes, run: DrawnRun, axis: _Axis) -> None:
    position = run.episodes[axis.column] / axis.per_unit
    axes.plot(position, run.episodes["score"], ".", color=run.colour, markersize=2, alpha=0.2, rasterized=True)


def _draw_mean(axes: Axes, run: DrawnRun, axis: _Axis, max_points: int | None = None) -> None:
    if run.episodes.empty:
        return
    axes.plot(*_rolling(run, axis, max_points), run.line, color=run.colour, linewidth=1.8, label=run.label)


def _draw_band(axes: Axes, runs: Sequence[DrawnRun], axis: _Axis, *, with_seeds: bool) -> None:
    """The mean over seeds of an experiment, and their range; a thin line for each not among them, or for all.

    Without a stretch that they have in common there are these lines alone.
    """
    played = [run for run in runs if len(run.episodes)]
    frames = [run.episodes["total_frames"].max() for run in played]
    belongs = far_enough(frames, [run.is_whole for run in played])
    among = [run for run, does in zip(played, belongs, strict=True) if does]
    band = seed_band([_rolling(run, axis, None) for run in among], _MAX_POINTS)
    of_all = f" of {len(played)}" if len(among) < len(played) else ""
    colour, label = runs[0].colour, legend_label(f"{runs[0].experiment}, {len(among)}{of_all} seeds")
    if band is not None:
        axes.plot(band.place, band.mean, runs[0].line_of_seeds, color=colour, linewidth=1.8, label=label)
        axes.fill_between(band.place, band.low, band.high, color=colour, alpha=0.2, linewidth=0)
    for number, (run, does) in enumerate(zip(played, belongs, strict=True)):
        if with_seeds or band is None or not does:
            own_label = label if band is None and number == 0 else "_nolegend_"
            place, mean = _rolling(run, axis, _MAX_POINTS)
            axes.plot(place, mean, run.line, color=colour, linewidth=0.7, alpha=0.7, label=own_label)


def _rolling(run: DrawnRun, axis: _Axis, max_points: int | None) -> tuple[FloatArray, FloatArray]:
    """Places and rolling means of a run's training episodes, thinned out to so many."""
    # Bundles report in turn: in the file, the order of their episodes is not that of frames.
    ordered = run.episodes.sort_values(axis.column, kind="stable")
    rolling = ordered["score"].rolling(ROLLING_EPISODES, min_periods=1).mean().to_numpy("float64")
    kept = np.linspace(0, len(rolling) - 1, min(len(rolling), max_points or len(rolling))).astype(int)
    return ordered[axis.column].to_numpy("float64")[kept] / axis.per_unit, rolling[kept]


def _draw_evaluations(axes: Axes, run: DrawnRun, axis: _Axis) -> None:
    for played, evaluations in run.evaluations.groupby("played", sort=True):
        # One point per evaluation, where its parameters stood when its first game was over.
        points = [
            (games[axis.column].min() / axis.per_unit, games["score"].mean(), *seed_interval(games["score"]))
            for _, games in evaluations.groupby("version", sort=True)
        ]
        position, mean, low, high = np.array(points).T
        axes.errorbar(
            position,
            mean,
            # A single game has no interval (NaN), and no bar is drawn.
            yerr=[mean - low, high - mean],
            fmt=run.markers[str(played)],
            color=run.colour,
            markerfacecolor=PAPER,
            capsize=3,
            zorder=3,
            label=f"{run.label}: {played}",
        )


def _draw_evaluations_of_seeds(axes: Axes, runs: Sequence[DrawnRun], axis: _Axis) -> None:
    """Small symbols without intervals: the seeds themselves show how far apart they are."""
    labelled = set()
    for run in runs:
        for (played, _), games in run.evaluations.groupby(["played", "version"], sort=True):
            label = "_nolegend_" if played in labelled else legend_label(f"{run.experiment}: {played}")
            labelled.add(played)
            point = games[axis.column].min() / axis.per_unit, games["score"].mean()
            axes.plot(
                *point, run.markers[str(played)], color=run.colour, markerfacecolor=PAPER, markersize=4, label=label
            )


def _draw_beside(axes: Axes, runs: Sequence[DrawnRun], beside: Sequence[Curve]) -> None:
    # Theirs may be a hundred times as long, and would leave a corner for ours.
    ours = [rows["total_frames"].max() for run in runs for rows in (run.episodes, run.evaluations) if len(rows)]
    last = max(ours, default=0)
    for line, curve in zip(itertools.cycle(LINES), beside, strict=False):
        shown = curve.frames <= last
        if shown.any():
            axes.plot(
                curve.frames[shown] / _AXES["frames"].per_unit,
                curve.scores[shown],
                line,
                color=FAINT,
                zorder=1,
                label=legend_label(curve.label),
            )


def _title(loaded: LoadedRuns, game: str) -> str:
    runs = {
        *keys_of(loaded.episodes[loaded.episodes["game"] == game]),
        *keys_of(loaded.evaluations[loaded.evaluations["game"] == game]),
    }
    seeds = sorted({seed for _, seed in runs})
    return f"{game}: {', '.join(sorted({name for name, _ in runs}))}; seed{'s' if len(seeds) != 1 else ''} " + (
        ", ".join(map(str, seeds)) or "none"
    )
