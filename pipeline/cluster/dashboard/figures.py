"""The figures of runs: curves over time, and bars of their roles. Each is made once and then updated.

A figure without anything to show says why. `root` is what Bokeh lays out.
Not here: which figures there are (`pipeline.cluster.dashboard.page`), the grid of a sweep (`.sweep_figure`).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from bokeh.models import (
    AdaptiveTicker,
    DataRange1d,
    HoverTool,
    Legend,
    LegendItem,
    NumeralTickFormatter,
    Range1d,
)

from dask_jobs.board import rounded
from pipeline.cluster.dashboard.board import Point, RunSeries
from pipeline.cluster.dashboard.style import (
    COLOURS,
    FAINT,
    INSIDE,
    TEXT_SIZE,
    empty_label,
    plain_figure,
    set_rows,
    source,
)

_TICKS = "0.[0000]a"
"""As many decimals as a number has, and k, m: those of a share may be as small as 0.0005."""
MAX_ROLES = 14
"""Bars that are drawn at once."""
_FEWEST_ROWS = 4
"""Room for so many bars, so that a single one does not fill the figure."""


class RunColours:
    """Gives a run its colour, the same in every figure, for as long as it is among the newest."""

    def __init__(self) -> None:
        self._slots: dict[str, int] = {}

    def of(self, runs: Sequence[RunSeries]) -> dict[str, str]:
        """Folder -> colour of at most len(COLOURS) runs."""
        folders = [run.newest.folder for run in runs]
        self._slots = {folder: slot for folder, slot in self._slots.items() if folder in folders}
        for folder in folders:
            if folder not in self._slots:
                self._slots[folder] = min(set(range(len(COLOURS))) - set(self._slots.values()))
        return {folder: COLOURS[self._slots[folder]] for folder in folders}


class Curve(NamedTuple):
    """What a figure of curves shows."""

    title: str
    x_label: str
    x: Callable[[Point], float]
    y: Callable[[Point], float | None]
    empty: str
    """Said where no run has a y."""
    is_positive: bool = False
    """y is never below 0, and drawn from there on."""
    counts: bool = False
    """y has whole numbers only."""


class CurveFigure:
    """One line a run; runs without a colour are drawn faintly behind."""

    def __init__(self, curve: Curve, height: int, legend: bool = False) -> None:
        self._curve = curve
        self.root = plain_figure(curve.title, height, x_axis_label=curve.x_label)
        self.root.xaxis.formatter = NumeralTickFormatter(format=_TICKS)
        self.root.yaxis.formatter = NumeralTickFormatter(format=_TICKS)
        self.root.yaxis.ticker = AdaptiveTicker(desired_num_ticks=4, min_interval=1 if curve.counts else 0)
        if curve.is_positive:
            self.root.y_range = Range1d(0, 1)
        self._empty = empty_label(self.root, curve.empty)
        self._behind, self._before = source("xs", "ys", "label"), source("xs", "ys", "label", "colour")
        self.root.multi_line("xs", "ys", source=self._behind, line_color=FAINT, line_width=1, line_alpha=0.6)
        lines = self.root.multi_line("xs", "ys", source=self._before, line_color="colour", line_width=2)
        # A line of one point is invisible without it.
        self._ends = source("x", "y", "label", "colour")
        ends = self.root.scatter("x", "y", source=self._ends, color="colour", size=6)
        self.root.add_tools(HoverTool(renderers=[lines, ends], tooltips=[("", "@label")], line_policy="nearest"))
        if legend:
            items = [LegendItem(label={"field": "label"}, renderers=[lines])]
            self.root.add_layout(Legend(items=items, label_text_font_size=TEXT_SIZE, border_line_color=None), "right")

    def update(self, runs: Sequence[RunSeries], colours: Mapping[str, str], labels: Mapping[str, str]) -> None:
        """Draw these runs; `colours` and `labels` are by folder."""
        lines = [(run.newest.folder, *self._line(run)) for run in runs]
        lines = [line for line in lines if not all(map(math.isnan, line[2]))]
        bright = [(labels[folder], colours[folder], xs, ys) for folder, xs, ys in lines if folder in colours]
        set_rows(self._behind, [(xs, ys, labels[folder]) for folder, xs, ys in lines if folder not in colours])
        set_rows(self._before, [(xs, ys, label, colour) for label, colour, xs, ys in bright])
        set_rows(self._ends, [(xs[-1], ys[-1], label, colour) for label, colour, xs, ys in bright])
        self._empty.visible = not lines
        if self._curve.is_positive:
            top = max((y for _, _, ys in lines for y in ys if not math.isnan(y)), default=0.0) or 1.0
            # A hair below 0, so that a line along it is seen.
            self.root.y_range.start, self.root.y_range.end = -0.05 * top, 1.08 * top

    def _line(self, run: RunSeries) -> tuple[list[float], list[float]]:
        values = [self._curve.y(point) for point in run.points]
        xs = [self._curve.x(point) for point in run.points]
        return xs, [math.nan if value is None else value for value in values]


class RoleFigure:
    """One bar a role, as long as its steps/s."""

    def __init__(self, title: str, empty: str, height: int) -> None:
        self._title = title
        self.root = plain_figure(title, height, x_axis_label="steps/s")
        self.root.yaxis.visible = self.root.ygrid.visible = False
        self.root.x_range, self.root.y_range = DataRange1d(start=0), Range1d(_FEWEST_ROWS, 0)
        self._empty = empty_label(self.root, empty)
        self._bars = source("y", "rate", "text", "label", "colour")
        bars = self.root.hbar(y="y", right="rate", height=0.86, source=self._bars, color="colour", alpha=0.45)
        self.root.text(0, "y", text="text", x_offset=5, source=self._bars, **INSIDE)
        self.root.add_tools(HoverTool(renderers=[bars], tooltips=[("", "@label"), ("", "@text")]))

    def update(self, runs: Sequence[RunSeries], colours: Mapping[str, str], labels: Mapping[str, str]) -> None:
        """Draw the roles of these runs, as many as there is room for; `colours` and `labels` are by folder."""
        roles = [(run, role) for run in runs for role in run.newest.role_steps_per_second]
        shown = roles[:MAX_ROLES]
        set_rows(self._bars, [_bar(index, run, role, colours, labels) for index, (run, role) in enumerate(shown)])
        self.root.y_range.start = max(len(shown), _FEWEST_ROWS)
        self.root.title.text = self._title + (f" ({len(shown)} of {len(roles)})" if len(roles) > len(shown) else "")
        self._empty.visible = not roles


def _bar(
    index: int, run: RunSeries, role: str, colours: Mapping[str, str], labels: Mapping[str, str]
) -> tuple[Any, ...]:
    rate, folder = run.newest.role_steps_per_second[role], run.newest.folder
    text = f"{run.newest.game} {role}: {rounded(rate)}"
    return index + 0.5, rate, text, labels[folder], colours.get(folder, FAINT)
