"""Hosts are asked side by side, and none keeps the answers of others."""

import os
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from distributed import Client, Worker

from dask_jobs.questions import Questions
from tests.clusters import running_cluster, wait_until

MAY_ANSWER = threading.Event()


def reply(name: str, dask_worker: Worker) -> str:
    """Of the second host: when it may."""
    if dask_worker.name == 1:
        raise OSError("it cannot be reached") if not MAY_ANSWER.is_set() else ValueError(name)
    return f"{name} {os.getpid()}"


class Running(NamedTuple):
    client: Client
    hosts: list[str]


@pytest.fixture
def running() -> Iterator[Running]:
    MAY_ANSWER.clear()
    with running_cluster(2) as cluster, Client(cluster, set_as_default=False) as client:
        yield Running(client, [worker.address for worker in cluster.workers.values()])


def test_who_cannot_be_reached_is_asked_again_and_what_it_raises_is_its_answer(running: Running) -> None:
    questions = Questions(running.client, reply, "dear", longest_seconds=60.0)
    first, second = running.hosts
    assert questions.ask([first, second], 10.0) == {first: f"dear {os.getpid()}"}
    assert questions.num_open == 1
    assert questions.silent(60.0) == []
    assert questions.silent(0.0) == [second]
    assert questions.silent(0.0) == [], "each is named once"
    MAY_ANSWER.set()
    answers: dict[str, Any] = {}
    wait_until(lambda: answers.update(questions.ask([second], 0.0)) or answers, "it answers")
    assert isinstance(answers[second], ValueError)
    assert questions.num_open == 0


def test_who_is_there_no_more_is_forgotten(running: Running) -> None:
    questions = Questions(running.client, reply, "dear", longest_seconds=60.0)
    _, second = running.hosts
    assert questions.ask([second], 10.0) == {}
    assert questions.ask([], 10.0) == {}
    assert questions.num_open == 0 and questions.silent(0.0) == []
