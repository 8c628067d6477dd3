"""Settings of each kind of cluster: all that is wrong with one is said at once."""

from pathlib import Path

import pytest

from pipeline.cluster.config import KINDS, LocalConfig, SshConfig
from tests.clusters import cluster_config

NEEDED: dict[str, dict[str, str]] = {"address": {"address": "tcp://10.0.0.1:8786"}}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_has_settings_without_mistakes(kind: str) -> None:
    assert cluster_config(kind, **NEEDED.get(kind, {})).mistakes() == []


def test_what_every_kind_has_is_checked_together() -> None:
    config = cluster_config(
        "threads", num_hosts=0, memory_bytes=0, max_restarts=-1, start_timeout_seconds=0.0, lease_seconds=-1.0
    )
    assert config.mistakes() == [
        "num_hosts=0 must be at least 1, or null",
        "memory_bytes=0 must be at least 1, or null",
        "max_restarts=-1 must be at least 0",
        "start_timeout_seconds=0.0 must be positive",
        "lease_seconds=-1.0 must be positive",
    ]


@pytest.mark.parametrize("kind", ["cloud", "ssh"])
def test_a_kind_that_is_unknown_or_of_other_settings_is_refused(kind: str) -> None:
    config = LocalConfig(kind, None, None, 60.0, 3, 30.0, "127.0.0.1:0")
    assert config.mistakes() == [
        f"kind={kind} must be one of threads, processes, address, ssh, slurm, kubernetes, with the settings of that "
        "kind"
    ]


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


def test_all_mistakes_of_slurm_are_reported_together() -> None:
    config = cluster_config(
        "slurm",
        memory_bytes=None,
        gpus_per_host=-1,
        hosts_per_job=0,
        host_cores=0,
        walltime_minutes=10,
        leave_minutes=6,
    )
    assert config.mistakes() == [
        "memory_bytes is missing: kind=slurm has to ask for the memory of each host, in bytes",
        "gpus_per_host=-1 must be at least 0",
        "hosts_per_job=0 must be at least 1",
        "host_cores=0 must be at least 1",
        "leave_minutes=6 must be at most half of walltime_minutes=10",
    ]


def test_all_mistakes_of_kubernetes_are_reported_together() -> None:
    config = cluster_config("kubernetes", memory_bytes=None, image=None, host_cores=0)
    assert config.mistakes() == [
        "memory_bytes is missing: kind=kubernetes has to ask for the memory of each host, in bytes",
        "image is missing: kind=kubernetes needs cluster.image=registry/name:tag",
        "host_cores=0 must be at least 1, or null",
    ]
