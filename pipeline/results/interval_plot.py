"""Median, interquartile mean, mean and optimality gap of each agent with their intervals, side by side.

As in Agarwal et al. 2021, "Deep Reinforcement Learning at the Edge of the Statistical Precipice", figure 9.
Not here: the numbers (`pipeline.results.summary`).
"""

import matplotlib
import pandas as pd
from matplotlib.figure import Figure

from pipeline.results.atari49 import counted_games
from pipeline.results.protocols import Starts
from pipeline.results.random_player import OUR_RANDOM_PLAYER
from pipeline.results.style import COLOURS, FAINT, NAMES_STYLE

PANELS = {"median": "median", "iqm": "interquartile mean", "mean": "mean", "optimality_gap": "optimality gap"}


@matplotlib.rc_context(NAMES_STYLE)
def interval_figure(summary: pd.DataFrame, starts: Starts) -> Figure | None:
    """Rows of `summary.summary`, of the set of games that most agents of ours have; None where we have no agent."""
    ours = summary[summary["agent"].str.startswith("ours: ") & (summary["agent"] != OUR_RANDOM_PLAYER)]
    if ours.empty:
        return None
    counts = ours.groupby("games", sort=False).agg(agents=("agent", "nunique"), size=("num_games", "first"))
    chosen = counts.sort_values(["agents", "size"]).index[-1]
    rows = summary[summary["games"] == chosen]
    agents = list(dict.fromkeys(rows["agent"]))[::-1]
    colours = dict.fromkeys(agents, FAINT)
    for index, agent in enumerate(agent for agent in agents[::-1] if (ours["agent"] == agent).any()):
        colours[agent] = COLOURS[index % len(COLOURS)]
    figure = Figure(figsize=(11.0, 1.3 + 0.28 * len(agents)), layout="constrained")
    for axes, (statistic, label) in zip(figure.subplots(1, len(PANELS), sharey=True), PANELS.items(), strict=True):
        of_statistic = rows[rows["statistic"] == statistic].set_index("agent").loc[agents]
        for line, (agent, row) in enumerate(of_statistic.iterrows()):
            colour = colours[str(agent)]
            axes.plot([row["low"], row["high"]], [line, line], color=colour, linewidth=6, alpha=0.35)
            axes.plot([row["value"]], [line], "|", color=colour, markersize=11, markeredgewidth=2)
        axes.set_title(label, fontsize="medium")
        axes.set_xlabel("%")
        axes.set_yticks(range(len(agents)), agents)
        axes.set_ylim(-0.6, len(agents) - 0.4)
    size = counted_games(range(int(counts.loc[chosen, "size"])))
    figure.suptitle(f"{starts.name}, {size}; normalised by {starts.normalised_by.partition(',')[0]}", fontsize="medium")
    return figure
