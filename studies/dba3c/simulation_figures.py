"""Figures of what was simulated, one function each; they take the SimulationRows of one study as a DataFrame.

Not here: figures of what was measured alone (`studies.dba3c.figures`).
"""

import math

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pipeline.results.style import COLOURS, FAINT, STYLE
from studies.dba3c.figures import GOAL_SCORE, arrivals, whole_ticks

_RATE, _RATE_COLUMN = "data points per second", "data_points_per_second"
_MARKERS = ("s", "o", "^", "D", "v", "P")
_PANELS_IN_ROW = 3


@matplotlib.rc_context(STYLE)
def prediction_figure(rows: pd.DataFrame) -> Figure:
    """Measured and simulated data points per second of the same workers on this machine."""
    figure, axes = _panel()
    errors = []
    for index, (network, of_network) in enumerate(rows.groupby("network", sort=False)):
        rounds = of_network[of_network["source"] == "measured"]
        axes.plot(rounds["num_workers"], rounds[_RATE_COLUMN], "o", color=COLOURS[index], markersize=3.5, alpha=0.4)
        medians = of_network.groupby(["source", "num_workers"])[_RATE_COLUMN].median()
        for source, line in (("measured", "o-"), ("simulated", "s--")):
            axes.plot(medians[source].index, medians[source], line, color=COLOURS[index], label=f"{source}, {network}")
        errors += (medians["simulated"] / medians["measured"] - 1).tolist()
    whole_ticks(axes, rows["num_workers"])
    axes.set_ylim(bottom=0)
    axes.set_xlabel("workers")
    axes.set_title(
        f"Measured and simulated: {rows['num_servers'].iloc[0]} servers, "
        f"all on {rows['shared_cores'].max()} shared cores;\n"
        f"the simulation is {min(errors):+.0%} to {max(errors):+.0%} off"
    )
    axes.legend()
    return figure


@matplotlib.rc_context(STYLE)
def simulated_workers_figure(rows: pd.DataFrame) -> Figure:
    """Data points per second over the number of workers, with the ideal line of each network."""
    figure, axes = _panel()
    for index, (network, alike) in enumerate(rows.groupby("network", sort=False)):
        ordered = alike.sort_values("num_workers")
        workers, rates = ordered["num_workers"], ordered[_RATE_COLUMN]
        # Hollow, so that of two networks that are as fast both are seen.
        marker = _MARKERS[index % len(_MARKERS)]
        label = f"{network}, {_size(alike)}"
        axes.plot(workers, rates, f"{marker}--", color=COLOURS[index], markerfacecolor="none", label=label)
        axes.plot(workers, rates.iloc[0] * workers / workers.iloc[0], ":", color=FAINT)
    axes.plot([], [], ":", color=FAINT, label="ideal")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    whole_ticks(axes, rows["num_workers"])
    axes.set_xlabel("workers, a core each")
    axes.set_title(f"Simulated: {rows['num_servers'].iloc[0]} parameter servers, synchronous updates of all workers")
    axes.legend(fontsize="small")
    return figure


@matplotlib.rc_context(STYLE)
def time_to_score_figure(times: pd.DataFrame, rows: pd.DataFrame) -> Figure:
    """Minutes to a score: measured updates (`times_to_goal`) times simulated seconds of one, over the workers.

    A median over runs of which half never got there is none.
    """
    figure, axes = _panel()
    seconds = rows.set_index("num_workers")["seconds_per_update"]
    minutes = times["updates"] * times["num_workers"].map(seconds) / 60
    known = pd.DataFrame({"num_workers": times["num_workers"], "minutes": minutes})
    axes.plot(known["num_workers"], known["minutes"].replace(math.inf, math.nan), ".", color=COLOURS[0], alpha=0.4)
    medians = known.groupby("num_workers")["minutes"].median().replace(math.inf, math.nan).dropna()
    axes.plot(medians.index, medians, "s--", color=COLOURS[0], label="updates measured, seconds simulated")
    if len(medians):
        ideal = medians.iloc[0] * medians.index[0] / medians.index
        axes.plot(medians.index, ideal, ":", color=FAINT, label="ideal")
    whole_ticks(axes, times["num_workers"])
    axes.set_ylim(bottom=0)
    axes.set_xlabel("workers, a core each")
    axes.set_ylabel("minutes")
    axes.set_title(
        f"{times['game'].iloc[0]}: until 100 training games have a mean of {GOAL_SCORE:g}, "
        f"{rows['num_servers'].iloc[0]} parameter servers;\narrived: {arrivals(times)}"
    )
    axes.legend(fontsize="small")
    return figure


@matplotlib.rc_context(STYLE)
def simulated_servers_figure(rows: pd.DataFrame) -> Figure:
    """Data points per second over the servers, a panel for each network and a line for each number of workers."""
    networks = list(rows.groupby("network", sort=False))
    figure, panels = _panels(len(networks))
    colours = dict(zip(sorted(set(rows["num_workers"])), COLOURS, strict=False))
    for axes, (network, alike) in zip(panels, networks, strict=True):
        for workers, same in alike.groupby("num_workers", sort=False):
            ordered = same.sort_values("num_servers")
            points = ordered["num_servers"], ordered[_RATE_COLUMN]
            axes.plot(*points, "s--", color=colours[workers], label=f"{workers} workers")
        axes.set_xscale("log", base=2)
        whole_ticks(axes, rows["num_servers"])
        axes.set_ylim(bottom=0)
        axes.set_xlabel("parameter servers, a core each")
        axes.set_title(f"{network}\n{_size(alike)}", fontsize="medium")
    figure.suptitle("Simulated: more parameter servers")
    _common_legend(figure, panels)
    return figure


@matplotlib.rc_context(STYLE)
def simulated_stragglers_figure(rows: pd.DataFrame) -> Figure:
    """Data points per second over backup workers, a panel for each network, a line for each kind of straggler."""
    networks = list(rows.groupby("network", sort=False))
    figure, panels = _panels(len(networks))
    for axes, (network, of_network) in zip(panels, networks, strict=True):
        kinds = of_network.groupby(["num_stragglers", "distribution"], sort=False)
        for index, ((count, distribution), alike) in enumerate(kinds):
            ordered = alike.sort_values("num_backup_workers")
            label = f"{count} with {distribution} delay" if count else "no straggler"
            points = ordered["num_backup_workers"], ordered[_RATE_COLUMN]
            # Hollow and of other shapes, so that of two kinds that cost the same both are seen.
            marker, colour = _MARKERS[index % len(_MARKERS)], COLOURS[index % len(COLOURS)]
            axes.plot(*points, f"{marker}--", color=colour, markerfacecolor="none", label=label)
        whole_ticks(axes, rows["num_backup_workers"])
        axes.set_ylim(bottom=0)
        axes.set_xlabel("backup workers b")
        axes.set_title(f"{network}\n{_size(of_network)}", fontsize="medium")
    num_started = int((rows["num_workers"] + rows["num_backup_workers"]).iloc[0])
    delay = f"{rows['delay_steps'].max():g} times a gradient's"
    figure.suptitle(f"Simulated: {num_started} workers, updates of the first {num_started} - b; delays of {delay}")
    _common_legend(figure, panels)
    return figure


def _panel() -> tuple[Figure, Axes]:
    figure = Figure(figsize=(7.0, 4.6), layout="constrained")
    axes = figure.add_subplot()
    axes.set_ylabel(_RATE)
    return figure, axes


def _panels(count: int) -> tuple[Figure, list[Axes]]:
    """Side by side, three in a row."""
    num_columns = min(count, _PANELS_IN_ROW)
    num_rows = math.ceil(count / num_columns)
    figure = Figure(figsize=(max(7.0, 4.0 * num_columns), 3.6 * num_rows + 1.0), layout="constrained")
    panels = [figure.add_subplot(num_rows, num_columns, index + 1) for index in range(count)]
    for axes in panels[::num_columns]:
        axes.set_ylabel(_RATE)
    return figure, panels


def _common_legend(figure: Figure, panels: list[Axes]) -> None:
    """Each label once, in the colour that it has in all panels."""
    handles = {
        label: handle for axes in panels for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=_PANELS_IN_ROW, fontsize="small")


def _size(rows: pd.DataFrame) -> str:
    return f"{rows['num_parameters'].iloc[0]:,} parameters, gradients of {rows['batch_size'].iloc[0]} steps"
