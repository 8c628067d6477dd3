"""The jobs of a sweep, from its launcher's messages."""

from typing import Any

import pytest

from pipeline.cluster.dashboard.sweep import MAX_JOBS, Job, Sweep
from tests.cluster.glances import glance

JOBS = {
    "sweep": "s",
    "kind": "jobs",
    "jobs": [
        {"job": 0, "overrides": ["game=Alien"], "status": "done", "return_value": "227.8"},
        {"job": 1, "overrides": ["game=Pong"], "status": "waiting"},
    ],
}


def status(job: int, status: str, attempt: int = 1, reason: str = "") -> dict[str, Any]:
    return {"kind": "status", "job": job, "status": status, "attempt": attempt, "host": "tcp://h:1", "reason": reason}


def progress(job: int, fraction: float | None, details: dict[str, object]) -> dict[str, Any]:
    return {"kind": "progress", "job": job, "fraction": fraction, "rate": 1.0, "unit": "steps/s", "details": details}


def test_jobs_are_known_from_the_start_and_counted_by_status() -> None:
    sweep = Sweep()
    assert sweep.receive(JOBS) is None
    assert sweep.jobs[1].overrides == ("game=Pong",)
    assert sweep.counts() == {"waiting": 1, "running": 0, "done": 1, "failed": 0, "interrupted": 0}


def test_a_sweeper_that_launches_again_adds_jobs() -> None:
    sweep = Sweep()
    sweep.receive(JOBS)
    sweep.receive({"kind": "jobs", "jobs": [{"job": 2, "overrides": ["game=Qbert"], "status": "waiting"}]})
    assert [job.overrides[0] for job in sweep.jobs.values()] == ["game=Alien", "game=Pong", "game=Qbert"]


def test_a_status_says_where_and_why_and_what_is_done_is_done_wholly() -> None:
    sweep = Sweep()
    sweep.receive(JOBS)
    sweep.receive(status(1, "running"))
    sweep.receive(progress(1, 0.5, {}))
    assert sweep.jobs[1].fraction == 0.5
    sweep.receive(status(1, "failed", reason="ValueError: no"))
    assert (sweep.jobs[1].status, sweep.jobs[1].host, sweep.jobs[1].reason) == ("failed", "tcp://h:1", "ValueError: no")
    sweep.receive(status(1, "running", attempt=2))
    assert sweep.jobs[1] == Job(("game=Pong",), "running", 2, "tcp://h:1")
    sweep.receive(status(1, "done", attempt=2))
    assert sweep.jobs[1].fraction == 1.0


@pytest.mark.parametrize(("returned", "score"), [("-3.5", -3.5), ("7", 7.0), ('"red"', None), ("", None)])
def test_what_a_job_returned_is_its_score_if_it_is_a_number(returned: str, score: float | None) -> None:
    sweep = Sweep()
    sweep.receive(JOBS)
    assert sweep.jobs[0].final_score == 227.8, "of a job that an earlier command has done"
    sweep.receive(status(1, "done") | {"return_value": returned})
    assert sweep.jobs[1].final_score == score


def test_a_job_whose_naming_was_lost_is_there_by_its_number() -> None:
    sweep = Sweep()
    sweep.receive(status(7, "running"))
    assert sweep.jobs[7].overrides == () and sweep.jobs[7].status == "running"


def test_progress_holds_a_glance_or_details_of_another_program() -> None:
    sweep = Sweep()
    assert sweep.receive(progress(0, 0.1, glance().to_message())) == glance() == sweep.jobs[0].glance
    assert sweep.receive(progress(0, 1.7, {"loss": 0.3})) is None
    assert sweep.jobs[0].fraction == 1.0 and sweep.jobs[0].glance == glance()
    sweep.receive(progress(0, None, {}))
    assert sweep.jobs[0].fraction is None


def test_jobs_beyond_what_the_page_shows_leave_the_others_their_names() -> None:
    sweep = Sweep()
    jobs = [{"job": number, "overrides": ["game=Pong"], "status": "waiting"} for number in (0, MAX_JOBS)]
    sweep.receive({"kind": "jobs", "jobs": jobs})
    assert [job.overrides for job in sweep.jobs.values()] == [("game=Pong",)]


@pytest.mark.parametrize(
    "message",
    [
        {"kind": "party"},
        {"kind": "jobs", "jobs": [{"job": 0, "overrides": [], "status": "waiting"}, {"job": 1}]},
        status(0, "asleep"),
        status(MAX_JOBS, "running"),
        status(0, "running") | {"attempt": "first"},
        progress(-1, 0.5, {}),
        progress(0, 0.5, {}) | {"fraction": "half"},
        status(0, "done") | {"return_value": "{"},
    ],
)
def test_a_foreign_message_is_refused_and_changes_nothing(message: dict[str, Any]) -> None:
    sweep = Sweep()
    with pytest.raises((KeyError, TypeError, ValueError)):
        sweep.receive(message)
    assert sweep.jobs == {}
