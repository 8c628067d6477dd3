"""What a run shows while it goes: a live bar on a terminal, or a line every ten seconds elsewhere.

Not here: what is measured (`pipeline.experiments.meter`), the dashboard (`pipeline.cluster.dashboard`), rows
(`pipeline.experiments.files.run_folder`).
"""

import datetime
import time

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from dask_jobs.board import rounded
from dask_jobs.terminal import can_redraw
from pipeline.cluster.glance import RunGlance

_LINE_SECONDS = 10.0
_BAR_WIDTH = 11
_BESIDE_TEXT = _BAR_WIDTH + len(" 100% ") + len(" 10:00:00")
"""Columns that the bar, the percentage and the time take, spaces between them included."""
_SEPARATOR = " \u00b7 "


class RunProgress:
    """Shows one glance after the other. Use as a context manager."""

    def __init__(self, console: Console, kind: str) -> None:
        """`kind`: "bar", "lines", "none", or "auto": a bar on a terminal, else lines."""
        self._console = console
        self._kind = _kind_on(console, kind)
        self._line_at = time.monotonic()
        self._bar = _bar(console, is_shown=self._kind == "bar")
        self._task = self._bar.add_task("training", total=1.0, text="starting")

    def __enter__(self) -> "RunProgress":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def show(self, glance: RunGlance) -> None:
        """Show where the run is."""
        # A terminal may be made narrower meanwhile.
        text = line(glance, self._console.width - _BESIDE_TEXT)
        self._bar.update(self._task, completed=glance.fraction, text=text)
        now = time.monotonic()
        if self._kind == "lines" and now - self._line_at >= _LINE_SECONDS:
            self._line_at = now
            self._console.print(line(glance), markup=False, highlight=False, soft_wrap=True)

    def say(self, text: str) -> None:
        """A sentence for the user, above the bar."""
        self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)


class GamesProgress:
    """Shows how many games of evaluations are over. Use as a context manager."""

    def __init__(self, console: Console, kind: str, what: str) -> None:
        """`kind` as above; `what` is played."""
        self._console = console
        self._kind = _kind_on(console, kind)
        self._what = what
        self._began_at = self._line_at = time.monotonic()
        self._bar = _bar(console, is_shown=self._kind == "bar")
        self._task = self._bar.add_task("games", total=1.0, text=what)

    def __enter__(self) -> "GamesProgress":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def show(self, num_over: int, num_all: int) -> None:
        """Show where they are."""
        now = time.monotonic()
        text = games_line(self._what, num_over, num_all, now - self._began_at)
        self._bar.update(self._task, completed=num_over / max(num_all, 1), text=text)
        if self._kind == "lines" and now - self._line_at >= _LINE_SECONDS:
            self._line_at = now
            self._console.print(text, markup=False, highlight=False, soft_wrap=True)


def games_line(what: str, num_over: int, num_all: int, seconds: float) -> str:
    """How many games are over and the time that is left, if the others take as long as those in `seconds` have."""
    left = None if num_over == 0 else seconds / num_over * (num_all - num_over)
    return f"{what}: {num_over:,} of {num_all:,} games{_SEPARATOR}{_eta(left)}"


def line(glance: RunGlance, width: int | None = None) -> str:
    """A glance in one line of at most `width` characters, if it is given: what says least is left out first."""
    score = "-" if glance.mean_score is None else f"{glance.mean_score:,.1f}"
    speed = [f"{rounded(glance.steps_per_second)} steps/s", f"{rounded(glance.updates_per_second)} updates/s"]
    in_order = [f"{glance.num_frames:,} frames", *speed, *_learning(glance), f"score {score}", _eta(glance.eta_seconds)]
    # What is left out first stands last.
    by_worth = [in_order[-1], in_order[-2], speed[0], in_order[0], speed[1], *_learning(glance)]
    while width is not None and len(by_worth) > 1 and len(_SEPARATOR.join(by_worth)) > width:
        by_worth.pop()
    return _SEPARATOR.join(part for part in in_order if part in by_worth)


def _kind_on(console: Console, kind: str) -> str:
    return ("bar" if can_redraw(console) else "lines") if kind == "auto" else kind


def _bar(console: Console, *, is_shown: bool) -> Progress:
    return Progress(
        BarColumn(bar_width=_BAR_WIDTH),
        TaskProgressColumn(),
        TextColumn("{task.fields[text]}", markup=False),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not is_shown,
    )


def _eta(seconds: float | None) -> str:
    if seconds is None:
        return "ETA -"
    left = datetime.timedelta(seconds=round(seconds))
    return f"ETA {left.days:,} days" if left.days > 1 else f"ETA {left}"


def _learning(glance: RunGlance) -> list[str]:
    """What the newest updates tell of the learning, beyond their speed."""
    words = []
    if glance.mean_staleness is not None:
        words.append(f"staleness {glance.mean_staleness:.1f}")
    if glance.epsilon is not None:
        words.append(f"epsilon {glance.epsilon:.2f}")
    if glance.entropy is not None:
        words.append(f"entropy {glance.entropy:.2f}")
    if glance.late_share is not None:
        words.append(f"late {glance.late_share:.0%}")
    return words or ["staleness -"]
