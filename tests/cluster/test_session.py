"""Sessions on real clusters: what is offered, what is lost, what is printed, what is refused."""

import os
import signal
import socket
import time
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import dask
import psutil
import pytest
from dask.system import CPU_COUNT
from distributed import get_worker
from distributed.comm.core import CommClosedError

from pipeline.cluster.granted import GrantedHosts
from pipeline.cluster.host_settings import KEPT_MEMORY
from pipeline.cluster.kinds.local import ThreadsConfig
from pipeline.cluster.session import Session, SessionSettings, open_session
from pipeline.errors import PlacementError, RemoteLostError, SchedulerLostError
from tests.clusters import LIMIT_SECONDS, cluster_config, kill_host, running_cluster, wait_until
from tests.dask_jobs.programs import scheduler_and_host


def test_each_host_offers_what_it_was_started_with(session: Session) -> None:
    offers = session.offers()
    assert [offer.address for offer in offers] == sorted(session.hosts)
    assert [offer.num_threads for offer in offers] == [2, 2]
    assert {offer.machine for offer in offers} == {socket.gethostname()}
    assert {offer.num_cores for offer in offers} == {CPU_COUNT}
    assert {offer.memory_bytes for offer in offers} == {2**40}


def test_threads_are_hosts_of_this_process_and_processes_are_not(
    threads_session: Session, processes_session: Session
) -> None:
    assert set(threads_session.client.run(os.getpid).values()) == {os.getpid()}
    pids = set(processes_session.client.run(os.getpid).values())
    assert len(pids) == 2 and os.getpid() not in pids


def test_a_host_has_served_once_its_job_has_been_there_for_as_long_as_its_kind_says(
    threads_session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = max(threads_session.hosts)
    for lifetime_seconds, has_served in ((None, False), (1e9, False), (0.001, True)):
        monkeypatch.setattr(ThreadsConfig, "lifetime_seconds", lifetime_seconds)
        assert threads_session.served([host, "tcp://10.0.0.1:1"]) == ({host} if has_served else set()), "asked ones"


@pytest.mark.slow
def test_hosts_keep_freed_memory_unless_the_environment_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    trim, mmap = KEPT_MEMORY
    # What Dask sets for a host of another test stays behind in this process.
    monkeypatch.delenv(trim, raising=False)
    monkeypatch.setenv(mmap, "1000000")
    with open_session(cluster_config("processes"), num_hosts=1, threads_per_host=1) as session:
        (found,) = session.client.run(_memory_environment).values()
    assert found == {trim: KEPT_MEMORY[trim], mmap: "1000000"}


def _memory_environment() -> dict[str, str | None]:
    return {name: os.environ.get(name) for name in KEPT_MEMORY}


def test_a_task_runs_on_the_host_that_it_was_given_to(session: Session) -> None:
    for host in session.hosts:
        tasks = [session.submit(_own_address, host=host, name="where") for _ in range(8)]
        assert {task.result(timeout=LIMIT_SECONDS) for task in tasks} == {host}
        assert all(str(task.key).startswith(f"where-{session.run_id}-") for task in tasks)


def _own_address() -> str:
    return str(get_worker().address)


def test_the_same_function_submitted_twice_runs_twice(session: Session) -> None:
    host = min(session.hosts)
    tasks = [session.submit(os.urandom, 8, host=host, name="random") for _ in range(2)]
    first, second = (task.result(timeout=LIMIT_SECONDS) for task in tasks)
    assert first != second


def test_a_value_that_was_sent_to_a_host_is_found_there(session: Session) -> None:
    host = max(session.hosts)
    task = session.submit(len, session.send(b"1234", host), host=host, name="length")
    assert task.result(timeout=LIMIT_SECONDS) == 4


def test_the_dashboard_link_that_is_printed_answers_and_is_bound_to_loopback(session: Session) -> None:
    assert urlsplit(session.dashboard_url).hostname == "127.0.0.1"
    with urllib.request.urlopen(session.dashboard_url, timeout=LIMIT_SECONDS) as answer:
        assert answer.status == 200
        assert b"Dask" in answer.read()


def test_a_form_of_links_that_names_a_variable_which_is_not_set_here_is_left_out(session: Session) -> None:
    plain = session.dashboard_url
    with dask.config.set({"distributed.dashboard.link": "https://{SET_NOWHERE}/proxy/{port}/status"}):
        assert session.dashboard_url == plain


def test_nothing_listens_on_other_interfaces_than_loopback(session: Session) -> None:
    pids = set(session.client.run(os.getpid).values()) | {os.getpid()}
    listening = {
        connection.laddr.ip
        for pid in pids
        for connection in psutil.Process(pid).net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }
    assert listening == {"127.0.0.1"}


@pytest.mark.slow
def test_a_killed_host_is_gone_and_its_successor_is_found_by_a_new_survey(mortal_session: Session) -> None:
    first, second = mortal_session.hosts
    assert mortal_session.present_hosts() == {first, second}
    kill_host(mortal_session, first)
    assert first not in mortal_session.present_hosts()
    wait_until(lambda: len(mortal_session.present_hosts()) == 2, "the nanny has started the host again")
    assert set(mortal_session.hosts) == {first, second}
    mortal_session.survey_again()
    assert second in mortal_session.hosts and first not in mortal_session.hosts


def test_a_running_scheduler_is_joined_by_its_address_and_left_running() -> None:
    with running_cluster() as cluster:
        config = cluster_config("address", address=cluster.scheduler_address)
        for _ in range(2):
            with open_session(config, 1, 1) as session:
                assert [offer.num_threads for offer in session.offers()] == [1, 1]


@pytest.mark.slow
def test_a_host_that_stands_still_is_lost_and_left_out_and_nobody_waits_for_it_for_ever(
    mortal_session: Session,
) -> None:
    first, second = mortal_session.hosts
    pid = mortal_session.client.run(os.getpid, workers=[first])[first]
    impatient = SessionSettings(answer_seconds=8.0)
    session = Session(mortal_session.client, cluster_config("processes"), num_hosts=2, settings=impatient)
    session.send(b"parameters", first)  # so that there are open connections
    os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(RemoteLostError, match=f"{first} was lost while it was sent something"):
            session.send(b"parameters", first)
        session.survey_again()
        assert set(session.hosts) == {second}
        config = cluster_config("address", address=session.client.scheduler_info()["address"])
        said: list[str] = []
        with open_session(config, 1, 1, settings=impatient, say=said.append) as another:
            assert set(another.hosts) == {second} and another.fit_hosts() == {second}
        assert f"{first} has not answered for 8 s: end that `dask worker`, or let it go on; it is left out" in said
    finally:
        os.kill(pid, signal.SIGCONT)
    wait_until(lambda: session.fit_hosts() == {first, second}, "the host that goes on has been asked again")


def test_a_wrong_address_is_refused_with_words_within_its_timeout() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: nobody answers there
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        config = cluster_config("address", address=address, start_timeout_seconds=0.5)
        with pytest.raises(
            PlacementError,
            match=rf"no scheduler answers at {address} within 0.5 s without certificates; start one with",
        ):
            open_session(config, 1, 1).__enter__()


def test_a_scheduler_without_hosts_is_refused_with_both_numbers() -> None:
    with running_cluster(num_hosts=0) as cluster:
        config = cluster_config("address", address=cluster.scheduler_address, start_timeout_seconds=0.2)
        with pytest.raises(PlacementError, match=r"0 of 1 hosts came within 0.2 s; start `dask worker`"):
            open_session(config, 1, 1).__enter__()


def test_hosts_that_are_late_are_counted_while_they_are_waited_for() -> None:
    said: list[str] = []
    with running_cluster(num_hosts=1) as cluster:
        config = cluster_config("address", address=cluster.scheduler_address, start_timeout_seconds=0.4, num_hosts=2)
        hurried = SessionSettings(untold_seconds=0.2)
        with pytest.raises(PlacementError, match=r"1 of 2 hosts came within 0.4 s"):
            open_session(config, 1, 1, settings=hurried, say=said.append).__enter__()
    assert said == ["waiting for the cluster (address)", "hosts 1 of 2; waiting up to 0.4 s for the others"]


def test_a_host_that_dies_while_it_is_sent_something_is_lost(
    threads_session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scatter(*_: object, **__: object) -> None:
        raise CommClosedError("connection reset by peer")

    monkeypatch.setattr(threads_session.client, "scatter", scatter)
    with pytest.raises(RemoteLostError, match=r"tcp://10\.0\.0\.1:1 was lost while it was sent something: .* reset"):
        threads_session.send(b"parameters", "tcp://10.0.0.1:1")


def test_a_run_sees_the_hosts_that_it_was_granted_with_its_threads_there_and_no_others(
    mortal_session: Session,
) -> None:
    first, second = sorted(mortal_session.hosts)
    config = cluster_config("address", address=mortal_session.client.scheduler_info()["address"])
    with open_session(config, 1, 1, GrantedHosts({first: 1}, {})) as session:
        assert session.granted is not None and session.host_timeout_seconds == 0
        assert session.present_hosts() == set(session.hosts) == {first}
        assert [offer.num_threads for offer in session.offers()] == [1]
        kill_host(mortal_session, first)
        wait_until(lambda: not session.present_hosts(), "the loss is known")
        session.survey_again()
        assert session.hosts == {} and session.offers() == []
    assert second in mortal_session.present_hosts()


@pytest.mark.slow
def test_a_scheduler_that_was_given_up_is_one_sentence_whatever_is_asked_of_it(tmp_path: Path) -> None:
    with ExitStack() as running:
        address = running.enter_context(scheduler_and_host(tmp_path))
        session = running.enter_context(open_session(cluster_config("address", address=address), 1, 1))
        (host,) = session.hosts
        tasks = [session.submit(time.sleep, seconds, host=host, name="sleep") for seconds in (0, 1000)]
        tasks[0].result(timeout=LIMIT_SECONDS)
        (scheduler,) = [child for child in psutil.Process().children() if "scheduler" in child.cmdline()]
        scheduler.kill()
        wait_until(lambda: session.client.scheduler is None, "Dask's client has given it up")
        calls: list[Callable[[], object]] = [
            lambda: session.submit(abs, -1, host=host, name="abs"),
            lambda: session.send(b"parameters", host),
            session.present_hosts,
            session.offers,
            session.survey_again,
        ]
        for call in calls:
            with pytest.raises(SchedulerLostError, match="resume=true goes on"):
                call()
        session.wait_for(tasks, 0.1)
        session.forget(tasks)


@pytest.mark.slow
def test_a_host_of_this_machine_that_is_slow_to_come_back_is_waited_for(mortal_session: Session) -> None:
    before = set(psutil.Process().children(recursive=True))
    kill_host(mortal_session, min(mortal_session.hosts))
    started: list[psutil.Process] = []

    def successor() -> bool:
        started.extend(set(psutil.Process().children(recursive=True)) - before)
        return bool(started)

    wait_until(successor, "its nanny starts another one")
    started[0].suspend()
    # Dask closes a nanny whose host was lost for 15 s, unless it is told otherwise: a busy machine takes longer.
    time.sleep(17)
    started[0].resume()
    wait_until(lambda: len(mortal_session.present_hosts()) == 2, "another host has come")
    time.sleep(2)
    assert len(mortal_session.present_hosts()) == 2, "and it stays"
