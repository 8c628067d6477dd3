"""The grid of a sweep: one tile a job, coloured by status; a running one is filled as far as it is.

Not here: which tile stands where (`pipeline.cluster.dashboard.tiles`), figures of runs (`.figures`).
"""

from typing import Any

from bokeh.models import Column, HoverTool, Range1d

from pipeline.cluster.dashboard.style import INSIDE, STATUS_COLOURS, empty_label, plain_figure, set_rows, source
from pipeline.cluster.dashboard.sweep import RUNNING, WAITING, Job, Sweep
from pipeline.cluster.dashboard.tiles import Tile, arrange

_ROW_PIXELS = 20
_COLUMN_PIXELS = 90
"""At least: fifteen letters."""
_MARGIN_PIXELS = 10
_EMPTY_PIXELS = 60


class SweepFigure:
    """`root` is what Bokeh lays out; its height follows the number of rows. It scrolls where it is too wide."""

    def __init__(self, empty: str) -> None:
        self._figure = plain_figure("", _EMPTY_PIXELS)
        self._figure.axis.visible = self._figure.grid.visible = False
        self._figure.outline_line_color = None
        self._figure.x_range, self._figure.y_range = Range1d(0, 1), Range1d(1, 0)
        self.root = Column(self._figure, sizing_mode="stretch_width", styles={"overflow-x": "auto"})
        self._empty = empty_label(self._figure, empty)
        self._tiles = source("left", "right", "top", "bottom", "filled", "colour", "text", "x", "y", "asked", "told")
        self._words = source("x", "y", "text", "align", "style")
        sides = {"left": "left", "top": "top", "bottom": "bottom", "source": self._tiles}
        tiles = self._figure.quad(right="right", fill_color="colour", line_color=None, fill_alpha=0.4, **sides)
        self._figure.quad(right="filled", fill_color="colour", line_color=None, **sides)
        self._figure.text("x", "y", text="text", text_align="center", source=self._tiles, **INSIDE)
        align = {"text_align": "align", "text_font_style": "style"}
        self._figure.text("x", "y", text="text", source=self._words, **align, **INSIDE)
        self._figure.add_tools(HoverTool(renderers=[tiles], tooltips=[("", "@asked"), ("", "@told")]))

    def update(self, sweep: Sweep | None) -> None:
        """Draw this sweep."""
        jobs = {} if sweep is None else sweep.jobs
        grid = arrange(jobs)
        set_rows(self._tiles, [_row(tile, jobs[tile.job]) for tile in grid.tiles])
        set_rows(
            self._words,
            [(label.x - 0.06, label.y + 0.5, label.text, "right", "normal") for label in grid.rows]
            + [(label.x, label.y + 0.5, label.text, "center", "bold") for label in grid.columns],
        )
        self._empty.visible = not jobs
        if jobs:
            self._figure.x_range.end = grid.width
            self._figure.y_range.start, self._figure.y_range.end = grid.height, -1
            self._figure.height = (grid.height + 1) * _ROW_PIXELS + _MARGIN_PIXELS
            self._figure.min_width = round(grid.width * _COLUMN_PIXELS)


def _row(tile: Tile, job: Job) -> tuple[Any, ...]:
    left, right = tile.x + 0.02, tile.x + 0.98
    share = {WAITING: 0.0, RUNNING: job.fraction or 0.0}.get(job.status, 1.0)
    return (
        left,
        right,
        tile.y + 0.06,
        tile.y + 0.94,
        left + share * (right - left),
        STATUS_COLOURS[job.status],
        tile.text,
        tile.x + 0.5,
        tile.y + 0.5,
        f"job {tile.job}: {' '.join(job.overrides)}",
        f"{job.status}, attempt {job.attempt} {job.host} {job.reason}".rstrip(),
    )
