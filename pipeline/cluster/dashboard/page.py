"""The page `/pipeline`: learning curves, speeds, what else a run tells over time, and the grid of a sweep.

Some runs have colours, each while it trains; the others stand faintly behind the learning curves.
Not here: single figures (`pipeline.cluster.dashboard.figures`), what is kept (`pipeline.cluster.dashboard.board`).
"""

from collections.abc import Callable
from typing import Any

from bokeh.document import Document
from bokeh.models import Column, Div, GridBox, InlineStyleSheet
from distributed import Scheduler
from distributed.dashboard.components.scheduler import env

from dask_jobs.board import rounded
from pipeline.cluster.dashboard.board import Board, Point, ShownRuns, in_order
from pipeline.cluster.dashboard.figures import Curve, CurveFigure, RoleFigure, RunColours
from pipeline.cluster.dashboard.style import COLOURS, STATUS_COLOURS
from pipeline.cluster.dashboard.sweep_figure import SweepFigure

MAX_CURVES = 100
"""Learning curves that are drawn at once."""
_UPDATE_MILLISECONDS = 2_000
_TALL, _LOW = 230, 150
"""Pixels: three rows of figures and a sweep of 49 games nearly stand on one screen."""
_BELOW_EACH_OTHER = """
@media (max-width: 700px) {
  :host { grid-template-columns: minmax(0, 1fr) !important; }
  div { grid-column: 1; grid-row: auto; }
}
"""
"""Of a row of figures on a screen that is too narrow for it, as a phone's."""
_LEARNING = Curve(
    "Mean score of the last 100 training games",
    "emulator frames",
    lambda point: point.num_frames,
    lambda point: point.mean_score,
    "No game has ended yet.\nEach run on this scheduler has a line here\nfrom its first ended game on.",
)


def _over_time(title: str, y: Callable[[Point], float | None], empty: str) -> Curve:
    return Curve(title, "minutes of training", lambda point: point.wall_seconds / 60, y, empty, is_positive=True)


_OVER_TIME = (
    _over_time("Updates/s of the server", lambda point: point.updates_per_second, "No run yet."),
    _over_time(
        "Staleness (versions)",
        lambda point: point.mean_staleness,
        "No gradient has come back yet.\nSynchronous servers admit no stale one.",
    ),
    _over_time(
        "Replay fill (1: full)",
        lambda point: point.replay_fill,
        "No run with a replay yet.\nRuns that learn in rollouts have none.",
    ),
    _over_time("Restarts of roles", lambda point: point.num_restarts, "No run yet.")._replace(counts=True),
    _over_time(
        "Entropy of the policy (nats)",
        lambda point: point.entropy,
        "No actor-critic run yet.\nQ-learning explores by epsilon.",
    ),
    _over_time(
        "Late gradients (share)",
        lambda point: point.late_share,
        "No synchronous run yet.\nOthers have no quorum to be late for.",
    ),
)


def show(board: Board, _: Scheduler, extra: dict[str, Any], document: Document) -> None:
    """Fill a document that a browser has asked for, and keep it up to date while it is looked at."""
    page = Page(board)
    page.update()
    document.title = "Dask: Pipeline"
    document.add_root(page.root)
    document.add_periodic_callback(page.update, _UPDATE_MILLISECONDS)
    document.template = env.get_template("simple.html")
    document.template_variables.update(extra)


class Page:
    """All figures over one board. `root` is what Bokeh lays out."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._drawn, self._coloured = ShownRuns(MAX_CURVES), ShownRuns(len(COLOURS))
        self._colours = RunColours()
        self._runs, self._sweep = (Div(sizing_mode="stretch_width") for _ in range(2))
        self._learning = CurveFigure(_LEARNING, _TALL, legend=True)
        self._roles = RoleFigure("Steps/s of each role", "No role is playing now.", _TALL)
        self._over_time = [CurveFigure(curve, _LOW) for curve in _OVER_TIME]
        self._grid = SweepFigure("No sweep on this scheduler yet. A multirun with hydra/launcher=dask fills this grid.")
        curves = [curves.root for curves in self._over_time]
        self.root = Column(
            self._runs,
            _row(["minmax(0, 2fr)", "minmax(0, 1fr)"], self._learning.root, self._roles.root),
            _row("minmax(0, 1fr)", *curves[:3]),
            _row("minmax(0, 1fr)", *curves[3:]),
            self._sweep,
            self._grid.root,
            sizing_mode="stretch_width",
        )

    def update(self) -> None:
        """Show what the board knows now."""
        live = self._board.live_runs()
        drawn = self._drawn.among(self._board.runs.values(), live)
        coloured = in_order(self._coloured.among(drawn, live))
        colours = self._colours.of(coloured)
        labels = self._board.labels([*drawn, *(run for run in live if run not in drawn)])
        self._learning.update(in_order(drawn), colours, labels)
        self._roles.update(live, colours, labels)
        for curves in self._over_time:
            curves.update(coloured, colours, labels)
        steps = sum(run.newest.steps_per_second for run in live)
        known = f"<b>{len(live)}</b> of {len(self._board.runs)} runs training now, {rounded(steps)} steps/s in all"
        self._runs.text = _line(known if self._board.runs else "No run on this scheduler yet")
        sweep = self._board.newest_sweep()
        self._sweep.text = _line("<b>Sweep</b>" if sweep is None else f"<b>Sweep</b> {_counts(sweep.counts())}")
        self._grid.update(sweep)


def _row(widths: Any, *figures: Any) -> GridBox:
    children = [(figure, 0, index) for index, figure in enumerate(figures)]
    below = InlineStyleSheet(css=_BELOW_EACH_OTHER)
    margin = (0, 0, 6, 0)
    return GridBox(
        children=children, cols=widths, sizing_mode="stretch_width", spacing=6, margin=margin, stylesheets=[below]
    )


def _counts(counts: dict[str, int]) -> str:
    style = "padding: 1px 8px; margin-left: 6px; background:"
    words = [f'<span style="{style} {STATUS_COLOURS[name]}">{count} {name}</span>' for name, count in counts.items()]
    return " ".join(words)


def _line(html: str) -> str:
    return f'<div style="font-size: 13px; padding: 3px 0">{html}</div>'
