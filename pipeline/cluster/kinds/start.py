"""One Dask client for every kind of cluster: found by its address, or started by this process and closed after it.

    with open_client(config, num_hosts, threads_per_host) as (client, num_hosts): ...
    submission(config, ...)          what would be handed to a batch system, to be shown and not sent

Each kind that needs a package of its own has a module of its own, imported when it is asked for.
Not here: waiting for hosts, their reports, tasks (`pipeline.cluster.session`).
"""

import contextlib
import logging
from collections.abc import Iterator

from distributed import Client, LocalCluster
from distributed.deploy.cluster import Cluster
from distributed.security import Security

from hydra_plugins.dask_launcher.interrupts import ignore_interrupts
from pipeline.cluster.config import (
    PROCESSES,
    AddressConfig,
    ClusterConfig,
    KubernetesConfig,
    LocalConfig,
    SlurmConfig,
    SshConfig,
)
from pipeline.cluster.kinds.extras import check_installed
from pipeline.errors import PlacementError

_LOOPBACK = "127.0.0.1"


@contextlib.contextmanager
def open_client(config: ClusterConfig, num_hosts: int, threads_per_host: int) -> Iterator[tuple[Client, int]]:
    """The client, and the number of hosts to wait for; a cluster that was started is closed at the end.

    `num_hosts` and `threads_per_host` are what the run wants. Raises ConfigError when a package is missing,
    PlacementError when the scheduler cannot be reached or the cluster not be started.
    """
    check_installed(config.kind)
    if isinstance(config, AddressConfig):
        with _connect(config) as client:
            yield client, config.num_hosts or 1
        return
    if isinstance(config, SshConfig):
        num_hosts = len(config.machines)
    # Pods are seldom reachable from where the command was typed; the scheduler is, and can pass on what is said.
    direct = not isinstance(config, KubernetesConfig)
    with (
        _started(config, num_hosts, threads_per_host) as cluster,
        Client(cluster, direct_to_workers=direct) as client,
    ):
        if config.kind == PROCESSES:
            ignore_interrupts(client)
        yield client, num_hosts


def submission(config: ClusterConfig, num_hosts: int, threads_per_host: int) -> str | None:
    """The job script or the specification that would be handed to a batch system; None where there is none.

    Raises ConfigError when a package is missing.
    """
    check_installed(config.kind)
    match config:
        case SlurmConfig():
            from pipeline.cluster.kinds.slurm import job_script

            return job_script(config, threads_per_host)
        case KubernetesConfig():
            from pipeline.cluster.kinds.kubernetes import cluster_spec

            return cluster_spec(config, num_hosts, threads_per_host)
        case _:
            return None


def _connect(config: AddressConfig) -> Client:
    # None takes what Dask's own configuration says of TLS.
    security = None
    if config.tls_files:
        security = Security(
            tls_ca_file=config.tls_ca_file,
            tls_client_cert=config.tls_cert_file,
            tls_client_key=config.tls_key_file,
            require_encryption=True,
        )
    unanswered = PlacementError(
        f"no scheduler answers at {config.address} within {config.start_timeout_seconds:g} s "
        f"{_certificates(config)}; start one with `dask scheduler`, or use cluster=threads. "
        "A scheduler with TLS answers only at tls://host:port, and only to cluster.tls_ca_file, tls_cert_file and "
        "tls_key_file of its own authority"
    )
    # Found out here: a Client that finds it out in its constructor keeps a running loop, and the collector that
    # finds such a client while another one starts waits for that one's lock for ever.
    if config.address is not None and config.address.startswith("tls://") and not _can_encrypt(security or Security()):
        raise unanswered
    try:
        return Client(config.address, timeout=config.start_timeout_seconds, direct_to_workers=True, security=security)
    except OSError as error:
        raise unanswered from error


def _can_encrypt(security: Security) -> bool:
    return security.get_connection_args("client").get("ssl_context") is not None


def _certificates(config: AddressConfig) -> str:
    return f"to the certificate {config.tls_cert_file}" if config.tls_files else "without certificates"


@contextlib.contextmanager
def _started(config: ClusterConfig, num_hosts: int, threads_per_host: int) -> Iterator[Cluster]:
    with contextlib.ExitStack() as stack:
        try:
            cluster = stack.enter_context(_start(config, num_hosts, threads_per_host))
        except Exception as error:  # each package has errors of its own, and Dask's deployments raise bare Exceptions
            raise PlacementError(
                f"the {config.kind} cluster could not be started: {error or type(error).__name__}; "
                "docs/clusters/README.md leads to what has to be there"
            ) from error
        yield cluster


def _start(config: ClusterConfig, num_hosts: int, threads_per_host: int) -> Cluster:
    match config:
        case LocalConfig():
            return _start_here(config, num_hosts, threads_per_host)
        case SshConfig():
            from pipeline.cluster.kinds.ssh import start_ssh

            return start_ssh(config, threads_per_host)
        case SlurmConfig():
            from pipeline.cluster.kinds.slurm import start_slurm

            return start_slurm(config, num_hosts, threads_per_host)
        case KubernetesConfig():
            from pipeline.cluster.kinds.kubernetes import start_kubernetes

            return start_kubernetes(config, num_hosts, threads_per_host)
        case _:
            raise AssertionError(f"no cluster of kind {config.kind} can be started")


def _start_here(config: LocalConfig, num_hosts: int, threads_per_host: int) -> LocalCluster:
    processes = config.kind == PROCESSES
    return LocalCluster(
        n_workers=num_hosts,
        threads_per_worker=threads_per_host,
        processes=processes,
        host=_LOOPBACK if processes else None,
        memory_limit=0,
        dashboard_address=config.dashboard_address,
        # A host has an HTTP server too; that of an in-process one would listen on all interfaces.
        worker_dashboard_address=None if processes else f"{_LOOPBACK}:0",
        silence_logs=logging.ERROR,
    )
