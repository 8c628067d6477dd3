"""Joining a scheduler: whatever answers instead of one is told in words, in time, and leaves nothing behind."""

import contextlib
import copy
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from socket import SHUT_RDWR, socket
from types import SimpleNamespace
from typing import Any, cast

import dask
import pytest
from dask.delayed import delayed
from distributed import Client, LocalCluster

from dask_jobs.certificates import TlsFiles
from dask_jobs.scheduler import SETTINGS, UnansweredError, dashboard_link, join, settled, start_here
from tests.cluster.certificates import make_certificates
from tests.clusters import wait_until


@contextmanager
def nobody() -> Iterator[int]:
    """A port that is taken and not listened at."""
    with socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@contextmanager
def a_silent_listener() -> Iterator[int]:
    with socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


@contextmanager
def answering(answer: bytes) -> Iterator[int]:
    """Who connects is told this at once, and no more."""
    with socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()

        def answer_all() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    connection.sendall(answer)
                    connection.close()

        thread = threading.Thread(target=answer_all)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(SHUT_RDWR)
            thread.join()


def one_that_hangs_up() -> AbstractContextManager[int]:
    return answering(b"")


def a_web_server() -> AbstractContextManager[int]:
    """Its first letters are the length of 3 EiB to Dask."""
    return answering(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def loops() -> int:
    """Running event loops of Dask's."""
    return sum(thread.name == "IO loop" for thread in threading.enumerate())


@pytest.mark.parametrize("listener", [nobody, a_silent_listener, one_that_hangs_up, a_web_server])
def test_what_is_no_scheduler_is_told_in_words_and_in_time_and_leaves_no_loop(
    listener: Callable[[], AbstractContextManager[int]],
) -> None:
    before, began = loops(), time.monotonic()
    with listener() as port, pytest.raises(UnansweredError) as caught:
        join(f"tcp://127.0.0.1:{port}", None, 0.5)
    assert str(caught.value) == f"no scheduler answers at tcp://127.0.0.1:{port} within 0.5 s without certificates"
    assert time.monotonic() - began < 10
    wait_until(lambda: loops() == before, "its loop has ended")


def test_an_address_that_is_a_worker_s_is_no_scheduler_s(scheduler_address: str) -> None:
    with join(scheduler_address, None, 10.0) as client:
        worker = min(client.nthreads())
    with pytest.raises(UnansweredError, match=r"no scheduler answers at .*: a worker answers there") as caught:
        join(worker, None, 10.0)
    assert caught.value.__cause__ is not None


def test_a_key_that_is_not_the_certificate_s_is_told(tmp_path: Path) -> None:
    ca, cert, _ = map(str, make_certificates(tmp_path / "ours"))
    _, _, key = map(str, make_certificates(tmp_path / "others"))
    with pytest.raises(UnansweredError, match=r"no scheduler answers at .*: SSLError: .*KEY_VALUES_MISMATCH"):
        join("tls://127.0.0.1:1", TlsFiles(ca, cert, key), 10.0)


def test_a_client_waits_for_hosts_that_were_killed_no_longer_than_dask_says(scheduler_address: str) -> None:
    with join(scheduler_address, None, 300.0) as client:
        assert client.rpc.timeout is None or client.rpc.timeout < 100
        assert not client._set_as_default


PROGRAM = """
import sys
from dask_jobs.scheduler import SETTINGS, UnansweredError, join, settled, start_here

try:
    join(sys.argv[1], None, 0.5)
except UnansweredError:
    print("no luck")
"""


def test_a_program_that_was_refused_ends_without_a_word_of_dask_s() -> None:
    # A client that fails in its constructor is found by the garbage collector when its loop is gone: "Exception ignored
    # in Client.__del__".
    with a_web_server() as port:
        words = [sys.executable, "-c", PROGRAM, f"tcp://127.0.0.1:{port}"]
        ended = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert ended.stdout == "no luck\n"


def test_hosts_that_are_started_leave_nothing_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_", raising=False)
    before = dict(os.environ)
    wanted = {"distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": "134217728"}
    with settled({**SETTINGS, **wanted}), start_here(1, 1, processes=True, dashboard_address="127.0.0.1:0") as cluster:
        with Client(cluster, set_as_default=False) as client:
            found = client.run(os.environ.get, "MALLOC_TRIM_THRESHOLD_")
        assert list(found.values()) == ["134217728"]
    assert dict(os.environ) == before


def test_of_starts_at_one_moment_none_leaves_what_the_other_has_set(monkeypatch: pytest.MonkeyPatch) -> None:
    before = copy.deepcopy(dask.config.config)
    both = threading.Barrier(2)
    patient = []

    class Slow(LocalCluster):
        def __init__(self, **settings: Any) -> None:
            with contextlib.suppress(threading.BrokenBarrierError):
                both.wait(timeout=0.3)
            patient.append(dask.config.get("distributed.scheduler.worker-ttl"))
            super().__init__(**settings)  # type: ignore[no-untyped-call]

    monkeypatch.setattr("dask_jobs.scheduler.LocalCluster", Slow)

    def program() -> None:
        with settled(SETTINGS), start_here(1, 1, processes=False, dashboard_address="127.0.0.1:0"):
            pass

    threads = [threading.Thread(target=program) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert patient == [None, None]
    assert dask.config.config == before


def test_what_the_program_itself_has_set_meanwhile_stays() -> None:
    with dask.config.set(scheduler=None):
        with settled(SETTINGS):
            dask.config.config["scheduler"] = "threads"
        assert dask.config.config["scheduler"] == "threads"


def test_of_programs_that_overlap_the_last_one_leaves_dask_as_the_first_one_found_it() -> None:
    before = copy.deepcopy(dask.config.config)
    is_in = {name: threading.Event() for name in ("first", "second")}
    may_leave = {name: threading.Event() for name in is_in}

    def program(name: str) -> None:
        with (
            settled({**SETTINGS, f"ours.{name}": 1}),
            start_here(1, 1, processes=False, dashboard_address="127.0.0.1:0") as cluster,
            Client(cluster),
        ):
            is_in[name].set()
            may_leave[name].wait()

    threads = {name: threading.Thread(target=program, args=(name,), daemon=True) for name in is_in}
    for name, thread in threads.items():
        thread.start()
        is_in[name].wait()
    may_leave["first"].set()
    threads["first"].join()
    assert dask.config.get("ours.second") == 1 and dask.config.get("distributed.worker.memory.spill") is False
    may_leave["second"].set()
    threads["second"].join()
    assert dask.config.config == before
    assert delayed(len)("abc").compute() == 3, "no client is asked that is gone"


@pytest.mark.parametrize(
    ("form", "link"),
    [
        ("{NO_SUCH_VARIABLE}proxy/{port}/status", "http://{host}:{port}/status"),
        ("{", "http://{host}:{port}/status"),
        ("{HUB_PREFIX}proxy/{port}/status", "/user/ada/proxy/{port}/status"),
    ],
)
@pytest.mark.parametrize("host", [None, "10.0.0.7"])
def test_a_link_to_the_dashboard_is_had_whatever_form_is_wanted(
    scheduler_here: str, monkeypatch: pytest.MonkeyPatch, form: str, link: str, host: str | None
) -> None:
    monkeypatch.setenv("HUB_PREFIX", "/user/ada/")
    with Client(scheduler_here, set_as_default=False) as client, dask.config.set({"distributed.dashboard.link": form}):
        identity = client.scheduler_info(n_workers=0)
        port = identity["services"]["dashboard"]
        assert dashboard_link(client, identity, host) == link.format(host=host or "127.0.0.1", port=port)


def client_of(address: str, cluster: object = None) -> Client:
    """Stands in for a client of the scheduler at this address."""
    return cast(Client, SimpleNamespace(cluster=cluster, scheduler=SimpleNamespace(address=address)))


def test_of_a_scheduler_without_pages_there_is_no_link() -> None:
    assert dashboard_link(client_of("tcp://10.0.0.7:8786"), {"services": {}}) is None


def test_a_link_names_the_place_where_the_scheduler_is_reached() -> None:
    identity = {"address": "tcp://10.0.0.7:8786", "services": {"dashboard": 8787}}
    tunnel = client_of("tcp://127.0.0.1:9000")
    assert dashboard_link(tunnel, identity) == "http://127.0.0.1:8787/status"
    assert dashboard_link(client_of("tls://[fd00::7]:8786"), identity) == "http://[fd00::7]:8787/status"
    assert dashboard_link(tunnel, identity, "::1") == "http://[::1]:8787/status"


def test_a_cluster_that_forwards_its_dashboard_says_where_to() -> None:
    identity = {"services": {"dashboard": 8787}}
    forwarded = client_of("tcp://localhost:9000", SimpleNamespace(forwarded_dashboard_port=51234))
    assert dashboard_link(forwarded, identity) == "http://localhost:51234/status"
    assert dashboard_link(forwarded, identity, "10.0.0.7") == "http://10.0.0.7:8787/status"
    over_ssh = client_of("tls://[fd00::7]:8786", SimpleNamespace())
    assert dashboard_link(over_ssh, identity) == "http://[fd00::7]:8787/status"
