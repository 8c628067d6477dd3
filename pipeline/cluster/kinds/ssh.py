"""A Dask cluster over ssh: one process per host on the machines that are named, and a scheduler on the first of them.

Nothing has to run there before; Python and this installation have to be there.
"""

import shlex
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from dask_jobs.certificates import TLS, tls_mistakes
from dask_jobs.interrupts import LEAVE_SIGNALS
from pipeline.cluster.config import cluster_kind, listening_host, missing_file, negative_gpus, python_word
from pipeline.cluster.host_settings import GPU
from pipeline.cluster.tls import TlsConfig
from pipeline.run_folders import absolute

if TYPE_CHECKING:
    from distributed.deploy.spec import SpecCluster


@cluster_kind("ssh")
@dataclass(frozen=True)
class SshConfig(TlsConfig):
    """A scheduler and hosts started over ssh."""

    can_tell_hosts_before_start: ClassVar[bool] = False
    restarts_hosts: ClassVar[bool] = True
    needed_package: ClassVar[str | None] = "asyncssh"

    hosts: tuple[str, ...]
    """Names of machines: the scheduler's, then one per host; a machine may stand there several times."""
    user: str | None
    """Who logs in; None: as ssh's own configuration says."""
    port: int | None
    """Where sshd listens; None: as ssh's own configuration says."""
    key_file: str | None
    """Private key to log in with; None: ssh's agent and default keys."""
    known_hosts_file: str | None
    """Keys that machines must show; None: those that ssh knows already."""
    check_host_keys: bool
    """False takes any machine for the one that it says it is."""
    python: str | None
    """Python of all machines; None: the same path as here."""
    interface: str | None
    """Network interface that scheduler and hosts use, such as ib0; None: the one that Dask finds."""
    gpus_per_host: int
    """GPUs that each host declares; 0: none is declared."""
    dashboard_address: str
    """Where the Dask dashboard listens on the scheduler's machine; ":0" takes any free port."""

    @property
    def machines(self) -> list[str]:
        """The machine of each host that is started: those after the first in turn, as many as `num_hosts` asks."""
        named = self.hosts[1:]
        return [named[i % len(named)] for i in range(self.num_hosts or len(named))]

    def mistakes(self) -> list[str]:
        found = super().mistakes()
        if len(self.hosts) < 2:
            found.append(
                f"hosts=[{', '.join(self.hosts)}] names {len(self.hosts)} machines, at least 2 are needed: the "
                "scheduler's, then one per host, e.g. cluster.hosts=[node0,node0,node1]"
            )
        if self.port is not None and not 1 <= self.port <= 65_535:
            found.append(f"port={self.port} must be between 1 and 65535, or null")
        if not self.check_host_keys and self.known_hosts_file is not None:
            found.append(f"known_hosts_file={self.known_hosts_file} is not read with cluster.check_host_keys=false")
        found += negative_gpus(self.gpus_per_host)
        for name in ("key_file", "known_hosts_file"):
            found += missing_file(name, getattr(self, name))
        return found + tls_mistakes(self)

    @property
    def dashboard_host(self) -> str | None:
        return listening_host(self.dashboard_address)

    def num_hosts_to_come(self, num_wanted: int) -> int:
        return len(self.machines)

    def start(self, num_hosts: int, threads_per_host: int) -> "SpecCluster":
        return _start_over_ssh(self, threads_per_host)


def _start_over_ssh(config: SshConfig, threads_per_host: int) -> "SpecCluster":
    """The cluster with its scheduler running; its hosts are started when it is entered.

    Raises what asyncssh and Dask raise when a machine cannot be reached or nothing can be started there.
    """
    from pipeline.cluster.over_ssh import SshCluster, SshHost, SshScheduler

    connect: dict[str, Any] = {
        "username": config.user,
        "port": config.port,
        "client_keys": None if config.key_file is None else [str(absolute(config.key_file))],
        "known_hosts": None if config.known_hosts_file is None else str(absolute(config.known_hosts_file)),
    }
    # What is left out, asyncssh takes from ssh's own configuration; that None means "no check" is its convention.
    connect = {name: value for name, value in connect.items() if value is not None}
    if not config.check_host_keys:
        connect["known_hosts"] = None
    network = {} if config.interface is None else {"interface": config.interface}
    if config.tls_files:
        network["protocol"] = TLS.rstrip(":/")
    of_all: dict[str, Any] = {
        "connect_options": connect,
        "remote_python": _python_of(config),
        "start_seconds": config.start_timeout_seconds,
    }
    scheduler = {
        "dashboard_address": config.dashboard_address,
        "idle_timeout": f"{config.idle_seconds:g}s",
        # In an allocation of Slurm, what was started over ssh has the signals of the job as well.
        "preload": [LEAVE_SIGNALS],
        **network,
    }
    # The scheduler alone first: a host that cannot be started would leave it behind, with nobody who knows of it.
    cluster = SshCluster(
        scheduler={"cls": SshScheduler, "options": {"address": config.hosts[0], "kwargs": scheduler, **of_all}},
        name="SSHCluster",
        security=config.security(),
    )
    deaf = {"preload": [LEAVE_SIGNALS], "preload_nanny": [LEAVE_SIGNALS]}
    host: dict[str, Any] = {"nthreads": threads_per_host, "memory_limit": 0, **network, **deaf}
    if config.gpus_per_host:
        host["resources"] = {GPU: config.gpus_per_host}
    cluster.worker_spec = {
        index: {
            "cls": SshHost,
            # Named like its entry here, so that it is known which one to start again when it is lost.
            "options": {"address": machine, "kwargs": {"name": index, **host}, **of_all},
        }
        for index, machine in enumerate(config.machines)
    }
    return cluster


def _python_of(config: SshConfig) -> str:
    """What Dask takes for the path of a Python. It has `env` in front of it, and so may begin with variables."""
    variables = [f"{name}={shlex.quote(value)}" for name, value in config.tls_environment().items()]
    return " ".join([*variables, python_word(config.python or sys.executable)])
