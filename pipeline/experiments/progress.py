"""What a run shows while it goes: a live bar on a terminal, or a line every ten seconds elsewhere.

Not here: what is measured (`pipeline.experiments.meter`), the dashboard (`pipeline.cluster.dashboard`), rows
(`pipeline.experiments.files.run_folder`).
"""

import datetime
import time

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from pipeline.cluster.glance import RunGlance

_LINE_SECONDS = 10.0


class RunProgress:
    """Shows one glance after the other. Use as a context manager."""

    def __init__(self, console: Console, kind: str) -> None:
        """`kind`: "bar", "lines", "none", or "auto": a bar on a terminal, else lines."""
        self._console = console
        self._kind = ("bar" if console.is_terminal else "lines") if kind == "auto" else kind
        self._line_at = time.monotonic()
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            TaskProgressColumn(),
            TextColumn("{task.fields[text]}"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=self._kind != "bar",
        )
        self._task = self._bar.add_task("training", total=1.0, text="starting")

    def __enter__(self) -> "RunProgress":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def show(self, glance: RunGlance) -> None:
        """Show where the run is."""
        text = line(glance)
        self._bar.update(self._task, completed=glance.fraction, text=text)
        now = time.monotonic()
        if self._kind == "lines" and now - self._line_at >= _LINE_SECONDS:
            self._line_at = now
            self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def say(self, text: str) -> None:
        """A sentence for the user, above the bar."""
        self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)


def line(glance: RunGlance) -> str:
    """A glance in one line."""
    score = "-" if glance.mean_score is None else f"{glance.mean_score:.1f}"
    seconds = glance.eta_seconds
    eta = "-" if seconds is None else str(datetime.timedelta(seconds=round(seconds)))
    return (
        f"{glance.num_frames:,} frames · {glance.steps_per_second:,.0f} steps/s · "
        f"{glance.updates_per_second:,.0f} updates/s · {_learning(glance)} · score {score} · ETA {eta}"
    )


def _learning(glance: RunGlance) -> str:
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
    return " · ".join(words) or "staleness -"
