"""A kind of cluster is one file and its settings: nothing else has to know of it."""

import pkgutil
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest
import yaml
from distributed import LocalCluster

from pipeline.cluster import kinds
from pipeline.cluster.config import ClusterConfig, cluster_kind
from pipeline.cluster.kinds import CLUSTER_KINDS
from pipeline.cluster.kinds.address import AddressConfig, at_scheduler
from pipeline.cluster.kinds.local import ThreadsConfig, in_this_process
from pipeline.cluster.offers import future_offers
from pipeline.cluster.session import open_session
from pipeline.config import composition
from pipeline.config.composition import config_directory
from pipeline.config.overrides import compose
from pipeline.config.tree import to_yaml
from pipeline.errors import ConfigError
from pipeline.kinds import imported
from tests.clusters import LIMIT_SECONDS, cluster_config
from tests.config.runs import mistakes_in, run_of_yaml

SETTINGS = """
kind: toy
greeting: hello
num_hosts: null
groups: []
memory_bytes: 1_000_000_000
start_timeout_seconds: 60.0
lease_seconds: 30.0
max_restarts: 3
"""


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A kind that only this test knows: its class, and its file in a copy of `conf/`."""
    conf = tmp_path / "conf"
    shutil.copytree(config_directory(), conf)
    (conf / "cluster" / "toy.yaml").write_text(SETTINGS)
    monkeypatch.setattr(composition, "config_directory", lambda: conf)

    @cluster_kind("toy")
    @dataclass(frozen=True)
    class ToyConfig(ClusterConfig):
        needed_package: ClassVar[str | None] = "json"

        greeting: str

        def mistakes(self) -> list[str]:
            return super().mistakes() + ([] if self.greeting else ["greeting is missing"])

        def start(self, num_hosts: int, threads_per_host: int) -> LocalCluster:
            return LocalCluster(
                n_workers=num_hosts,
                threads_per_worker=threads_per_host,
                processes=False,
                dashboard_address="127.0.0.1:0",
                memory_limit=0,
            )

    yield
    del CLUSTER_KINDS["toy"]


def test_a_new_kind_composes_starts_and_runs_a_task(toy: None) -> None:
    run = compose(["game=Pong", "cluster=toy", "cluster.greeting=hi"])
    assert run_of_yaml(to_yaml(run)) == run
    assert future_offers(run.cluster, {None: 2}, 1) is not None
    with open_session(run.cluster, num_hosts=2, threads_per_host=1) as session:
        assert [offer.memory_bytes for offer in session.offers()] == [10**9, 10**9]
        assert session.dashboard_url.startswith("http://") and session.others() == ""
        task = session.submit(sum, [1, 2], host=max(session.hosts), name="sum")
        assert task.result(timeout=LIMIT_SECONDS) == 3


def test_mistakes_in_the_settings_of_a_new_kind_are_found_with_all_others(toy: None) -> None:
    assert mistakes_in(["game=Pongg", "cluster=toy", "cluster.greeting=''", "cluster.hosts=[a]"]) == [
        "cluster.hosts=[a]: no such setting of cluster kind=toy; it belongs to kind=ssh",
        "game=Pongg: no such game; did you mean Pong?",
        "cluster.greeting is missing",
    ]


class StartsNothing(ClusterConfig):
    """A kind that forgets to say how it is started."""


def test_a_kind_that_forgets_to_say_how_it_is_started_is_an_error_and_no_cluster_of_dask_s_own() -> None:
    with pytest.raises(TypeError, match=r"StartsNothing.*start"):
        StartsNothing("toy", None, None, 60.0, 3, 30.0, ())  # type: ignore[abstract]
    with pytest.raises(ConfigError, match=r"does not define start, which .*\.ClusterConfig leaves"):
        imported(f"{__name__}.StartsNothing", ClusterConfig)  # type: ignore[type-abstract]


def test_every_file_of_kinds_holds_one_and_each_has_settings_of_its_name() -> None:
    files = {f"{kinds.__name__}.{module.name}" for module in pkgutil.iter_modules(kinds.__path__)}
    assert {kind.__module__ for kind in CLUSTER_KINDS.values()} == files
    settings = {file.stem: yaml.safe_load(file.read_text()) for file in config_directory().glob("cluster/*.yaml")}
    assert {name: tree["kind"] for name, tree in settings.items()} == {kind: kind for kind in CLUSTER_KINDS}


def test_users_read_of_the_nearest_kinds_first() -> None:
    assert list(CLUSTER_KINDS)[:6] == ["threads", "processes", "address", "ssh", "slurm", "kubernetes"]


def test_settings_of_clusters_are_read_without_loading_dask_or_what_one_kind_needs() -> None:
    program = "import pipeline.cluster.kinds, sys; print([name for name in sys.argv[1:] if name in sys.modules])"
    heavy = ["dask", "distributed", "torch", "asyncssh", "dask_jobqueue", "dask_kubernetes", "kr8s"]
    answer = subprocess.run([sys.executable, "-c", program, *heavy], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


@pytest.mark.parametrize("kind", CLUSTER_KINDS)
def test_every_kind_can_be_carried_out_in_this_process_or_on_a_running_scheduler(kind: str) -> None:
    asked = cluster_config(kind, lease_seconds=7.0)
    here, there = in_this_process(asked), at_scheduler(asked, "tcp://10.0.0.1:8786")
    assert type(here) is ThreadsConfig and type(there) is AddressConfig
    assert here.mistakes() == there.mistakes() == []
    assert here.lease_seconds == there.lease_seconds == 7.0
