"""Packages that only some kinds of cluster need."""

import importlib.util
import os
import tomllib
from pathlib import Path

import pytest
from distributed import Client

from pipeline.cluster import start
from pipeline.cluster.kinds import CLUSTER_KINDS
from pipeline.cluster.session import open_session
from pipeline.cluster.start import check_installed, check_process, submission
from pipeline.errors import ConfigError
from tests.clusters import cluster_config

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
