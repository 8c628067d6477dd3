"""The plan of a sweep: hosts, memory and hours of each job, and their sums."""

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from pipeline.config.course import BudgetConfig
from pipeline.config.run_config import RunConfig
from pipeline.config.sweep_jobs import SweepJob
from pipeline.experiments.files.run_folder import CONFIG
from pipeline.experiments.sweeps import plan
from pipeline.experiments.sweeps.plan import JobPlan, hours, hours_side_by_side, plan_jobs, render, show
from tests.experiments.smoke_runs import smoke_config


def with_budget(run: RunConfig, frames: int | None, minutes: float | None) -> RunConfig:
    return replace(run, budget=BudgetConfig(frames=frames, minutes=minutes, score=None))


@pytest.mark.parametrize(
    ("frames", "minutes", "speed", "expected"),
    [
        (7_200_000, None, 1_000.0, 2.0),
        (7_200_000, 30.0, 1_000.0, 0.5),
        (7_200_000, 300.0, 1_000.0, 2.0),
        (None, 30.0, 1_000.0, 0.5),
        (7_200_000, 30.0, None, 0.5),
        (7_200_000, None, None, None),
    ],
)
def test_hours_are_those_of_the_bound_that_comes_first(
    tmp_path: Path, frames: int | None, minutes: float | None, speed: float | None, expected: float | None
) -> None:
    assert hours(with_budget(smoke_config(tmp_path), frames, minutes), speed) == expected


def test_each_kind_of_run_is_measured_once_whatever_its_game_and_seed(tmp_path: Path) -> None:
    smoke, slow = smoke_config(tmp_path), smoke_config(tmp_path, "algorithm.discount=0.9")
    runs = [smoke, replace(smoke, game="Pong", seed=7), slow]
    asked: list[float] = []

    def speed(run: RunConfig) -> float:
        asked.append(run.algorithm.discount)
        return 1_000.0

    planned = plan_jobs([SweepJob(("game=Pong", "algorithm.discount=0.9"), run) for run in runs], speed)
    assert asked == [0.99, 0.9]
    assert [(job.number, job.num_hosts, job.num_threads, job.others) for job in planned] == [
        (number, 2, 2, "algorithm.discount=0.9") for number in range(3)
    ]


def job(run: RunConfig, num_threads: int, hours: float | None) -> JobPlan:
    return JobPlan(0, run, "", 1, num_threads, 2**30, hours)


def test_jobs_share_the_cores_by_their_threads_and_one_that_wants_more_has_all(tmp_path: Path) -> None:
    run = smoke_config(tmp_path)
    jobs = [job(run, 1, 2.0), job(run, 1, 4.0), job(run, 8, 1.0)]
    assert hours_side_by_side(jobs, num_cores=2) == 4.0
    assert hours_side_by_side([*jobs, job(run, 1, None)], num_cores=2) is None


def test_the_table_has_a_row_for_each_job_and_says_which_folders_are_there(tmp_path: Path) -> None:
    run = smoke_config(tmp_path)
    (run.folder / CONFIG).parent.mkdir(parents=True)
    (run.folder / CONFIG).touch()
    output = io.StringIO()
    Console(file=output, width=160).print(render([job(run, 1, 2.0), job(replace(run, seed=5), 1, None)], num_cores=2))
    text = output.getvalue()
    assert f"{run.experiment} │ {run.game}" in text
    assert "2 hours" in text and "how long 1 of them train cannot be told" in text
    assert "1 of the run folders are there already" in text


def test_a_sweep_that_its_minutes_bound_is_shown_without_a_measurement(tmp_path: Path) -> None:
    run = with_budget(smoke_config(tmp_path), None, 30.0)
    output = io.StringIO()
    show([SweepJob((), run), SweepJob((), replace(run, seed=1))], Console(file=output, width=160))
    assert "measuring" not in output.getvalue()
    assert "training one after the other takes about 60 minutes" in output.getvalue()


def test_each_kind_of_run_with_a_number_of_frames_is_measured_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "rehearse", lambda run: 1_000.0)
    run = with_budget(smoke_config(tmp_path), 3_600_000, None)
    output = io.StringIO()
    show([SweepJob((), run), SweepJob((), replace(run, game="Pong"))], Console(file=output, width=160))
    assert output.getvalue().count(f"measuring how fast {run.experiment} is here") == 1
    assert "training one after the other takes about 2 hours" in output.getvalue()
