"""How every figure of the page looks, and how rows come into it.

Not here: what a figure shows (`pipeline.cluster.dashboard.figures`, `.sweep_figure`).
"""

from collections.abc import Sequence
from typing import Any

from bokeh.models import ColumnDataSource, Label
from bokeh.plotting import figure

from pipeline.cluster.dashboard.sweep import DONE, FAILED, INTERRUPTED, RUNNING, WAITING

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#6B4C9A", "#8C6D31")
"""Okabe and Ito 2008, told apart by colour-blind readers, and two more; so many runs have a colour at once."""
STATUS_COLOURS = {
    WAITING: "#d3d9de",
    RUNNING: "#8fc1e8",
    DONE: "#9fd3b0",
    FAILED: "#f0a193",
    INTERRUPTED: "#f3d27e",
}
INK, SOFT_INK, FAINT, PALE, PAPER = "#24292f", "#6b7480", "#b6bec6", "#e4e7ea", "#ffffff"
TEXT_SIZE = "11px"
INSIDE = {"text_font_size": TEXT_SIZE, "text_color": INK, "text_baseline": "middle"}
"""Of words that stand among the data."""


def plain_figure(title: str, height: int, **more: Any) -> Any:
    """A figure as wide as there is room, `height` pixels high, without tools."""
    made = figure(title=title, height=height, sizing_mode="stretch_width", tools="", toolbar_location=None, **more)
    made.title.text_font_size, made.title.text_color = "13px", INK
    made.background_fill_color = made.border_fill_color = PAPER
    made.outline_line_color = made.grid.grid_line_color = PALE
    made.axis.axis_label_text_font_size = made.axis.major_label_text_font_size = TEXT_SIZE
    made.axis.axis_label_text_font_style = "normal"
    made.axis.axis_line_color = made.axis.major_tick_line_color = FAINT
    made.axis.minor_tick_line_color = None
    made.min_border_right = 16
    return made


def empty_label(made: Any, text: str) -> Label:
    """Words in the lower left corner, to be visible while there is nothing else."""
    corner = {"x": 12, "y": 12, "x_units": "screen", "y_units": "screen"}
    label = Label(text=text, text_font_size="12px", text_color=SOFT_INK, level="overlay", **corner)
    made.add_layout(label)
    return label


def source(*columns: str) -> ColumnDataSource:
    """A source without rows."""
    return ColumnDataSource({column: [] for column in columns})


def set_rows(target: ColumnDataSource, rows: Sequence[tuple[Any, ...]]) -> None:
    """Give a source these rows; nothing is sent to the browser when it has them."""
    data = {column: [row[index] for row in rows] for index, column in enumerate(target.data)}
    if data != target.data:
        target.data = data
