"""Figures of what was simulated, one function each; they take the SimulationRows of one study as a DataFrame.

Not here: figures of what was measured alone (`benchmarks.dba3c_figures`).
"""

import math

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.dba3c_figures import GOAL_SCORE, arrivals
from pipeline.results.style import COLOURS, FAINT, LINES, STYLE

_RATE = "data points per second"


@matplotlib.rc_context(STYLE)
def prediction_figure(rows: pd.DataFrame) -> Figure:
    """Measured and simulated data points per second of the same workers on this machine."""
    figure, axes = _panel()
    errors = []
    for index, (network, of_network) in enumerate(rows.groupby("network", sort=False)):
        medians = of_network.groupby(["source", "num_workers"])["data_points_per_second"].median()
        for source, line in (("measured", "o-"), ("simulated", "s--")):
            axes.plot(medians[source].index, medians[source], line, color=COLOURS[index], label=f"{source}, {network}")
        errors += (medians["simulated"] / medians["measured"] - 1).tolist()
    _whole_ticks(axes, rows["num_workers"])
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
        workers, rates = ordered["num_workers"], ordered["data_points_per_second"]
        axes.plot(workers, rates, "s--", color=COLOURS[index], label=_name(network, alike))
        ideal = rates.iloc[0] * workers / workers.iloc[0]
        axes.plot(workers, ideal, ":", color=FAINT, label="ideal" if index == 0 else None)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    _whole_ticks(axes, rows["num_workers"])
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
    _whole_ticks(axes, times["num_workers"])
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
    """Data points per second over the number of servers, a line for each network and number of workers."""
    figure, axes = _panel()
    for index, (network, alike) in enumerate(rows.groupby("network", sort=False)):
        for line, (workers, same) in zip(LINES, alike.groupby("num_workers", sort=False), strict=False):
            ordered = same.sort_values("num_servers")
            label = f"{_name(network, alike)}, {workers} workers"
            points = ordered["num_servers"], ordered["data_points_per_second"]
            axes.plot(*points, f"s{line}", color=COLOURS[index], label=label)
    axes.set_xscale("log", base=2)
    _whole_ticks(axes, rows["num_servers"])
    axes.set_ylim(bottom=0)
    axes.set_xlabel("parameter servers, a core each")
    axes.set_title("Simulated: more parameter servers")
    axes.legend(fontsize="small")
    return figure


@matplotlib.rc_context(STYLE)
def simulated_stragglers_figure(rows: pd.DataFrame) -> Figure:
    """Data points per second over backup workers, a panel for each network, a line for each kind of straggler."""
    networks = list(dict.fromkeys(rows["network"]))
    figure = Figure(figsize=(max(8.0, 4.0 * len(networks) + 1.0), 4.6), layout="constrained")
    panels: list[Axes] = list(figure.subplots(1, len(networks), squeeze=False)[0])
    for axes, network in zip(panels, networks, strict=True):
        kinds = rows[rows["network"] == network].groupby(["num_stragglers", "distribution"], sort=False)
        for index, ((count, distribution), alike) in enumerate(kinds):
            ordered = alike.sort_values("num_backup_workers")
            label = f"{count} with {distribution} delay" if count else "no straggler"
            points = ordered["num_backup_workers"], ordered["data_points_per_second"]
            axes.plot(*points, "s--", color=COLOURS[index % len(COLOURS)], label=label)
        _whole_ticks(axes, rows["num_backup_workers"])
        axes.set_ylim(bottom=0)
        axes.set_title(network)
        axes.set_xlabel("backup workers b")
    panels[0].set_ylabel(_RATE)
    num_started = int((rows["num_workers"] + rows["num_backup_workers"]).iloc[0])
    delay = f"{rows['delay_steps'].max():g} mean steps"
    figure.suptitle(f"Simulated: {num_started} workers, updates of the first {num_started} - b; delays of {delay}")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize="small")
    return figure


def _panel() -> tuple[Figure, Axes]:
    figure = Figure(figsize=(7.0, 4.6), layout="constrained")
    axes = figure.add_subplot()
    axes.set_ylabel(_RATE)
    return figure, axes


def _whole_ticks(axes: Axes, values: pd.Series) -> None:
    ticks = sorted(set(values))
    axes.set_xticks(ticks, list(map(str, ticks)))


def _name(network: object, rows: pd.DataFrame) -> str:
    return f"{network} ({rows['num_parameters'].iloc[0]:,} parameters, gradients of {rows['batch_size'].iloc[0]} steps)"
