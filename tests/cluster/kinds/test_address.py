"""A cluster as users start it: `dask scheduler` and `dask worker` with certificates, one worker that declares a GPU."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from distributed import get_worker

from pipeline.cluster.placement import Demand, place
from pipeline.cluster.session import Session, open_session
from pipeline.errors import PlacementError
from tests.cluster.certificates import TlsFiles, make_certificates
from tests.clusters import LIMIT_SECONDS, cluster_config, wait_until


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> TlsFiles:
    return make_certificates(tmp_path_factory.mktemp("tls") / "ours")


@pytest.fixture(scope="module")
def address(certificates: TlsFiles) -> Iterator[str]:
    """Of a scheduler with two workers, encrypted; the second declares a GPU that need not be there."""
    file = certificates.ca_file.parent / "scheduler.json"
    with ExitStack() as running:
        _start(running, "scheduler", certificates, "--host", "tls://127.0.0.1", "--port", "0", "--no-dashboard",
               "--scheduler-file", str(file))  # fmt: skip
        for more in ([], ["--resources", "GPU=1"]):
            _start(running, "worker", certificates, "--scheduler-file", str(file), "--nthreads", "2", "--no-nanny",
                   "--memory-limit", "0", "--host", "127.0.0.1", "--no-dashboard", *more)  # fmt: skip
        wait_until(lambda: file.exists() and file.stat().st_size > 0, "the scheduler has written its address")
        yield str(json.loads(file.read_text())["address"])


def _start(running: ExitStack, program: str, certificates: TlsFiles, *arguments: str) -> None:
    words = [sys.executable, "-m", f"distributed.cli.dask_{program}", *certificates.arguments(), *arguments]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    running.callback(process.wait, LIMIT_SECONDS)
    running.callback(process.terminate)


@pytest.fixture(scope="module")
def session(address: str, certificates: TlsFiles) -> Iterator[Session]:
    config = cluster_config("address", address=address, num_hosts=2, **certificates.settings())
    with open_session(config, 1, 1) as session:
        yield session


def test_a_client_with_certificates_runs_its_tasks_over_encrypted_connections(session: Session) -> None:
    assert len(session.hosts) == 2
    assert all(host.startswith("tls://") for host in session.hosts)
    tasks = [session.submit(sum, [1, 2], host=host, name="sum") for host in session.hosts]
    assert [task.result(timeout=LIMIT_SECONDS) for task in tasks] == [3, 3]


@pytest.mark.parametrize("scheme", ["tls", "tcp"])
def test_a_client_without_certificates_is_refused_in_words(address: str, scheme: str) -> None:
    there = address.replace("tls", scheme)
    config = cluster_config("address", address=there, start_timeout_seconds=2.0)
    with pytest.raises(PlacementError, match=rf"no scheduler answers at {there} .*without certificates.*tls_key_file"):
        open_session(config, 1, 1).__enter__()


def test_a_client_with_certificates_of_another_authority_is_refused_in_words(address: str, tmp_path: Path) -> None:
    others = make_certificates(tmp_path / "others")
    config = cluster_config("address", address=address, start_timeout_seconds=2.0, **others.settings())
    with pytest.raises(PlacementError, match=r"to the certificate .*cert\.pem.*of its own authority"):
        open_session(config, 1, 1).__enter__()


def test_a_role_that_must_have_a_gpu_goes_to_the_host_that_declares_one(session: Session) -> None:
    offers = session.offers()
    assert sorted(offer.num_gpus for offer in offers) == [0, 1]
    demands = [Demand("actor-0", 1, 0), Demand("learner-0", 1, 0, num_gpus=1)]
    placement = place(demands, offers)
    assert (placement["actor-0"].num_gpus, placement["learner-0"].num_gpus) == (0, 1)
    with pytest.raises(PlacementError, match=r"2 GPUs in all; offered are 2 hosts with 4 threads and 1 GPU"):
        place([*demands, Demand("learner-1", 1, 0, num_gpus=1)], offers)


def test_a_task_with_a_gpu_holds_it_while_it_runs(session: Session) -> None:
    host = _gpu_host(session)
    task = session.submit(_gpus_left, host=host, name="learner", num_gpus=1)
    assert task.result(timeout=LIMIT_SECONDS) == 0
    task = session.submit(_gpus_left, host=host, name="actor")
    assert task.result(timeout=LIMIT_SECONDS) == 1


def test_a_host_that_declares_no_gpu_is_never_asked_for_one(session: Session) -> None:
    (host,) = set(session.hosts) - {_gpu_host(session)}
    assert session.submit(sum, [1], host=host, name="learner", num_gpus=1).result(timeout=LIMIT_SECONDS) == 1


def _gpu_host(session: Session) -> str:
    return next(offer.address for offer in session.offers() if offer.num_gpus)


def _gpus_left() -> Any:
    return get_worker().state.available_resources["GPU"]


def test_half_of_tls_is_refused_with_what_is_missing_and_what_is_not_there(tmp_path: Path) -> None:
    there = tmp_path / "ca.pem"
    there.touch()
    config = cluster_config("address", address="tcp://a:1", tls_ca_file=str(there), tls_key_file="/nowhere/key.pem")
    assert config.mistakes() == [
        "tls_cert_file is missing: TLS needs all of tls_ca_file, tls_cert_file, tls_key_file",
        "address=tcp://a:1 must begin with tls:// where certificates are given",
        "tls_key_file=/nowhere/key.pem: there is no such file",
    ]


@pytest.mark.parametrize("address", ["nonsense", "tcp://host", "tcp://host:x", "foo://host:1"])
def test_what_is_no_address_is_a_mistake_beside_others(address: str) -> None:
    address_line, hosts_line = cluster_config("address", address=address, num_hosts=-1).mistakes()[::-1]
    assert address_line.startswith(f"address={address}") and "tcp://host:port" in address_line
    assert hosts_line.startswith("num_hosts=-1")


def test_an_address_that_is_not_given_is_asked_for() -> None:
    assert cluster_config("address").mistakes() == [
        "address is missing: kind=address needs cluster.address=tcp://host:port"
    ]
