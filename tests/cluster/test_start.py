"""Packages that only some kinds of cluster need."""

import importlib.util
import os
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from distributed import Client

from pipeline.cluster import start
from pipeline.cluster.dashboard.plugin import DASKS_PAGE, register
from pipeline.cluster.kinds import CLUSTER_KINDS
from pipeline.cluster.packages import check_importable
from pipeline.cluster.session import open_session
from pipeline.cluster.start import check_installed, check_process, submission, wait_for_hosts
from pipeline.errors import ConfigError, SchedulerLostError, UnreachableError
from tests.clocks import Clock
from tests.clusters import cluster_config, wait_until
from tests.dask_jobs.programs import scheduler_and_host, scheduler_process

NEEDY = ("ssh", "slurm", "kubernetes")


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)


@pytest.mark.parametrize("kind", NEEDY)
def test_a_missing_package_is_one_error_that_names_the_extra(nothing_installed: None, kind: str) -> None:
    with pytest.raises(ConfigError, match=rf"not installed here: pip install 'gorila-dba3c-pipeline\[{kind}\]'"):
        open_session(cluster_config(kind), 1, 1).__enter__()
    with pytest.raises(ConfigError, match=rf"pipeline\[{kind}\]"):
        submission(cluster_config(kind), 1, 1)


def test_the_other_kinds_need_nothing_more(nothing_installed: None) -> None:
    for kind in set(CLUSTER_KINDS) - set(NEEDY):
        check_installed(kind)


def test_each_kind_that_needs_a_package_is_an_extra_of_the_project() -> None:
    file = Path(__file__).parents[2] / "pyproject.toml"
    optional = tomllib.loads(file.read_text())["project"]["optional-dependencies"]
    assert set(NEEDY) <= set(optional)


def test_a_run_inside_a_dask_task_is_refused_in_one_sentence() -> None:
    check_process()
    with (
        Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None) as client,
        pytest.raises(ConfigError, match=r"a task on the Dask host inproc://.*, and a run is not: .*cluster=address"),
    ):
        client.submit(check_process, pure=False).result()


def test_a_run_in_a_process_forked_from_one_with_a_run_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "_CONNECTED_IN", {os.getppid()})
    with pytest.raises(ConfigError, match=r"this process was forked .*get_context\(.spawn.\)"):
        check_process()
    monkeypatch.setattr(start, "_CONNECTED_IN", {os.getpid()})
    check_process()


def test_hosts_that_come_behind_a_pause_of_the_whole_process_are_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, pauses, there = Clock(), [0.0, 3600.0, 3600.0], [1, 1, 2]
    monkeypatch.setattr(start, "time", clock)
    config = cluster_config("address", start_timeout_seconds=60.0)

    def look(*_: object) -> int:
        clock.now += pauses.pop(0)
        return there.pop(0)

    monkeypatch.setattr(start, "_num_present", look)
    wait_for_hosts(cast(Client, SimpleNamespace(cluster=None)), config, 2, 5.0, lambda _: None)
    assert there == []


@pytest.fixture
def stopped(tmp_path: Path) -> Iterator[tuple[Client, Callable[[], None]]]:
    """A client of a scheduler that stands still, and how to kill that."""
    with scheduler_and_host(tmp_path) as address, Client(address) as client:
        process = scheduler_process(tmp_path)
        wait_until(client.nthreads, "the host has come")
        process.suspend()
        yield client, process.kill
        process.kill()


@pytest.mark.slow
def test_a_scheduler_that_stands_still_or_dies_at_the_start_is_one_sentence_in_time(
    stopped: tuple[Client, Callable[[], None]],
) -> None:
    client, kill = stopped
    config, said = cluster_config("address"), list[str]()

    def wait(answer_seconds: float) -> None:
        wait_for_hosts(client, config, 2, 0.1, said.append, answer_seconds=answer_seconds)

    def check(answer_seconds: float) -> None:
        check_importable(client, [], ["json"], answer_seconds=answer_seconds)

    for ask in (wait, check):
        with pytest.raises(UnreachableError, match="the scheduler does not answer any more") as raised:
            ask(1.0)
        assert not isinstance(raised.value, SchedulerLostError), "it may go on"
    assert register(client, said.append, answer_seconds=1.0) == (DASKS_PAGE,)
    assert said == ["the dashboard has no page of the pipeline: the scheduler has not answered within 1 s"]
    kill()
    for ask in (wait, check):
        with pytest.raises(SchedulerLostError, match="the scheduler does not answer any more"):
            ask(60.0)
