"""The bar chart of normalised scores over the 49 games, or few of them, best first, as in figure 3 of Mnih et al. 2015.

Departure: the axis is linear up to 100 % and logarithmic beyond, where theirs is broken; all games stay in view.
Not here: the numbers (`pipeline.results.atari49`).
"""

from collections.abc import Sequence

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pipeline.games import ATARI49
from pipeline.results.atari49 import normalised
from pipeline.results.formats import MISSING
from pipeline.results.protocols import DQN, GORILA, Starts
from pipeline.results.published import load_published
from pipeline.results.style import COLOURS, FAINT, INK, NAMES_STYLE, PAPER

_TICKS = (-100, -50, 0, 50, 100, 300, 1000, 5000)
_MARKERS = {DQN: "o", GORILA: "D"}


@matplotlib.rc_context(NAMES_STYLE)
def score_chart(starts: Starts, ours: tuple[str, pd.DataFrame] | None, games: Sequence[str] = ATARI49) -> Figure:
    """Bars of one entry (its name and its `entry_by_game`), or of Gorila where there is none; markers as published.

    A game without a score keeps its line, without a bar and with the word "missing".
    """
    scores_of = load_published().loc[list(games)]
    published = {name: normalised(scores_of[column], starts) for name, column in starts.agents.items()}
    name, scores = (
        (GORILA, published.pop(GORILA))
        if ours is None
        else (f"ours: {ours[0]}", ours[1].loc[list(games), "%"].to_numpy())
    )
    # Games that we lack come last, in the published order among themselves.
    order = np.lexsort((-published[DQN], -np.nan_to_num(scores, nan=-np.inf)))[::-1]
    lines = np.arange(len(order))
    figure = Figure(figsize=(8.0, 1.5 + len(games) * 0.195), layout="constrained")
    axes = figure.add_subplot()
    axes.barh(lines, np.nan_to_num(scores[order]), color=COLOURS[0], height=0.7, label=name)
    for agent, values in published.items():
        axes.plot(values[order], lines, _MARKERS[agent], color=INK, markerfacecolor=PAPER, markersize=4, label=agent)
    sides = axes.get_yaxis_transform()
    for line in lines[np.isnan(scores[order])]:
        axes.text(1.01, line, MISSING, transform=sides, va="center", fontsize="small", style="italic")
    axes.axvline(100, color=INK, linewidth=0.8)
    axes.axvline(0, color=FAINT, linewidth=0.8)
    axes.set_yticks(lines, [games[index] for index in order], fontsize="small")
    axes.set_ylim(-0.7, len(lines) - 0.3)
    axes.set_xscale("symlog", linthresh=100, linscale=1.5)
    low, high = axes.get_xlim()
    axes.set_xticks([tick for tick in _TICKS if low <= tick <= high])
    axes.get_xaxis().set_major_formatter(matplotlib.ticker.FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.set_xlim(low, high)
    axes.minorticks_off()
    axes.set_title(f"Normalised scores, {starts.name}")
    axes.set_xlabel("% of the human (random player 0, human 100); logarithmic beyond 100")
    figure.legend(loc="outside lower center", ncols=3)
    return figure
