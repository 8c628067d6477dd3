"""What hosts say of themselves, and who may take part."""

import asyncio
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from dask.system import CPU_COUNT
from distributed import Client, LocalCluster, Scheduler, Worker

import pipeline
from pipeline.cluster import hosts, surveyor
from pipeline.cluster.granted import GrantedHosts
from pipeline.cluster.hosts import HostReport, check_versions, open_hosts, report_host
from pipeline.cluster.session import Session, open_session
from pipeline.errors import HostMismatchError
from tests.clusters import cluster_config

CHECKOUT = Path(pipeline.__file__).resolve().parents[1]


def other(**versions: str) -> HostReport:
    ours = report_host()
    return replace(ours, versions=ours.versions | versions)


def test_a_host_reports_its_machine_and_the_versions_that_must_be_equal() -> None:
    report = report_host()
    assert report.machine == socket.gethostname()
    assert report.num_cores == CPU_COUNT
    assert 0 < report.free_memory_bytes < psutil.virtual_memory().total
    assert report.versions["pipeline"] == pipeline.__version__
    assert report.versions["torch"] == torch.__version__.split("+")[0]
    assert list(report.versions) == ["python", "pipeline", "torch", "ale-py", "distributed", "code"]


def test_a_host_in_a_container_offers_no_more_memory_than_that_has() -> None:
    assert report_host(memory_limit_bytes=1_000_000).free_memory_bytes == 800_000


def test_a_host_reports_the_gpus_that_it_was_started_with() -> None:
    with (
        LocalCluster(
            n_workers=1, processes=False, dashboard_address="127.0.0.1:0", memory_limit=0, resources={"GPU": 2}
        ) as cluster,
        Client(cluster) as client,
    ):
        assert [report.declared_gpus for report in client.run(report_host).values()] == [2]
    assert report_host().declared_gpus is None


@pytest.mark.slow
def test_a_host_knows_how_long_the_job_is_there_that_it_belongs_to() -> None:
    program = "import time; from pipeline.cluster.hosts import report_host; print(report_host().age_seconds)"
    began = psutil.Process().create_time()
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert 0 < float(answer.stdout) <= time.time() - began + 1


def test_hosts_of_one_installation_take_part(session: Session) -> None:
    check_versions(report_host(), session.hosts)


def test_hosts_with_other_versions_are_refused_each_with_both_versions() -> None:
    ours = report_host().versions
    found = {"tcp://a:1": other(), "tcp://b:2": other(torch="1.0.0"), "tcp://c:3": other(python="3.9")}
    found["tcp://d:4"] = other(code="0123456789ab")
    del found["tcp://c:3"].versions["ale-py"]
    with pytest.raises(HostMismatchError) as refused:
        check_versions(report_host(), found)
    lines = str(refused.value).splitlines()
    assert [line.strip() for line in lines if line.startswith("  ")] == [
        f"tcp://b:2 has torch 1.0.0, the coordinator has {ours['torch']}",
        f"tcp://c:3 has python 3.9, the coordinator has {ours['python']}",
        f"tcp://c:3 has ale-py missing, the coordinator has {ours['ale-py']}",
        f"tcp://d:4 has another code of pipeline, 0123456789ab, the coordinator has {ours['code']}",
    ]
    assert "start what is older than it anew: the `dask worker` processes" in str(refused.value)


def code_told_in(checkout: Path) -> str:
    """What a process that is started there says of its code."""
    program = "from pipeline.cluster.hosts import report_host; print(report_host().versions['code'])"
    words = [sys.executable, "-c", program]
    return subprocess.run(words, cwd=checkout, capture_output=True, text=True, check=True).stdout.strip()


def test_a_host_tells_the_sources_that_its_process_began_with(tmp_path: Path) -> None:
    for package in ("pipeline", "dask_jobs"):
        shutil.copytree(CHECKOUT / package, tmp_path / package)
    assert code_told_in(tmp_path) == code_told_in(CHECKOUT), "wherever they are"
    # The modules of this process are from before.
    before = report_host().versions["code"]
    with (tmp_path / "pipeline" / "seeding.py").open("a", encoding="utf-8") as file:
        file.write("# edited\n")
    assert code_told_in(tmp_path) != code_told_in(CHECKOUT)
    assert report_host().versions["code"] == before


def test_a_host_without_this_installation_is_refused_in_words(
    processes_session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(surveyor, "report_host", _OnlyHere())
    address = re.escape(min(processes_session.hosts))
    with pytest.raises(
        HostMismatchError, match=rf"(?s){address} cannot tell what it is: .*only_here.*Install the same"
    ):
        Session(processes_session.client, cluster_config("processes"), num_hosts=2)


def test_hosts_of_another_installation_that_join_a_run_under_way_are_left_out(
    processes_session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = processes_session.hosts
    with monkeypatch.context() as changed:
        changed.setattr(pipeline, "__version__", "99.0")
        processes_session.survey_again()
        assert processes_session.hosts == {} and processes_session.offers() == []
    processes_session.survey_again()
    assert processes_session.hosts.keys() == known.keys()


class _OnlyHere:
    """A function of a package that hosts do not have."""

    def __call__(self) -> None:
        raise AssertionError("it was loaded")

    def __reduce__(self) -> tuple[Callable[[str], Any], tuple[str]]:
        return __import__, ("only_here",)


def test_a_session_offers_no_host_of_another_version(
    processes_session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "__version__", "99.0")
    address = re.escape(min(processes_session.hosts))
    with pytest.raises(HostMismatchError, match=rf"{address} has pipeline \S+, the coordinator has 99.0"):
        processes_session.offers()


def test_a_session_offers_no_host_that_began_before_its_code_was_edited_but_one_that_it_has_started_here(
    processes_session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = processes_session.client.scheduler_info()["address"]
    with open_session(cluster_config("address", address=address), 1, 1) as session:
        assert session.offers()
        known = session.hosts
        monkeypatch.setattr(hosts, "_CODE_HERE", "0123456789ab")
        host = re.escape(min(session.hosts))
        with pytest.raises(HostMismatchError, match=rf"{host} has another code of pipeline, \w+, .* has 0123456789ab"):
            session.offers()
        session.survey_again()
        assert session.hosts == {} and len(session.strangers) == len(known)
    granted = GrantedHosts(dict.fromkeys(known, 1), {})
    with open_session(cluster_config("address", address=address), 1, 1, granted) as session:
        assert session.offers() and hosts.with_other_code(session.hosts) == sorted(known)
    assert processes_session.offers()
    processes_session.survey_again()
    assert processes_session.hosts.keys() == known.keys() and processes_session.strangers == ()


def test_a_local_host_that_listens_to_everybody_is_warned_of(processes_session: Session) -> None:
    assert open_hosts(processes_session.hosts) == []

    async def reports() -> dict[str, HostReport]:
        found = {}
        async with Scheduler(host="127.0.0.1", port=0, dashboard=False) as scheduler:
            for words in ({}, {"host": "127.0.0.1"}):
                async with Worker(scheduler.address, nthreads=1, **words) as worker:  # type: ignore[arg-type]
                    found[worker.address] = report_host(worker)
        return found

    (warned,) = open_hosts(asyncio.run(reports()))
    assert re.fullmatch(
        r"tcp://127\.0\.0\.1:\d+ listens on tcp://0\.0\.0\.0:\d+: whoever .* --host 127\.0\.0\.1", warned
    )
