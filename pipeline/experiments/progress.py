"""What a run shows while it goes: a live bar on a terminal, or a line every ten seconds elsewhere.

Not here: the dashboard (Dask's own), rows (`pipeline.experiments.run_folder`).
"""

import datetime
import time
from collections import deque
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from pipeline.experiments.config import BudgetConfig
from pipeline.roles.progress import RoleProgress
from pipeline.rows import ActorCriticUpdateRow, EpisodeRow, Row, UpdateRow

_LINE_SECONDS = 10.0
_RATE_SECONDS = 30.0
"""Speeds are means over this long."""
_RECENT_EPISODES = 100


class RunProgress:
    """Fed with rows (from any thread) and counters; shows them. Use as a context manager."""

    def __init__(self, console: Console, kind: str, budget: BudgetConfig, frame_skip: float) -> None:
        """`kind`: "bar", "lines", "none", or "auto": a bar on a terminal, else lines."""
        self._console = console
        self._kind = ("bar" if console.is_terminal else "lines") if kind == "auto" else kind
        self._budget = budget
        self._frame_skip = frame_skip
        self._scores: deque[float] = deque(maxlen=_RECENT_EPISODES)
        self._learning = "staleness -"
        """What the newest update row tells of the learning, beyond its speed."""
        self._samples: deque[tuple[float, int, int]] = deque()
        self._known_roles: set[str] = set()
        self._first: tuple[float, float] | None = None
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

    def see(self, rows: Sequence[Row]) -> None:
        """Take scores and staleness out of rows on their way to the run folder."""
        for row in rows:
            if isinstance(row, EpisodeRow):
                self._scores.append(row.score)
            elif isinstance(row, UpdateRow):
                self._learning = f"staleness {row.mean_staleness:.1f} · epsilon {row.epsilon:.2f}"
            elif isinstance(row, ActorCriticUpdateRow):
                late = row.num_dropped_late / max(row.num_updates, 1)
                self._learning = f"entropy {row.mean_entropy:.2f} · late {late:.0%}"

    def show(self, roles: Mapping[str, RoleProgress]) -> None:
        """Show where the run is."""
        if roles.keys() != self._known_roles:
            # A role that is heard of for the first time brings steps that were not made just now.
            self._known_roles = set(roles)
            self._samples.clear()
            self._first = None
        num_steps = sum(role.num_steps for role in roles.values())
        version = max((role.version for role in roles.values()), default=0)
        wall_seconds = max((role.wall_seconds for role in roles.values()), default=0.0)
        now = time.monotonic()
        self._samples.append((now, num_steps, version))
        while now - self._samples[0][0] > _RATE_SECONDS:
            self._samples.popleft()
        share = self._share(num_steps * self._frame_skip, wall_seconds)
        text = self._text(num_steps, share)
        self._bar.update(self._task, completed=share, text=text)
        if self._kind == "lines" and now - self._line_at >= _LINE_SECONDS:
            self._line_at = now
            self._console.print(text, highlight=False, soft_wrap=True)

    def say(self, text: str) -> None:
        """A sentence for the user, above the bar."""
        self._bar.console.print(text, highlight=False, soft_wrap=True)

    def _share(self, num_frames: float, wall_seconds: float) -> float:
        shares = [0.0]
        if self._budget.frames is not None:
            shares.append(num_frames / self._budget.frames)
        if self._budget.minutes is not None:
            shares.append(wall_seconds / 60 / self._budget.minutes)
        return min(max(shares), 1.0)

    def _text(self, num_steps: int, share: float) -> str:
        (start, first_steps, first_version), (end, _, version) = self._samples[0], self._samples[-1]
        seconds = max(end - start, 1e-9)
        score = f"{sum(self._scores) / len(self._scores):.1f}" if self._scores else "-"
        parts = [
            f"{num_steps * self._frame_skip:,.0f} frames",
            f"{(num_steps - first_steps) / seconds:,.0f} steps/s",
            f"{(version - first_version) / seconds:,.0f} updates/s",
            self._learning,
            f"score {score}",
            f"ETA {self._eta(share)}",
        ]
        return " · ".join(parts)

    def _eta(self, share: float) -> str:
        # Measured from the first sight of this start: a resumed run begins with a share that cost it no time.
        now = time.monotonic()
        if self._first is None:
            self._first = (now, share)
        since, share_then = self._first
        if share <= share_then:
            return "-"
        seconds = round((now - since) / (share - share_then) * (1 - share))
        return str(datetime.timedelta(seconds=seconds))
