"""What a driver says, a JSON line each, and the speeds that are read from it.

    {"facts": {"torch": "2.13.0", "compute_threads": 2}}
    {"role": "bundle-0", "seconds": 41.2, "steps": 5200, "updates": 2550}

Nothing is imported that a bare Python lacks: the Pythons of other libraries import this too.
Not here: listening (`benchmarks.peers.watch`).
"""

import json
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import NamedTuple

Fact = float | int | str


@dataclass(frozen=True)
class Progress:
    """How far a role is. A library without roles is a single one."""

    seconds: float
    """On any clock that does not stand still or jump."""
    steps: int
    """Agent steps that this role has made, `frame_skip` frames each."""
    updates: int
    """Of the parameters, by all roles together, as far as this one knows."""
    role: str = "all"


class Rates(NamedTuple):
    """Over the window that was measured."""

    steps_per_second: float
    """Of all roles together."""
    updates_per_second: float
    window_seconds: float
    """Of the role that was watched longest: a window ends with the first progress after its time."""


class ProgressReporter:
    """Says how far a driver is, about once a second, however often it is asked to."""

    def __init__(self, every_seconds: float = 1.0) -> None:
        self._every_seconds = every_seconds
        self._last_seconds = float("-inf")

    def say(self, steps: int, updates: int) -> None:
        """Print a line if the last one is long enough ago."""
        seconds = time.monotonic()
        if seconds - self._last_seconds >= self._every_seconds:
            self._last_seconds = seconds
            say(Progress(seconds, int(steps), int(updates)))


def say(progress: Progress) -> None:
    """Print one line."""
    print(json.dumps(asdict(progress)), flush=True)


def say_facts(**facts: Fact) -> None:
    """Print what is to stand in the row: versions, threads."""
    print(json.dumps({"facts": facts}), flush=True)


def heard(line: str) -> Progress | Mapping[str, Fact] | None:
    """What a line says: progress, facts, or None where a library prints something of its own."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    if not isinstance(found, dict):
        return None
    if isinstance(found.get("facts"), dict):
        return dict(found["facts"])
    if found.keys() == Progress.__dataclass_fields__.keys():
        return Progress(**found)
    return None


def rates(marks: Iterable[Progress], num_roles: int, warmup_seconds: float, window_seconds: float) -> Rates | None:
    """Speeds of the window of each role, or None while a role has not come to its end.

    It begins with the role's first progress that is `warmup_seconds` after the first with an update, so that neither
    the start nor the filling of a replay is in it, and ends with the first that is `window_seconds` and an update
    later: without one, games would have been measured and no training.
    """
    of_roles: dict[str, list[Progress]] = defaultdict(list)
    for mark in marks:
        if mark.updates >= 1:
            of_roles[mark.role].append(mark)
    windows = [_window(marks, warmup_seconds, window_seconds) for marks in of_roles.values()]
    complete = [window for window in windows if window is not None]
    if len(complete) < num_roles:
        return None
    spans = [last.seconds - first.seconds for first, last in complete]
    return Rates(
        steps_per_second=sum(
            (last.steps - first.steps) / span for (first, last), span in zip(complete, spans, strict=True)
        ),
        # Each role tells the updates of all.
        updates_per_second=sum(
            (last.updates - first.updates) / span for (first, last), span in zip(complete, spans, strict=True)
        )
        / len(complete),
        window_seconds=max(spans),
    )


def _window(marks: list[Progress], warmup_seconds: float, window_seconds: float) -> tuple[Progress, Progress] | None:
    first = next((mark for mark in marks if mark.seconds >= marks[0].seconds + warmup_seconds), None)
    if first is None:
        return None
    end = first.seconds + window_seconds
    last = next((mark for mark in marks if mark.seconds >= end and mark.updates > first.updates), None)
    return None if last is None or last.seconds <= first.seconds else (first, last)
