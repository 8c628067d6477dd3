"""The jobs of one sweep as its launcher tells of them: what each was asked, how it stands, how far it is.

Not here: the job runner (`dask_jobs`), where each job is drawn (`pipeline.cluster.dashboard.tiles`).
"""

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.cluster.glance import RunGlance

WAITING, RUNNING, DONE, FAILED, INTERRUPTED = STATUSES = ("waiting", "running", "done", "failed", "interrupted")
MAX_JOBS = 2_000
"""Jobs with higher numbers are not shown: the page has to be drawn, and a foreign message may name any."""


@dataclass
class Job:
    """One job of a sweep."""

    overrides: tuple[str, ...] = ()
    """As on the command line; empty when the message that named them was lost."""
    status: str = WAITING
    attempt: int = 0
    host: str = ""
    reason: str = ""
    """Why it failed or waits again; empty otherwise."""
    fraction: float | None = None
    """Of its work, 0.0 to 1.0."""
    glance: RunGlance | None = None
    """The newest one, if it is a run of this pipeline."""
    final_score: float | None = None
    """What it returned when it was done, if that is a number: of a run, the mean score of its final evaluation."""


class Sweep:
    """Jobs by number."""

    def __init__(self) -> None:
        self.jobs: dict[int, Job] = {}

    def receive(self, message: Mapping[str, Any]) -> RunGlance | None:
        """Take one message of the launcher; returns the glance that was in it, if any.

        Raises KeyError, TypeError or ValueError for a foreign one, and changes nothing then.
        """
        match message["kind"]:
            case "jobs":
                shown = [row for row in message["jobs"] if int(row["job"]) < MAX_JOBS]
                self._name([(_number(row["job"]), *_told(row), _final_score(row)) for row in shown])
            case "status":
                status, attempt = _status(message["status"]), int(message["attempt"])
                score = _final_score(message)
                job = self._job(message["job"])
                job.status, job.attempt, job.final_score = status, attempt, score
                job.host, job.reason = str(message["host"] or ""), str(message["reason"] or "")
                # An attempt that begins has not told yet how much of its work an earlier one has left it.
                job.fraction = {DONE: 1.0, RUNNING: None}.get(status, job.fraction)
            case "progress":
                fraction = message["fraction"]
                fraction = None if fraction is None else min(max(float(fraction), 0.0), 1.0)
                job = self._job(message["job"])
                job.fraction = fraction
                with contextlib.suppress(ValueError):  # of another program's job: it has details of its own
                    job.glance = RunGlance.from_message(message["details"])
                    return job.glance
            case kind:
                raise ValueError(f"kind={kind} is none of jobs, status and progress")
        return None

    def counts(self) -> dict[str, int]:
        """Status -> number of jobs, in the order of STATUSES."""
        return {status: sum(job.status == status for job in self.jobs.values()) for status in STATUSES}

    def _name(self, rows: Sequence[tuple[int, tuple[str, ...], str, float | None]]) -> None:
        for number, overrides, status, score in rows:
            job = self._job(number)
            job.overrides, job.status, job.final_score = overrides, status, score

    def _job(self, number: Any) -> Job:
        return self.jobs.setdefault(_number(number), Job())


def _told(row: Mapping[str, Any]) -> tuple[tuple[str, ...], str]:
    return tuple(str(override) for override in row["overrides"]), _status(row["status"])


def _final_score(told: Mapping[str, Any]) -> float | None:
    value = json.loads(str(told.get("return_value") or "null"))
    return float(value) if isinstance(value, int | float) else None


def _number(value: Any) -> int:
    number = int(value)
    if not 0 <= number < MAX_JOBS:
        raise ValueError(f"job={number} must lie in [0, {MAX_JOBS})")
    return number


def _status(value: Any) -> str:
    if value not in STATUSES:
        raise ValueError(f"status={value} is none of {', '.join(STATUSES)}")
    return str(value)
