"""The figure of `results/six_minutes/README.md`: Gorila beside DQN, game by game.

Not here: the same as tables (`studies.six_minutes.atari49`).
"""

import matplotlib
import pandas as pd
from matplotlib.figure import Figure

from pipeline.results.atari49 import normalised
from pipeline.results.protocols import NOOP_STARTS
from pipeline.results.style import COLOURS, FAINT, STYLE
from studies.scored_runs import GREEDY

_LINEAR_PERCENT = 10.0
"""Up to here both ways from zero the axis is linear, beyond it logarithmic: scores lie three powers of ten apart."""
_ASIDE = 0.12
"""Of a game's line, so that neither system hides the other."""
_ENDS = ("_low", "", "_high")


@matplotlib.rc_context(STYLE)
def games_figure(rows: pd.DataFrame, systems: tuple[str, str], title: str) -> Figure:
    """A line a game with both scores in percent of the human's and their intervals; ScoredRows.

    The game on which the first of the systems is furthest ahead of the second stands on top.
    """
    percents = {system: _percents(rows[rows["case"] == system]) for system in systems}
    first, second = (percents[system][GREEDY] for system in systems)
    games = (first - second).sort_values().index
    figure = Figure(figsize=(7.5, 1.7 + 0.19 * len(games)), layout="constrained")
    axes = figure.subplots()
    axes.axvline(0.0, color=FAINT, linewidth=1.0)
    for system, colour, marker, aside in zip(systems, COLOURS, "os", (_ASIDE, -_ASIDE), strict=False):
        places = [place + aside for place in range(len(games))]
        low, middle, high = (percents[system].loc[games, f"{GREEDY}{end}"] for end in _ENDS)
        axes.hlines(places, low, high, color=colour, alpha=0.5, linewidth=2.0)
        axes.plot(middle, places, marker, color=colour, markersize=4, label=system)
    axes.set_xscale("symlog", linthresh=_LINEAR_PERCENT)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_yticks(range(len(games)), games, fontsize="x-small")
    axes.set_ylim(-1, len(games))
    axes.set_xlabel("% of the human's score; 0: the published random player's")
    axes.set_title(title)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=len(systems))
    return figure


def _percents(own: pd.DataFrame) -> pd.DataFrame:
    by_game = own.set_index("game")
    return pd.DataFrame(
        {f"{GREEDY}{end}": normalised(by_game[f"{GREEDY}{end}"], NOOP_STARTS) for end in _ENDS}, index=by_game.index
    )
