"""The plan of a whole sweep: each job with its hosts, memory and hours, and what all of them come to. Starts nothing.

    plan_jobs -> JobPlan, one each        render -> table and totals

Hours are of training alone, by a measurement of seconds on this machine for each kind of run (`outlook`); a budget in
minutes bounds them. Not here: which jobs there are (`pipeline.config.sweep_jobs`), starting them (`dask_jobs`).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from pipeline.cluster.hosts import report_host
from pipeline.config.run_config import RunConfig
from pipeline.config.sweep_jobs import SweepJob
from pipeline.experiments.files.run_folder import CONFIG
from pipeline.experiments.outlook import duration, rehearse
from pipeline.experiments.plan import COORDINATOR_BYTES, host_demands
from pipeline.experiments.specs import check_roles

_OWN_COLUMNS = ("experiment", "game", "seed")
_SAME_FOR_ALL = ("plan",)


class JobPlan(NamedTuple):
    """What one job asks for."""

    number: int
    run: RunConfig
    others: str
    """Its words beside experiment, game and seed."""
    num_hosts: int
    num_threads: int
    """Compute threads on all of them."""
    memory_bytes: int
    """On all of them, the process of the job included."""
    hours: float | None
    """Of training; None where nobody can tell."""


def plan_jobs(jobs: Sequence[SweepJob], speed: Callable[[RunConfig], float | None]) -> list[JobPlan]:
    """Each job's plan. `speed` tells the frames a second of a run; it is asked once for each kind of run.

    Raises ConfigError as `check_roles`.
    """
    speeds: dict[str, float | None] = {}
    found = []
    for number, (overrides, run) in enumerate(jobs):
        kind = repr(replace(run, game="", seed=0, results_dir=""))
        if kind not in speeds:
            check_roles(run)
            speeds[kind] = speed(run)
        hosts = host_demands(run)
        memory = COORDINATOR_BYTES + sum(host.memory_bytes for host in hosts)
        others = " ".join(word for word in overrides if word.partition("=")[0] not in (*_OWN_COLUMNS, *_SAME_FOR_ALL))
        threads = sum(host.num_threads for host in hosts)
        found.append(JobPlan(number, run, others, len(hosts), threads, memory, hours(run, speeds[kind])))
    return found


def hours(run: RunConfig, frames_per_second: float | None) -> float | None:
    """Until the run's budget ends its training; None where neither frames nor minutes tell."""
    frames, minutes = run.budget.frames, run.budget.minutes
    by_frames = None if frames is None or not frames_per_second else frames / frames_per_second / 3600
    by_minutes = None if minutes is None else minutes / 60
    known = [bound for bound in (by_frames, by_minutes) if bound is not None]
    return min(known, default=None)


def hours_side_by_side(jobs: Sequence[JobPlan], num_cores: int) -> float | None:
    """Of all jobs on this machine, each of which takes its threads' share of the cores; None where one is unknown."""
    if any(job.hours is None for job in jobs):
        return None
    return sum(job.hours * min(job.num_threads, num_cores) / num_cores for job in jobs if job.hours is not None)


def render(jobs: Sequence[JobPlan], num_cores: int) -> RenderableType:
    """The table of all jobs, and their sums."""
    table = Table(title=f"plan of {len(jobs):,} jobs", title_justify="left")
    table.add_column("job", justify="right")
    for heading in ("experiment", "game"):
        table.add_column(heading)
    for heading in ("seed", "hosts", "threads", "memory", "training"):
        table.add_column(heading, justify="right")
    has_others = any(job.others for job in jobs)
    if has_others:
        table.add_column("else")
    for job in jobs:
        numbers = (str(job.num_hosts), str(job.num_threads), f"{job.memory_bytes / 2**30:.2f} GiB", _told(job.hours))
        told = (str(job.number), job.run.experiment, job.run.game, str(job.run.seed), *numbers)
        table.add_row(*map(Text, (*told, job.others) if has_others else told))
    return Group(table, *map(Text, _sums(jobs, num_cores)))


def show(jobs: Sequence[SweepJob], console: Console) -> None:
    """Measure, and print the plan. Raises a PipelineError that would end a run as well."""

    def speed(run: RunConfig) -> float | None:
        if run.budget.frames is None or not run.cluster.is_on_this_machine:
            return None
        console.print(f"measuring how fast {run.experiment} is here", markup=False, highlight=False)
        return rehearse(run)

    planned = plan_jobs(jobs, speed)
    console.print(render(planned, report_host().num_cores))


def _sums(jobs: Sequence[JobPlan], num_cores: int) -> list[str]:
    largest = max(job.memory_bytes for job in jobs) / 2**30
    lines = [f"{len(jobs):,} jobs, the largest with {largest:.2f} GiB"]
    known = [job.hours for job in jobs if job.hours is not None]
    if (together := hours_side_by_side(jobs, num_cores)) is not None:
        lines.append(
            f"training one after the other takes about {_told(sum(known))}; side by side on the {num_cores} "
            f"cores of this machine (hydra/launcher=dask) about {_told(together)}; games after it are not counted"
        )
    else:
        lines.append(
            f"how long {len(jobs) - len(known):,} of them train cannot be told: no measurement on this machine"
        )
    if there := sum((job.run.folder / CONFIG).exists() for job in jobs):
        lines.append(f"{there:,} of the run folders are there already: hydra/launcher=dask goes on with them")
    return lines


def _told(hours: float | None) -> str:
    return "?" if hours is None else duration(60 * hours)
