"""One game's published scores over frames, with the range of their seeds, and our runs on top.

Few published agents of the many are drawn, so that each can be told apart; all stand in the table.
Not here: the table (`pipeline.results.equal_frames`), training scores (`pipeline.results.curves`).
"""

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from pipeline.results.budgets import MARKS, Yardstick, yardsticks
from pipeline.results.protocols import told_apart
from pipeline.results.style import COLOURS, FAINT, LINES, MARKERS, NAMES_STYLE, PAPER

DRAWN = ("DQN (nnabla-rl)", "DQN (Dopamine)", "QR-DQN n = 3, priorities (Dopamine)", "Rainbow (Dopamine)")
"""The nearest to our protocol first: its band is filled more strongly."""

_FIRST_FRAMES = 200_000.0
"""Evaluations before are left out: the axis is logarithmic."""


@matplotlib.rc_context(NAMES_STYLE)
def budget_figure(points: pd.DataFrame, game: str) -> Figure:
    """Rows of `equal_frames.our_points` of `game`, a line a run; a colour an entry and way to play."""
    figure = Figure(figsize=(8.0, 5.0), layout="constrained")
    axes = figure.add_subplot()
    for index, name in enumerate(DRAWN):
        for one in yardsticks():
            if one.agent == name and game in one.curves.index:
                _draw_published(axes, one, game, LINES[index % len(LINES)], alpha=0.3 if index == 0 else 0.12)
    ours = points[(points["game"] == game) & (points["frames"] >= _FIRST_FRAMES)]
    ours = ours.assign(label=told_apart("ours: " + ours["entry"] + ", " + ours["protocol"], ours))
    for index, ((_, _, label), of_entry) in enumerate(ours.groupby(["entry", "protocol", "label"], sort=True)):
        colour = COLOURS[index % len(COLOURS)]
        marker = MARKERS[index // len(COLOURS) % len(MARKERS)]
        for of_run, line in zip((rows for _, rows in of_entry.groupby("seed")), LINES * len(of_entry), strict=False):
            in_order = of_run.sort_values("frames")
            place = in_order["frames"], in_order["score"]
            axes.plot(*place, f"{marker}{line}", color=colour, markerfacecolor=PAPER, label=label)
            label = "_nolegend_"  # one entry, however many seeds
    axes.set_xscale("log")
    axes.set_xticks(MARKS)
    axes.minorticks_off()
    axes.get_xaxis().set_major_formatter(FuncFormatter(lambda frames, _: f"{frames / 1e6:g}"))
    axes.set_xlabel("emulator frames (millions, logarithmic)")
    axes.set_ylabel("score (points)")
    axes.set_title(f"{game} beside published curves")
    figure.legend(loc="outside lower center", ncols=2, fontsize="small", title="grey: published, band: their seeds")
    return figure


def _draw_published(axes: Axes, one: Yardstick, game: str, line: str, alpha: float) -> None:
    curve = one.curves.loc[[game]]
    axes.fill_between(curve["frames"], curve["low"], curve["high"], color=FAINT, alpha=alpha, linewidth=0, zorder=1)
    axes.plot(curve["frames"], curve["score"], line, color=FAINT, zorder=1, label=one.agent)
