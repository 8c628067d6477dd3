"""What a run shows while it goes, in one small message: for the page in the dashboard and for the tables of a sweep.

A glance is lossy on purpose: it may be dropped, doubled or late, and the next one replaces it. What may not be lost are
rows (`pipeline.cluster.coordination.channel`).
Not here: how it is measured (`pipeline.experiments.meter`), who draws it (`pipeline.cluster.dashboard`).
"""

import contextlib
import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from distributed import Client

from dask_jobs import progress
from pipeline.cluster.scheduler import scheduler_of
from pipeline.errors import SchedulerLostError

_PUBLISH_SECONDS = 5.0
"""How long a scheduler that stands still may hold up the run for a glance."""

TOPIC = "pipeline-progress"
"""Name of the event topic on the scheduler, the same for all runs: each message says whose it is."""


@dataclass(frozen=True)
class RunGlance:
    """One run as it is now. None: the run has no such number, or not yet."""

    folder: str
    """The run folder, with which a run is the same before and after a resume."""
    experiment: str
    game: str
    seed: int
    num_frames: int
    """Emulator frames of all actors since the run's first start."""
    fraction: float
    """Of the budget, 0.0 to 1.0."""
    wall_seconds: float
    """Since the run's first start, pauses between resumes not counted."""
    num_updates: int
    """Gradients that the server has applied since the run's first start, as far as its roles have seen."""
    steps_per_second: float
    """Agent steps of all roles, mean of the last half minute."""
    updates_per_second: float
    """Of the server, mean of the last half minute."""
    role_steps_per_second: Mapping[str, float]
    """The same of each role that plays, by its name."""
    num_restarts: int
    """Roles that were started again, and returns to a checkpoint, since this start of the run."""
    eta_seconds: float | None
    """Until the budget is spent, at the pace since this start of the run."""
    mean_score: float | None
    """Mean sum of unclipped rewards of the last 100 training games that ended."""
    mean_staleness: float | None
    """Versions; of the newest group of updates of any role. None for a synchronous server: it admits no stale one."""
    replay_fill: float | None
    """Kept transitions of all that fit, 0.0 to 1.0."""
    epsilon: float | None
    """Exploration rate (Q-learning)."""
    entropy: float | None
    """Of the policy, nats per step (actor-critic)."""
    late_share: float | None
    """Gradients too late for their quorum, of all in each worker's newest group, 0.0 to 1.0 (synchronous server)."""

    def to_message(self) -> dict[str, object]:
        """Plain scalars, and one map of them, as Dask's events and JSON carry."""
        return dataclasses.asdict(self)

    @classmethod
    def from_message(cls, message: Any) -> "RunGlance":
        """Inverse of `to_message`. Raises ValueError for anything else."""
        try:
            return cls(**{name: convert(message[name]) for name, convert in _FIELDS.items()})
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"no glance at a run: {error!r} in {str(message)[:200]}") from error


def publish(client: Client, glance: RunGlance) -> None:
    """Send a glance to the run's scheduler, and to the launcher of the sweep that the run belongs to, if any."""
    message = glance.to_message()
    # The run itself finds out what has become of its cluster. Not `Client.log_event`, which waits for a scheduler that
    # stands still for ever.
    with contextlib.suppress(OSError, SchedulerLostError), scheduler_of(client) as scheduler:
        client.sync(scheduler.log_event, topic=TOPIC, msg=message, callback_timeout=_PUBLISH_SECONDS)
    progress.report(glance.fraction, glance.steps_per_second, "steps/s", message)


def _rates(value: Any) -> dict[str, float]:
    return {str(role): float(rate) for role, rate in value.items()}


def _number_or_none(value: Any) -> float | None:
    return None if value is None else float(value)


_CONVERTERS: dict[Any, Callable[[Any], Any]] = {
    str: str,
    int: int,
    float: float,
    float | None: _number_or_none,
    Mapping[str, float]: _rates,
}
_FIELDS = {field.name: _CONVERTERS[field.type] for field in dataclasses.fields(RunGlance)}
