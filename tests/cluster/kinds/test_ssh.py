"""Hosts over ssh, through a real ssh server that this test starts with keys of its own."""

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import asyncssh
import dask
import psutil
import pytest
from distributed import Client, Worker

from pipeline.cluster.host_settings import KEPT_MEMORY
from pipeline.cluster.kinds.ssh import SshConfig
from pipeline.cluster.session import Session, open_session
from pipeline.errors import PlacementError
from tests.cluster.certificates import make_certificates
from tests.cluster.ssh_login import Server
from tests.cluster.ssh_server import LOOPBACK
from tests.clusters import LIMIT_SECONDS, cluster_config, wait_until


@pytest.fixture(scope="module")
def session(server: Server) -> Iterator[Session]:
    with open_session(cluster_config("ssh", **server.settings()), num_hosts=1, threads_per_host=2) as session:
        yield session


@pytest.mark.slow
def test_python_may_be_in_a_folder_with_a_space(server: Server, tmp_path: Path) -> None:
    installed = tmp_path / "it's here"
    installed.symlink_to(sys.prefix)
    config = cluster_config("ssh", **server.settings(python=str(installed / "bin" / "python")))
    with open_session(config, num_hosts=1, threads_per_host=1) as session:
        assert set(session.client.run(lambda: sys.prefix).values()) == {str(installed)}


@pytest.mark.slow
def test_one_host_comes_per_name_after_the_first_each_a_process_of_its_own(session: Session) -> None:
    assert [offer.num_threads for offer in session.offers()] == [2, 2]
    pids = set(session.client.run(os.getpid).values())
    assert len(pids) == 2 and os.getpid() not in pids


@pytest.mark.slow
def test_a_task_runs_there(session: Session) -> None:
    host = max(session.hosts)
    assert session.submit(os.getpid, host=host, name="pid").result(timeout=LIMIT_SECONDS) != os.getpid()


@pytest.mark.slow
def test_hosts_have_the_settings_of_the_run_and_no_memory_limit(session: Session) -> None:
    for limit, spill, kept in session.client.run(_memory_settings).values():
        assert (limit, spill, kept) == (None, False, KEPT_MEMORY)


def _memory_settings(dask_worker: Worker) -> tuple[int | None, object, dict[str, str | None]]:
    spill = dask.config.get("distributed.worker.memory.spill")
    return dask_worker.memory_manager.memory_limit, spill, {name: os.environ.get(name) for name in KEPT_MEMORY}


@pytest.mark.slow
def test_all_listen_on_the_interface_that_was_named(session: Session) -> None:
    addresses = [session.client.scheduler_info()["address"], *session.hosts]
    assert {address.rpartition(":")[0] for address in addresses} == {f"tcp://{LOOPBACK}"}
    assert session.dashboard_url.startswith(f"http://{LOOPBACK}:")


@pytest.mark.slow
def test_what_was_started_over_ssh_lives_on_whatever_signal_comes(session: Session) -> None:
    # In an allocation of Slurm all of it belongs to the job, whose signals it has.
    scheduler = session.client.run_on_scheduler(os.getpid)
    hosts = session.client.run(_pid_and_nanny)
    for pid in (scheduler, *(pid for pair in hosts.values() for pid in pair)):
        for which in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            os.kill(pid, which)
    assert session.client.run(_pid_and_nanny) == hosts


def _pid_and_nanny() -> tuple[int, int]:
    return os.getpid(), os.getppid()


@pytest.mark.slow
def test_a_host_that_died_is_started_again_and_all_end_with_the_session(server: Server) -> None:
    config = cluster_config("ssh", **server.settings(hosts=(LOOPBACK,) * 2, gpus_per_host=1))
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "0.1s"}),
        open_session(config, num_hosts=1, threads_per_host=1) as session,
    ):
        assert [offer.num_gpus for offer in session.offers()] == [1]
        (nanny,) = session.client.run(os.getppid).values()
        (host,) = session.hosts
        os.kill(nanny, signal.SIGKILL)
        wait_until(lambda: host not in session.present_hosts(), "the host is known to be lost")
        wait_until(lambda: _num_hosts_after_a_survey(session) == 1, "another came in its place")
        (pid,) = session.client.run(os.getpid).values()
    wait_until(lambda: not psutil.pid_exists(pid), "the host ends with the session")


@pytest.mark.slow
def test_hosts_with_certificates_speak_encrypted(server: Server, tmp_path: Path) -> None:
    # A path that a shell would take apart.
    certificates = make_certificates(tmp_path / "the files")
    config = cluster_config("ssh", **server.settings(hosts=(LOOPBACK,) * 2), **certificates.settings())
    with open_session(config, num_hosts=1, threads_per_host=1) as session:
        (host,) = session.hosts
        assert host.startswith("tls://") and session.client.scheduler_info()["address"].startswith("tls://")
        assert session.submit(sum, [1, 2], host=host, name="sum").result(timeout=LIMIT_SECONDS) == 3
        with pytest.raises(OSError, match="tcp://"):
            Client(session.client.scheduler_info()["address"].replace("tls", "tcp"), timeout=2.0)


def _num_hosts_after_a_survey(session: Session) -> int:
    session.survey_again()
    return len(session.hosts)


def test_a_machine_that_shows_another_key_is_refused(server: Server, tmp_path: Path) -> None:
    other = asyncssh.generate_private_key("ssh-ed25519").export_public_key().decode()
    (tmp_path / "known_hosts").write_text(f"[{LOOPBACK}]:{server.port} {other}")
    config = cluster_config("ssh", **server.settings(known_hosts_file=str(tmp_path / "known_hosts")))
    with pytest.raises(PlacementError, match=r"ssh cluster could not be started: .*[Hh]ost key"):
        open_session(config, 1, 1).__enter__()


def test_a_key_that_may_not_log_in_is_refused(server: Server, tmp_path: Path) -> None:
    asyncssh.generate_private_key("ssh-ed25519").write_private_key(tmp_path / "key")
    settings = server.settings(key_file=str(tmp_path / "key"), known_hosts_file=None, check_host_keys=False)
    with pytest.raises(PlacementError, match=r"ssh cluster could not be started: .*[Pp]ermission denied"):
        open_session(cluster_config("ssh", **settings), 1, 1).__enter__()


@pytest.mark.slow
def test_a_host_that_cannot_be_reached_leaves_no_scheduler_behind(server: Server) -> None:
    before = _schedulers()
    config = cluster_config("ssh", **server.settings(hosts=(LOOPBACK, LOOPBACK, "127.0.0.2")))
    with pytest.raises(PlacementError, match="ssh cluster could not be started"):
        open_session(config, 1, 1).__enter__()
    wait_until(lambda: _schedulers() <= before, "the scheduler has ended")


def _schedulers() -> set[int]:
    found: set[int] = set()
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # it may end while it is looked at
            if process.status() != psutil.STATUS_ZOMBIE and "distributed.Scheduler" in " ".join(process.cmdline()):
                found.add(process.pid)
    return found


def test_a_python_that_is_not_there_is_one_clear_error(server: Server) -> None:
    config = cluster_config("ssh", **server.settings(python="/nowhere/python"))
    with pytest.raises(PlacementError, match="ssh cluster could not be started"):
        open_session(config, 1, 1).__enter__()


def test_all_mistakes_of_ssh_are_reported_together() -> None:
    config = cluster_config(
        "ssh", hosts=("node0",), port=0, key_file="/nowhere/key", known_hosts_file="/nowhere/hosts",
        check_host_keys=False, gpus_per_host=-1,
    )  # fmt: skip
    assert config.mistakes() == [
        "hosts=[node0] names 1 machines, at least 2 are needed: the scheduler's, then one per host, e.g. "
        "cluster.hosts=[node0,node0,node1]",
        "port=0 must be between 1 and 65535, or null",
        "known_hosts_file=/nowhere/hosts is not read with cluster.check_host_keys=false",
        "gpus_per_host=-1 must be at least 0",
        "key_file=/nowhere/key: there is no such file",
        "known_hosts_file=/nowhere/hosts: there is no such file",
    ]


@pytest.mark.parametrize(
    ("num_hosts", "machines"),
    [(None, ["b", "c"]), (1, ["b"]), (5, ["b", "c", "b", "c", "b"])],
)
def test_ssh_starts_one_host_per_name_after_the_first_or_takes_them_in_turn(
    num_hosts: int | None, machines: list[str]
) -> None:
    config = cluster_config("ssh", hosts=("a", "b", "c"), num_hosts=num_hosts)
    assert isinstance(config, SshConfig)
    assert config.machines == machines
