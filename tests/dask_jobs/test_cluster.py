"""Clusters that a launcher opens or joins, who holds what of them, and what it says of those that it cannot use."""

import importlib
import os
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from distributed import Client, LocalCluster, Worker
from distributed.core import Status
from distributed.security import Security
from hydra.errors import CompactHydraException

from dask_jobs import grants
from dask_jobs.cluster import SchedulerState, open_cluster
from dask_jobs.host import report_here
from dask_jobs.outcome import HostSetup
from dask_jobs.scheduler import join
from dask_jobs.settings import LauncherSettings
from tests.cluster.certificates import make_certificates
from tests.clusters import wait_until
from tests.dask_jobs.programs import dask, scheduler_and_host, scheduler_process


def setup(folder: Path) -> HostSetup:
    return HostSetup("s1", str(folder), str(folder), (), (), None, 1.0, 0)


def test_an_own_cluster_has_the_hosts_that_were_asked_for_and_is_closed_with_them(tmp_path: Path) -> None:
    settings = LauncherSettings(num_hosts=2, threads_per_host=3, memory_per_host_bytes=1000, gpus_per_host=1)
    before = set(psutil.Process().children(recursive=True))
    with open_cluster(settings, setup(tmp_path)) as cluster:
        assert [host[1:] for host in cluster.hosts] == [(3, 1000, 1)] * 2
        assert cluster.scheduler_address.startswith("tcp://127.0.0.1:")
        listening = {
            connection.laddr.ip
            for process in [psutil.Process(), *psutil.Process().children(recursive=True)]
            for connection in process.net_connections("inet")
            if connection.status == psutil.CONN_LISTEN
        }
        assert listening == {"127.0.0.1"}
        hosts = [child for child in psutil.Process().children(recursive=True) if child not in before]
    wait_until(
        lambda: not any(host.is_running() and "spawn_main" in " ".join(host.cmdline()) for host in hosts),
        "the hosts are gone",
    )


def test_hosts_in_a_container_share_no_more_memory_than_that_has(tmp_path: Path) -> None:
    ours = report_here(memory_limit_bytes=1_000_000)
    with open_cluster(LauncherSettings(num_hosts=2, threads_per_host=1), setup(tmp_path), ours) as cluster:
        assert [host.memory_bytes for host in cluster.hosts] == [500_000] * 2


def test_hosts_in_a_container_have_no_more_threads_than_it_has_cores(tmp_path: Path) -> None:
    ours = replace(report_here(), num_cores=6)
    with open_cluster(LauncherSettings(num_hosts=2), setup(tmp_path), ours) as cluster:
        assert [host.num_threads for host in cluster.hosts] == [3] * 2


@pytest.mark.slow
def test_a_scheduler_without_this_launcher_is_refused_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "nowhere_else.py").write_text("def prepare(dask_scheduler):\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path / "here")
    # The scheduler is another process, and looks for the function by its name.
    monkeypatch.setattr(grants, "_prepare", importlib.import_module("nowhere_else").prepare)
    with (
        scheduler_and_host(tmp_path) as address,
        pytest.raises(CompactHydraException, match=r"cannot take part: .*nowhere_else.* needs this launcher"),
        open_cluster(LauncherSettings(address=address), setup(tmp_path)),
    ):
        raise AssertionError("it is not opened")


marks: list[str] = []


def mark(client: Client) -> None:
    """What on_cluster names."""
    marks.append(client.status)


def test_the_function_of_the_program_is_called_once_the_hosts_are_there(scheduler_address: str, tmp_path: Path) -> None:
    settings = LauncherSettings(address=scheduler_address, on_cluster=f"{__name__}.mark")
    with open_cluster(settings, setup(tmp_path)) as cluster:
        assert marks == ["running"]
        assert [host.num_threads for host in cluster.hosts] == [2, 2]
        assert all(host.memory_bytes > 0 for host in cluster.hosts)


def test_hosts_on_one_machine_share_what_is_free_there(scheduler_address: str, tmp_path: Path) -> None:
    with open_cluster(LauncherSettings(address=scheduler_address), setup(tmp_path)) as cluster:
        assert sum(host.memory_bytes for host in cluster.hosts) <= psutil.virtual_memory().total


def test_hosts_that_do_not_see_the_folder_are_refused(scheduler_address: str, tmp_path: Path) -> None:
    with pytest.raises(CompactHydraException, match=r"does not see the folder .*/nowhere, where the command was typed"):
        open_cluster(LauncherSettings(address=scheduler_address), setup(tmp_path / "nowhere")).__enter__()


def test_hosts_that_do_not_come_are_told_with_both_numbers(scheduler_address: str, tmp_path: Path) -> None:
    settings = LauncherSettings(address=scheduler_address, num_hosts=3, start_timeout_seconds=0.2)
    said: list[str] = []
    with pytest.raises(CompactHydraException, match=r"2 of 3 hosts came within 0.2 s: start `dask worker`"):
        open_cluster(settings, setup(tmp_path), say=said.append).__enter__()
    assert said == [
        f"waiting for 3 hosts of the scheduler at {scheduler_address}",
        "2 of 3 hosts are there, waiting up to 0.2 s for all",
    ]


def test_a_scheduler_that_does_not_answer_is_told_with_its_address(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: nobody answers there
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        settings = LauncherSettings(address=address, start_timeout_seconds=0.3)
        with pytest.raises(
            CompactHydraException, match=rf"no scheduler answers at {address} within 0.3 s without certif"
        ):
            open_cluster(settings, setup(tmp_path)).__enter__()


@pytest.mark.slow
def test_a_scheduler_that_has_just_died_is_known_to_be_gone_before_the_client_hears_of_it(tmp_path: Path) -> None:
    with (
        scheduler_and_host(tmp_path) as address,
        open_cluster(LauncherSettings(address=address), setup(tmp_path)) as cluster,
    ):
        assert cluster.scheduler_state() is SchedulerState.THERE
        process = scheduler_process(tmp_path)
        process.kill()
        process.wait()
        assert cluster.scheduler_state() is SchedulerState.GONE


@pytest.mark.slow
def test_a_scheduler_that_stands_still_at_the_start_ends_the_sweep_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dask_jobs.cluster._ANSWER_SECONDS", 0.5)
    with scheduler_and_host(tmp_path) as address:
        process = scheduler_process(tmp_path)

        def join_and_stop(*words: Any) -> Client:
            client = join(*words)
            process.suspend()
            return client

        monkeypatch.setattr("dask_jobs.cluster.join", join_and_stop)
        try:
            with pytest.raises(CompactHydraException, match=f"the scheduler at {address} does not answer any more: Ti"):
                open_cluster(LauncherSettings(address=address), setup(tmp_path)).__enter__()
        finally:
            process.resume()


def test_a_cluster_with_certificates_is_joined_with_ours(tmp_path: Path) -> None:
    ca, cert, key = map(str, make_certificates(tmp_path / "tls"))
    ours = LauncherSettings(tls_ca_file=ca, tls_cert_file=cert, tls_key_file=key)
    security = Security(
        tls_ca_file=ca,
        tls_scheduler_cert=cert,
        tls_scheduler_key=key,
        tls_worker_cert=cert,
        tls_worker_key=key,
        tls_client_cert=cert,
        tls_client_key=key,
        require_encryption=True,
    )
    with LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        processes=False,
        protocol="tls://",
        host="127.0.0.1",
        security=security,
        dashboard_address="127.0.0.1:0",
        worker_dashboard_address="127.0.0.1:0",
        memory_limit=0,
    ) as running:
        address = running.scheduler_address
        with open_cluster(replace(ours, address=address), setup(tmp_path)) as cluster:
            assert [host.num_threads for host in cluster.hosts] == [1]
        with pytest.raises(CompactHydraException, match="without certificates"):
            open_cluster(LauncherSettings(address=address), setup(tmp_path)).__enter__()
        strange, _, _ = map(str, make_certificates(tmp_path / "strange"))
        wrong = replace(ours, address=address, tls_ca_file=strange, start_timeout_seconds=2.0)
        with pytest.raises(CompactHydraException, match=r"no scheduler answers at .*: SSLCertVerificationError: "):
            open_cluster(wrong, setup(tmp_path)).__enter__()


@pytest.mark.slow
def test_a_host_that_was_of_no_use_and_is_started_again_at_its_address_is_asked_again(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    complaints: list[str] = []
    with scheduler_and_host(tmp_path) as address:
        second = ("worker", address, "--no-nanny", "--worker-port", str(port))
        with open_cluster(LauncherSettings(address=address), setup(shared)) as cluster:

            def is_seen(num_hosts: int, num_complaints: int) -> bool:
                complaints.extend(cluster.survey())
                return (len(cluster.hosts), len(complaints)) == (num_hosts, num_complaints)

            shared.rmdir()
            with dask(tmp_path, *second):
                wait_until(lambda: is_seen(1, 1), "it does not see the folder")
            shared.mkdir()
            # Maybe between two surveys, which are a second apart: they need not see that it was gone.
            wait_until(lambda: len(cluster.client.nthreads()) == 1, "it is gone")
            with dask(tmp_path, *second):
                wait_until(lambda: is_seen(2, 1), "it sees the folder")


@pytest.mark.slow
def test_a_host_that_stands_still_keeps_nobody_from_the_others_and_is_counted_until_it_answers(tmp_path: Path) -> None:
    with (
        scheduler_and_host(tmp_path, "--no-nanny") as address,
        dask(tmp_path, "worker", address, "--no-nanny", "--name", "still"),
    ):
        with Client(address, set_as_default=False) as client:
            client.wait_for_workers(2)
        (still,) = [child for child in psutil.Process().children() if "still" in child.cmdline()]
        still.suspend()
        try:
            with open_cluster(LauncherSettings(address=address), setup(tmp_path)) as cluster:
                assert (len(cluster.hosts), cluster.num_hosts_seen) == (1, 2)
                still.resume()
                wait_until(lambda: cluster.survey() == [] and len(cluster.hosts) == 2, "it answers")
        finally:
            still.resume()


def set_status(name: str, dask_worker: Worker) -> None:
    dask_worker.status = Status[name]


def test_a_host_that_dask_has_paused_is_there_and_takes_no_jobs(
    scheduler_address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dask_jobs.cluster._SURVEY_SECONDS", 0.0)
    with open_cluster(LauncherSettings(address=scheduler_address), setup(tmp_path)) as cluster:
        first, second = (host.address for host in cluster.hosts)

        def taking() -> list[str]:
            cluster.survey()
            return [host.address for host in cluster.hosts]

        cluster.client.run(set_status, "paused", workers=[first])
        try:
            wait_until(lambda: taking() == [second], "the paused host takes no jobs")
            assert cluster.present == {first, second} and cluster.num_hosts_seen == 2
        finally:
            cluster.client.run(set_status, "running", workers=[first])
        wait_until(lambda: taking() == [first, second], "it takes jobs again")


def test_more_gpus_than_this_process_may_see_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = LauncherSettings(num_hosts=2, gpus_per_host=2)
    for visible, num_visible in (("0,1", 2), ("", 0)):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
        with pytest.raises(
            CompactHydraException, match=f"4 GPUs, and CUDA_VISIBLE_DEVICES={visible} shows {num_visible}:"
        ):
            open_cluster(settings, setup(tmp_path)).__enter__()


def test_a_scheduler_whose_client_connects_anew_is_gone_and_not_silent(
    scheduler_address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_cluster(LauncherSettings(address=scheduler_address), setup(tmp_path)) as cluster:

        def asked_of_nobody(*_: object, **__: object) -> None:
            # What a call to a scheduler that has just died comes to: the client hears of it meanwhile.
            cluster.client.status = "connecting"
            raise TimeoutError

        with monkeypatch.context() as patched:
            patched.setattr(cluster.client, "sync", asked_of_nobody)
            assert cluster.scheduler_state() is SchedulerState.GONE
        cluster.client.status = "running"


def test_a_scheduler_that_answers_again_is_no_reason_to_end_in_disorder(
    scheduler_address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dask_jobs.cluster._SILENT_SECONDS", 0.0)
    with open_cluster(LauncherSettings(address=scheduler_address), setup(tmp_path)) as cluster:
        assert cluster.check_scheduler(is_stopping=False) is not None
        cluster.check_scheduler(is_stopping=True)
        monkeypatch.setattr("dask_jobs.cluster.Cluster.scheduler_state", lambda _: SchedulerState.SILENT)
        with pytest.raises(OSError, match="does not answer"):
            cluster.check_scheduler(is_stopping=True)


@pytest.mark.slow
def test_a_host_that_was_killed_is_missed_and_its_successor_is_found(tmp_path: Path) -> None:
    with open_cluster(LauncherSettings(threads_per_host=1), setup(tmp_path)) as cluster:
        (host,) = cluster.hosts
        (pid,) = cluster.client.run(os.getpid).values()
        psutil.Process(pid).kill()

        def successor() -> bool:
            cluster.survey()
            return [h.num_threads for h in cluster.hosts] == [1] and cluster.hosts[0].address != host.address

        wait_until(successor, "another host of the same size is there")
