"""Figures of what was simulated and measured; they take SimulationRows and GrowthRows as DataFrames.

Not here: tables (`studies.gorila_growth.tables`).
"""

from collections.abc import Mapping

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from measuring.markdown import counted
from pipeline.results.published import load_published
from pipeline.results.style import COLOURS, FAINT, STYLE
from studies.gorila_growth.grid import BUNDLES, CHECK

FIGURE_NAMES = ("prediction", "bundles", "published")
_RATE = "steps_per_second"
_MARKERS = ("s", "o", "^", "D")
_COMPARED_SHARDS = 16
SYNCHRONOUS = "impala_horovod_gym"


def figures_of(simulated: pd.DataFrame, real: pd.DataFrame) -> Mapping[str, Figure]:
    """Those that there are rows for, by their names."""
    bundles = simulated[simulated["study"] == BUNDLES]
    figures = {}
    if len(real[real["study"] == BUNDLES]):
        figures["prediction"] = prediction_figure(simulated[simulated["study"] == CHECK], real)
    if len(bundles):
        figures["bundles"] = bundles_figure(bundles)
    compared = bundles[bundles["num_shards"] == _COMPARED_SHARDS]
    if len(compared):
        figures["published"] = published_figure(compared)
    return figures


@matplotlib.rc_context(STYLE)
def prediction_figure(simulated: pd.DataFrame, real: pd.DataFrame) -> Figure:
    """Measured and simulated agent steps per second of the same bundles on this machine."""
    figure, (axes,) = _panels(1)
    for index, (cluster, alike) in enumerate(simulated.groupby("cluster", sort=False)):
        runs = real[(real["study"] == BUNDLES) & (real["cluster"] == cluster)]
        axes.plot(runs["num_roles"], runs[_RATE], "o", color=COLOURS[index], markersize=3.5, alpha=0.4)
        medians = runs.groupby("num_roles")[_RATE].median()
        axes.plot(medians.index, medians, "o-", color=COLOURS[index], label=f"measured, {cluster}")
        axes.plot(alike["num_bundles"], alike[_RATE], "s--", color=COLOURS[index], label=f"simulated, {cluster}")
    _ticks(axes, simulated["num_bundles"])
    axes.set_ylim(bottom=0)
    axes.set_ylabel("agent steps per second")
    axes.set_title(f"Measured and simulated: {simulated['num_shards'].iloc[0]} shards, one machine")
    axes.legend()
    return figure


@matplotlib.rc_context(STYLE)
def bundles_figure(rows: pd.DataFrame) -> Figure:
    """Agent steps per second and staleness over the bundles, a line for each number of shards."""
    figure, (rates, ages) = _panels(2)
    # Numbers of shards with one or two sizes are for a table.
    drawn = rows.groupby("num_shards").filter(lambda alike: len(alike) > 2)
    for index, (count, alike) in enumerate(drawn.groupby("num_shards")):
        ordered = alike.sort_values("num_bundles")
        line, label = f"{_MARKERS[index % len(_MARKERS)]}--", counted(int(str(count)), "shard")
        for axes, column in ((rates, _RATE), (ages, "mean_staleness")):
            points = ordered["num_bundles"], ordered[column]
            axes.plot(*points, line, color=COLOURS[index], markerfacecolor="none", label=label)
        if index == 0:
            ideal = ordered[_RATE].iloc[0] * ordered["num_bundles"] / ordered["num_bundles"].iloc[0]
            rates.plot(ordered["num_bundles"], ideal, ":", color=FAINT, label="ideal")
            limit = ordered["staleness_per_bundle"] * ordered["num_bundles"]
            ages.plot(ordered["num_bundles"], limit, ":", color=FAINT, label="limit")
    for axes in (rates, ages):
        axes.set_yscale("log")
        _ticks(axes, drawn["num_bundles"])
        axes.legend(fontsize="small")
    ages.set_yscale("symlog", linthresh=1.0)
    rates.set_ylabel("agent steps per second")
    ages.set_ylabel("mean staleness of gradients (versions)")
    figure.suptitle("Simulated: Gorila, a core for each bundle and each shard, 10 Gbit/s")
    return figure


@matplotlib.rc_context(STYLE)
def published_figure(rows: pd.DataFrame) -> Figure:
    """Share of the ideal speed over the learners: of rows with one number of shards, and published."""
    figure, (axes,) = _panels(1)
    alike = rows.sort_values("num_bundles")
    share = alike[_RATE] / alike["num_bundles"] / (alike[_RATE] / alike["num_bundles"]).iloc[0]
    axes.plot(
        alike["num_bundles"], share, "s--", color=COLOURS[0], label=f"Gorila, {_COMPARED_SHARDS} shards, simulated"
    )
    published = load_published("scaling")
    curve = published.loc[[SYNCHRONOUS]]
    axes.plot(curve["num"], curve["efficiency"], "o-", color=COLOURS[1], label=f"{SYNCHRONOUS}: GPUs, all-reduce")
    points = published.loc[["DBA3C"]]
    axes.plot(points["num"], points["efficiency"], "^", color=COLOURS[2], label="DBA3C: times to a score")
    _ticks(axes, alike["num_bundles"])
    axes.set_ylim(bottom=0)
    axes.set_xlabel("bundles, or times the machines of the smallest")
    axes.set_ylabel("share of the ideal speed")
    axes.set_title("Growth beside published systems; each against its own smallest")
    axes.legend(fontsize="small")
    return figure


def _panels(count: int) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(5.5 * count + 1.5, 4.4), layout="constrained")
    panels = list(figure.subplots(1, count, squeeze=False)[0])
    for axes in panels:
        axes.set_xlabel("bundles")
    return figure, panels


def _ticks(axes: Axes, values: pd.Series) -> None:
    axes.set_xscale("log", base=2)
    ticks = sorted(set(values))
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.minorticks_off()
