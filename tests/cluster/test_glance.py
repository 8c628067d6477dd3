"""Glances as messages: there and back, foreign ones, and both ways that they are published."""

import json
import os
from typing import Any

import pytest

from dask_jobs import progress
from pipeline.cluster.glance import TOPIC, RunGlance, publish
from pipeline.cluster.session import Session
from tests.cluster.glances import glance


def test_a_glance_survives_json() -> None:
    sent = glance(mean_score=None, entropy=1.5)
    assert RunGlance.from_message(json.loads(json.dumps(sent.to_message()))) == sent


@pytest.mark.parametrize(
    "message",
    [
        None,
        "no message",
        {},
        {name: value for name, value in glance().to_message().items() if name != "seed"},
        glance().to_message() | {"num_frames": "many"},
        glance().to_message() | {"num_frames": None},
        glance().to_message() | {"role_steps_per_second": [1.0]},
    ],
)
def test_what_is_no_glance_is_refused(message: Any) -> None:
    with pytest.raises(ValueError, match="no glance at a run"):
        RunGlance.from_message(message)


def test_a_glance_of_a_newer_version_with_more_in_it_is_understood() -> None:
    assert RunGlance.from_message(glance().to_message() | {"mood": "good"}) == glance()


def test_a_glance_is_published_on_the_scheduler_of_its_run(threads_session: Session) -> None:
    publish(threads_session.client, glance("/runs/published"))
    messages = [message for _, message in threads_session.client.get_events(TOPIC)]
    assert glance("/runs/published") in [RunGlance.from_message(message) for message in messages]


def test_a_job_of_a_sweep_reports_its_glance_to_the_launcher(
    threads_session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, writer = os.pipe()
    monkeypatch.setenv(progress.PIPE_VARIABLE, f"{os.getpid()}:{writer}")
    try:
        publish(threads_session.client, glance())
        report = json.loads(os.read(reader, 1 << 16))
    finally:
        os.close(reader)
        os.close(writer)
    assert (report["fraction"], report["rate"], report["unit"]) == (0.5, 100.0, "steps/s")
    assert RunGlance.from_message(report["details"]) == glance()
