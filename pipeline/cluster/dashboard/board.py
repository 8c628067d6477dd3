"""What the page knows: bounded series of every run and the jobs of every sweep, made from events. Logic without I/O.

    event of a run          {glance}                                                          -> series of its folder
    event of a launcher     {"sweep": …, "kind": "jobs" | "status", …}                        -> jobs of the sweep
                            {"sweep": …, "kind": "progress", "details": {glance}, …}          -> both

A message that is neither is ignored: anyone may log to these topics. One that was lost is made up for by the next; one
that comes twice, as of a run that shares its launcher's scheduler, adds nothing.
Not here: drawing (`pipeline.cluster.dashboard.page`), rows on disk, which nothing here touches.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import NamedTuple

from dask_jobs.progress import TOPIC as SWEEP_TOPIC
from pipeline.cluster.dashboard.sweep import Sweep
from pipeline.cluster.glance import TOPIC as RUN_TOPIC
from pipeline.cluster.glance import RunGlance

MAX_RUNS = 500
MAX_SWEEPS = 8
MAX_POINTS = 256
"""Of one run. When there are more, every second one goes, and new ones come half as often."""
TOPICS = (RUN_TOPIC, SWEEP_TOPIC)
_SILENT_SECONDS = 15.0
"""A run that was not heard of for so long was stopped, or has lost its cluster."""


class Point(NamedTuple):
    """One moment of a run: the fields of `RunGlance` that are drawn over time."""

    num_frames: int
    wall_seconds: float
    updates_per_second: float
    num_restarts: int
    mean_score: float | None
    mean_staleness: float | None
    replay_fill: float | None
    entropy: float | None
    late_share: float | None


class RunSeries:
    """One run from its first frame on."""

    def __init__(self, number: int, glance: RunGlance) -> None:
        self.number = number
        """Counts the runs in the order in which they were first heard of."""
        self.newest = glance
        self.heard_at = 0.0
        """When the board last got a glance, on its own clock."""
        self.points: list[Point] = []
        """Wall time grows from each to the next."""
        self._interval_seconds = 0.0

    @property
    def label(self) -> str:
        """Game, experiment and seed."""
        return f"{self.newest.game} · {self.newest.experiment} · seed {self.newest.seed}"

    def add(self, glance: RunGlance) -> None:
        """Go on with a newer glance. An older one is of a resume: what came after it was given up by the run, too."""
        point = Point(*(getattr(glance, name) for name in Point._fields))
        while self.points and self.points[-1].wall_seconds >= point.wall_seconds:
            self.points.pop()
        if len(self.points) > 1 and point.wall_seconds - self.points[-2].wall_seconds < self._interval_seconds:
            self.points.pop()
        self.points.append(point)
        if len(self.points) > MAX_POINTS:
            del self.points[1:-1:2]
            self._interval_seconds = (point.wall_seconds - self.points[0].wall_seconds) / len(self.points)
        self.newest = glance


class Board:
    """All runs and sweeps that were heard of, the longest silent ones forgotten first."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.runs: OrderedDict[str, RunSeries] = OrderedDict()
        """By run folder; the one that was heard of last stands last."""
        self.sweeps: OrderedDict[str, Sweep] = OrderedDict()
        """By the launcher's name for it, in the order in which they began."""
        self._num_runs = 0
        self._clock = clock

    def receive(self, topic: str, message: object) -> None:
        """Take one event of the scheduler."""
        try:
            if topic == RUN_TOPIC:
                self._see(RunGlance.from_message(message))
            elif topic == SWEEP_TOPIC and isinstance(message, Mapping):
                self._receive_of_sweep(message)
        except (KeyError, TypeError, ValueError):
            return

    def newest_runs(self, count: int) -> list[RunSeries]:
        """The runs that were heard of last, at most so many, in the order of their numbers."""
        return sorted(list(self.runs.values())[-count:], key=lambda run: run.number)

    def live_runs(self) -> list[RunSeries]:
        """The runs that train now, in the order of their numbers."""
        since = self._clock() - _SILENT_SECONDS
        live = [run for run in self.runs.values() if run.newest.fraction < 1 and run.heard_at > since]
        return sorted(live, key=lambda run: run.number)

    def newest_sweep(self) -> Sweep | None:
        """The sweep that began last."""
        return next(reversed(self.sweeps.values()), None)

    def _see(self, glance: RunGlance) -> None:
        if glance.folder not in self.runs:
            self._num_runs += 1
            self.runs[glance.folder] = RunSeries(self._num_runs, glance)
        run = self.runs[glance.folder]
        run.add(glance)
        run.heard_at = self._clock()
        self.runs.move_to_end(glance.folder)
        if len(self.runs) > MAX_RUNS:
            self.runs.popitem(last=False)

    def _receive_of_sweep(self, message: Mapping[str, object]) -> None:
        name = str(message["sweep"])
        sweep = self.sweeps.get(name, Sweep())
        glance = sweep.receive(message)
        self.sweeps[name] = sweep
        if len(self.sweeps) > MAX_SWEEPS:
            self.sweeps.popitem(last=False)
        if glance is not None:
            self._see(glance)
