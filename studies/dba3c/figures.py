"""Figures of what was measured of DBA3C, one function each; they take the rows of results/dba3c/ as DataFrames.

Dots are single runs, lines join the medians of runs that are alike. Where a figure shows simulated values, it says so.
Times and speeds of different days do not compare: where runs of several commits stand in one figure, panels of these
have those of one commit alone.
Not here: measuring (`studies.dba3c.shards`, `.stragglers`, `.learning`, `.scaling`), figures of
the simulation (`studies.dba3c.simulation_figures`), how figures look (`pipeline.results.style`).
"""

import math
from collections.abc import Sequence
from itertools import chain

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from measuring.markdown import commits_cell
from pipeline.results.style import COLOURS, FAINT, LINES, STYLE
from studies.dba3c.learning_cases import (
    ADAM_CASES,
    HIDDEN_LAYER_CASES,
    LARGE_HIDDEN_LAYER_CASES,
    LARGE_MODEL_CASES,
    MODEL_CASES,
    SETTINGS_CASES,
    SYNC_CASES,
    WORKER_CASES,
    hidden_layer_cases,
)

MANY_WORKERS_SUFFIX = "_32"
"""Of a network of MODEL_CASES, as `studies.dba3c.simulation` has it with the authors' 32 steps a gradient."""
GOAL_SCORE = 8.0
"""Points of Breakout, several times those of random play (1.5): where the time to a score ends."""


@matplotlib.rc_context(STYLE)
def shards_figure(runs: pd.DataFrame) -> Figure:
    """Data points per second over the number of parameter shards; `runs` are ShardsRows."""
    figure, (axes,) = _panels(1)
    for index, (network, of_network) in enumerate(runs.groupby("network", sort=False)):
        for line, (place, alike) in zip(LINES, of_network.groupby("shards", sort=False), strict=False):
            label = f"{network} ({alike['num_parameters'].iloc[0]:,} parameters), shards {place}"
            _medians(axes, alike, "num_shards", "data_points_per_second", COLOURS[index], line, label)
    axes.set_xscale("log", base=2)
    whole_ticks(axes, runs["num_shards"])
    _show_zero(axes)
    axes.set_xlabel("parameter shards")
    axes.set_ylabel("data points per second")
    num_workers = int(runs["num_workers"].iloc[0])
    axes.set_title(f"{runs['game'].iloc[0]}: {num_workers} synchronous workers in processes, measured")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", fontsize="small")
    return figure


@matplotlib.rc_context(STYLE)
def stragglers_figure(runs: pd.DataFrame) -> Figure:
    """Time per update and data points per second over backup workers, a line for each delay; StragglersRows."""
    figure, (times, rates) = _panels(2)
    for index, (distribution, alike) in enumerate(runs.groupby("distribution", sort=False)):
        delay = alike["mean_delay_seconds"].median()
        label = "no straggler" if delay == 0 else f"one straggler, {distribution} delay of {delay * 1e3:.0f} ms"
        in_ms = alike.assign(update_ms=alike["seconds_per_update"] * 1e3)
        _medians(times, in_ms, "num_backup_workers", "update_ms", COLOURS[index], "-", label)
        _medians(rates, alike, "num_backup_workers", "data_points_per_second", COLOURS[index], "-", label)
    for axes, label in ((times, "time per update (ms)"), (rates, "data points per second")):
        whole_ticks(axes, runs["num_backup_workers"])
        _show_zero(axes)
        axes.set_xlabel("backup workers b")
        axes.set_ylabel(label)
    num_started = int((runs["num_workers"] + runs["num_backup_workers"]).iloc[0])
    figure.suptitle(
        f"{num_started} workers in threads on {int(runs['num_cores'].iloc[0])} cores, "
        f"updates of the first {num_started} - b gradients, measured"
    )
    figure.legend(*times.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize="small")
    return figure


@matplotlib.rc_context(STYLE)
def settings_figure(runs: pd.DataFrame) -> Figure:
    """Final score and data points per second with each setting of step size and batch; LearningRows."""
    figure, (scores, rates) = _panels(2)
    compared = of_one_commit(_of(runs, SETTINGS_CASES))
    for index, case in enumerate(SETTINGS_CASES):
        for axes, rows, column in (
            (scores, runs, "evaluation_mean"),
            (rates, compared, "data_points_per_second"),
        ):
            alike = rows[rows["case"] == case].assign(place=index)
            _medians(axes, alike, "place", column, COLOURS[index], "", case)
    rates.set_title(runs_of_commit(compared["run_commit"]), fontsize="medium")
    for axes, label in ((scores, "score of the final evaluation (points)"), (rates, "data points per second")):
        axes.set_xticks(range(len(SETTINGS_CASES)), SETTINGS_CASES)
        _show_zero(axes)
        axes.set_ylabel(label)
    figure.suptitle(
        f"{runs['game'].iloc[0]}: step size and batch after {int(runs['frames'].min()):,} frames, measured"
        f"{_diverged(_of(runs, SETTINGS_CASES))}"
    )
    return figure


@matplotlib.rc_context(STYLE)
def models_figure(rounds: pd.DataFrame, simulated: pd.DataFrame, runs: pd.DataFrame) -> Figure:
    """Data points per second and the score after equal steps, over the number of parameters of the authors' networks.

    `rounds` are ScalingRows, for speeds of different days do not compare; `simulated` are SimulationRows of one number
    of workers and servers; `runs` are LearningRows.
    """
    figure, (rates, many, scores) = _panels(3)
    for axes, rows, suffix, column in (
        (rates, rounds, "", "two"),
        (many, simulated, MANY_WORKERS_SUFFIX, "data_points_per_second"),
    ):
        for index, network in enumerate(MODEL_CASES):
            alike = _in_millions(rows[rows["network"] == network + suffix])
            _medians(axes, alike, "millions", column, COLOURS[index], "-", f"network={network}")
        axes.set_ylabel("data points per second")
    for colour, cases, line in zip(COLOURS[len(MODEL_CASES) :], (MODEL_CASES, LARGE_MODEL_CASES), LINES, strict=False):
        alike = _in_millions(_of(runs, cases))
        update = alike["num_workers"].iloc[0] * alike["batch_size"].iloc[0]
        label = f"{alike['frames'].iloc[0]:,} frames, updates of {update} steps"
        _medians(scores, alike, "millions", "evaluation_mean", colour, line, label)
    scores.set_ylabel("score of the final evaluation (points)")
    rates.set_title(f"Measured: {rounds['game'].iloc[0]}, colours, 2 workers, in turn", fontsize="medium")
    many.set_title(
        f"Simulated: {simulated['num_workers'].iloc[0]} workers, {simulated['num_servers'].iloc[0]} servers, "
        f"{simulated['batch_size'].iloc[0]} steps",
        fontsize="medium",
    )
    scores.set_title(f"Measured: {runs['game'].iloc[0]}, grey", fontsize="medium")
    for axes in (rates, many, scores):
        _show_zero(axes)
        axes.set_xlim(left=0)
        axes.set_xlabel("parameters (millions)")
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 0.1), fontsize="small")
    figure.suptitle(f"The authors' two networks{_diverged(_of(runs, (*MODEL_CASES, *LARGE_MODEL_CASES)))}")
    return figure


@matplotlib.rc_context(STYLE)
def hidden_layer_figure(runs: pd.DataFrame) -> Figure:
    """The final score after equal steps over the number of parameters, a line for each activation; LearningRows.

    The networks differ in their hidden layer only; the authors' two are the smaller one without an activation and the
    larger one with PReLU. A panel has updates of one size.
    """
    figure, panels = _panels(2)
    for axes, cases_of in zip(panels, (HIDDEN_LAYER_CASES, LARGE_HIDDEN_LAYER_CASES), strict=True):
        for index, (activation, cases) in enumerate(cases_of.items()):
            rows = _in_millions(_of(runs, cases))
            _medians(axes, rows, "millions", "evaluation_mean", COLOURS[index], LINES[index], activation)
        alike = _of(runs, list(chain(*cases_of.values())))
        update = alike["num_workers"].iloc[0] * alike["batch_size"].iloc[0]
        axes.set_title(f"{alike['frames'].iloc[0]:,} frames, updates of {update} steps", fontsize="medium")
        _show_zero(axes)
        axes.set_xlim(left=0)
        axes.set_xlabel("parameters (millions): 128 or 512 hidden units")
        axes.set_ylabel("score of the final evaluation (points)")
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 0.1), fontsize="small")
    chosen = _of(runs, hidden_layer_cases())
    figure.suptitle(
        f"{chosen['game'].iloc[0]}, grey: the hidden layer behind the authors' convolutions, measured"
        f"{_diverged(chosen)}"
    )
    return figure


@matplotlib.rc_context(STYLE)
def workers_figure(curves: pd.DataFrame, runs: pd.DataFrame) -> Figure:
    """Minutes and updates to a score over the number of workers, beside the ideal; CurveRows and LearningRows.

    A median over runs of which half never got there is none.
    """
    figure, (minutes, updates) = _panels(2)
    times = times_to_goal(curves, runs)
    compared = of_one_commit(_of(runs, WORKER_CASES))
    minutes.set_title(runs_of_commit(compared["run_commit"]), fontsize="medium")
    num_cores = int(runs["num_cores"].iloc[0])
    for axes, rows, column, label in (
        (minutes, times_to_goal(curves, compared), "minutes", "minutes"),
        (updates, times, "updates", "server updates"),
    ):
        axes.plot(rows["num_workers"], rows[column].replace(math.inf, math.nan), ".", color=COLOURS[0], alpha=0.4)
        medians = rows.groupby("num_workers")[column].median().replace(math.inf, math.nan).dropna()
        axes.plot(medians.index, medians, "o-", color=COLOURS[0], label="measured")
        if len(medians):
            numbers = np.array(medians.index, dtype=float)
            # Workers beyond the cores cannot make it faster; of updates fewer are needed all the same.
            useful = np.minimum(numbers, num_cores) if column == "minutes" else numbers
            ideal = medians.iloc[0] * useful[0] / useful
            axes.plot(numbers, ideal, ":", color=FAINT, label=f"ideal, from {numbers[0]:.0f} worker(s)")
        whole_ticks(axes, times["num_workers"])
        _show_zero(axes)
        axes.set_xlabel("workers")
        axes.set_ylabel(label)
        axes.legend(fontsize="small")
    figure.suptitle(
        f"{runs['game'].iloc[0]}: until 100 training games have a mean of {GOAL_SCORE:g}, "
        f"on {num_cores} cores, measured; arrived: {arrivals(times)}"
    )
    return figure


def times_to_goal(curves: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """A row a run of WORKER_CASES: game, num_workers, minutes and updates to GOAL_SCORE, commit.

    Minutes and updates are infinite where a run never got there.
    """
    chosen = _of(runs, WORKER_CASES)
    above = _of(curves, WORKER_CASES)
    above = above[above["score"] >= GOAL_SCORE]
    first = above.groupby(["case", "seed"], as_index=False)[["wall_seconds", "steps"]].min()
    times = chosen.merge(first, "left", ["case", "seed"], suffixes=("", "_to_goal"))
    return pd.DataFrame(
        {
            "game": times["game"],
            "num_workers": times["num_workers"],
            "minutes": (times["wall_seconds_to_goal"] / 60).fillna(math.inf),
            "updates": (times["steps"] / (times["num_workers"] * times["batch_size"])).fillna(math.inf),
            "commit": times["run_commit"],
        }
    )


def arrivals(times: pd.DataFrame) -> str:
    """How many of the runs of `times_to_goal` got there, in words."""
    return ", ".join(
        f"{np.isfinite(alike['minutes']).sum()} of {len(alike)} with {number}"
        for number, alike in times.groupby("num_workers")
    )


def whole_ticks(axes: Axes, values: pd.Series) -> None:
    """A tick at each of the whole numbers `values`, and none between them."""
    ticks = sorted(set(values))
    axes.set_xticks(ticks, [str(int(tick)) for tick in ticks])
    axes.minorticks_off()


@matplotlib.rc_context(STYLE)
def sync_figure(curves: pd.DataFrame, runs: pd.DataFrame) -> Figure:
    """Score of synchronous and asynchronous training over steps and over time; CurveRows and LearningRows."""
    return _curves(
        curves, runs, SYNC_CASES, "synchronous updates (base: 40 steps, steps_10: 20) and asynchronous ones (20 steps)"
    )


@matplotlib.rc_context(STYLE)
def adam_figure(curves: pd.DataFrame, runs: pd.DataFrame) -> Figure:
    """Score with the paper's and the usual betas of Adam at a large effective batch; CurveRows and LearningRows."""
    return _curves(curves, runs, ADAM_CASES, "Adam's betas at an effective batch of 640")


def of_one_commit(rows: pd.DataFrame, what: str = "case", commit: str = "run_commit") -> pd.DataFrame:
    """Rows of the commit that has the most different values in column `what`, of several the one that came last."""
    counts = rows.sort_index().groupby(commit, sort=False)[what].nunique()
    chosen: pd.DataFrame = rows[rows[commit] == counts.iloc[::-1].idxmax()]
    return chosen


def runs_of_commit(commits: "pd.Series[str]") -> str:
    """The title of a panel of what `of_one_commit` chose; "+": files differed from it."""
    return f"runs of {commits_cell(commits)}"


def _curves(curves: pd.DataFrame, runs: pd.DataFrame, cases: Sequence[str], title: str) -> Figure:
    figure, panels = _panels(2)
    compared = of_one_commit(_of(runs, cases))
    keys = set(zip(compared["case"], compared["seed"], strict=True))
    for index, (case, alike) in enumerate(_of(curves, cases).groupby("case", sort=False)):
        for line, (seed, run) in zip(LINES, alike.groupby("seed", sort=True), strict=False):
            label = f"{case}, seed {seed}"
            times = (run["steps"] / 1e6, run["wall_seconds"] / 60)
            for axes, time in zip(panels, times if (case, seed) in keys else times[:1], strict=False):
                axes.plot(time, run["score"], line, color=COLOURS[index], linewidth=1.5, label=label)
    panels[0].set_xlabel("agent steps (millions)")
    panels[1].set_xlabel("wall time (minutes)")
    panels[1].set_title(runs_of_commit(compared["run_commit"]), fontsize="medium")
    for axes in panels:
        axes.set_ylabel("mean of 100 training games (points)")
    figure.suptitle(f"{curves['game'].iloc[0]}: {title}, measured")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize="small")
    return figure


def _panels(count: int) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(5.5 * count + 1.0, 4.2), layout="constrained")
    return figure, list(figure.subplots(1, count, squeeze=False)[0])


def _of(rows: pd.DataFrame, cases: Sequence[str]) -> pd.DataFrame:
    return pd.concat([rows[rows["case"] == case] for case in cases])


def _in_millions(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.assign(millions=rows["num_parameters"] / 1e6)


def _diverged(runs: pd.DataFrame) -> str:
    """Behind a title: the runs of which there is no score."""
    counts = runs[runs["end_reason"] != "budget"].groupby("case", sort=False).size()
    return "".join(f"; {count} of {case} diverged" for case, count in counts.items())


def _medians(axes: Axes, rows: pd.DataFrame, x: str, y: str, colour: str, line: str, label: str) -> None:
    # Hollow points belong to a line that is not solid.
    inside = colour if line == "-" else "white"
    axes.plot(rows[x], rows[y], "o", markersize=3.5, color=colour, markerfacecolor=inside, alpha=0.6)
    medians = rows.groupby(x)[y].median()
    axes.plot(medians.index, medians, f"o{line}", color=colour, markerfacecolor=inside, label=label)


def _show_zero(axes: Axes) -> None:
    """So that differences look as large as they are, with a margin that leaves all points whole."""
    axes.axhline(0.0, color=FAINT, linewidth=0.8)
