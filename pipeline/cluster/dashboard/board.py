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
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from dask_jobs.progress import TOPIC as SWEEP_TOPIC
from pipeline.cluster.dashboard.sweep import Sweep
from pipeline.cluster.dashboard.tiles import differing, settings_of
from pipeline.cluster.glance import TOPIC as RUN_TOPIC
from pipeline.cluster.glance import RunGlance

MAX_RUNS = 500
MAX_SWEEPS = 8
MAX_POINTS = 256
"""Of one run. When there are more, every second one goes, and new ones come half as often."""
TOPICS = (RUN_TOPIC, SWEEP_TOPIC)
_IN_LABEL = frozenset({"game", "experiment", "seed"})
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


class ShownRuns:
    """So many of a board's runs, each for as long as it trains: a line is not to come and go with each glance.

    The others' places go to those that were heard of last.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._folders: frozenset[str] = frozenset()

    def among(self, runs: Iterable[RunSeries], live: Collection[RunSeries]) -> list[RunSeries]:
        """These of `runs`, which come in the order in which they were heard of, as they do here."""
        by_folder = {run.newest.folder: run for run in runs}
        training = {run.newest.folder for run in live}
        stay = [folder for folder in by_folder if folder in self._folders & training]
        others = [folder for folder in reversed(by_folder) if folder not in stay]
        self._folders = frozenset([*stay, *others][: self._count])
        return [run for folder, run in by_folder.items() if folder in self._folders]


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

    def live_runs(self) -> list[RunSeries]:
        """The runs that train now, in the order of their numbers."""
        since = self._clock() - _SILENT_SECONDS
        return in_order(run for run in self.runs.values() if run.newest.fraction < 1 and run.heard_at > since)

    def labels(self, runs: Iterable[RunSeries]) -> dict[str, str]:
        """Folder -> what to call each of these runs, so that no two are called alike.

        Runs of one game, experiment and seed are parted by what their sweep asked of each, if that is known, else by
        their folders.
        """
        labels = {run.newest.folder: run.label for run in runs}
        alike: dict[str, list[str]] = {}
        for folder, label in labels.items():
            alike.setdefault(label, []).append(folder)
        for label, folders in alike.items():
            if len(folders) > 1:
                parts = self._asked_of(folders)
                if len(set(parts)) < len(folders):
                    parts = _tails(folders)
                labels |= {folder: f"{label} · {part}" for folder, part in zip(folders, parts, strict=True) if part}
        return labels

    def newest_sweep(self) -> Sweep | None:
        """The sweep that began last."""
        return next(reversed(self.sweeps.values()), None)

    def _asked_of(self, folders: Sequence[str]) -> list[str]:
        """What sweeps asked of some of these runs and not of all, and their labels do not say."""
        asked: dict[str, dict[str, str]] = {folder: {} for folder in folders}
        for job in (job for sweep in self.sweeps.values() for job in sweep.jobs.values()):
            if job.glance is not None and job.glance.folder in asked:
                settings = settings_of(job)
                asked[job.glance.folder] = {name: settings[name] for name in settings if name not in _IN_LABEL}
        return differing(list(asked.values()))

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


def in_order(runs: Iterable[RunSeries]) -> list[RunSeries]:
    """These runs in the order of their numbers."""
    return sorted(runs, key=lambda run: run.number)


def _tails(folders: Sequence[str]) -> list[str]:
    """Of each of these folders the part of its path that is not the same in all: `old` and `new` of old/0 and new/0."""
    paths = [folder.split("/") for folder in folders]
    first = _num_same(paths)
    last = _num_same([path[:first:-1] for path in paths])
    return ["/".join(path[first : len(path) - last]) for path in paths]


def _num_same(paths: Sequence[Sequence[str]]) -> int:
    """How many of their first parts are the same in all."""
    return next(
        (index for index, parts in enumerate(zip(*paths, strict=False)) if len(set(parts)) > 1), min(map(len, paths))
    )
