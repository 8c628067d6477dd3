"""Settings of the Dask cluster that a run uses: what all kinds have, and one class per kind with what it has besides.

Not here: starting one (`pipeline.cluster.kinds.start`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hydra_plugins.dask_launcher.addresses import address_mistakes

THREADS, PROCESSES, ADDRESS, SSH, SLURM, KUBERNETES = KINDS = (
    "threads",
    "processes",
    "address",
    "ssh",
    "slurm",
    "kubernetes",
)
ASKED = (ADDRESS, SSH)
"""Kinds whose hosts have to be asked what they offer; the others' are known before they are started."""

_TLS = "tls://"
_TLS_FILES = ("tls_ca_file", "tls_cert_file", "tls_key_file")


@dataclass(frozen=True)
class ClusterConfig:
    """Where hosts come from: what every kind has. Explained in `conf/cluster/`."""

    kind: str
    """One of KINDS."""
    num_hosts: int | None
    """Hosts to start or, with kind "address", to wait for; None: as many as the topology wants, or as are named."""
    memory_bytes: int | None
    """Memory that the roles may plan with on one machine; None: 80 % of what is free there."""
    start_timeout_seconds: float
    """How long to wait for hosts."""
    max_restarts: int
    """How often a role that was lost with its host is started again, before the run gives up."""
    lease_seconds: float
    """Roles leave when their coordinator has been silent for this long."""

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = []
        if type(self) is not CLUSTER_KINDS.get(self.kind):
            found.append(f"kind={self.kind} must be one of {', '.join(KINDS)}, with the settings of that kind")
        if self.num_hosts is not None and self.num_hosts < 1:
            found.append(f"num_hosts={self.num_hosts} must be at least 1, or null")
        if self.memory_bytes is not None and self.memory_bytes < 1:
            found.append(f"memory_bytes={self.memory_bytes} must be at least 1, or null")
        if self.max_restarts < 0:
            found.append(f"max_restarts={self.max_restarts} must be at least 0")
        for name in ("start_timeout_seconds", "lease_seconds"):
            if getattr(self, name) <= 0:
                found.append(f"{name}={getattr(self, name)} must be positive")
        return found


@dataclass(frozen=True)
class LocalConfig(ClusterConfig):
    """Hosts on this machine: "threads" puts all into this process, "processes" gives each a process."""

    dashboard_address: str
    """Where the Dask dashboard listens; ":0" takes any free port."""


@dataclass(frozen=True)
class AddressConfig(ClusterConfig):
    """Hosts of a scheduler that is running already."""

    address: str | None
    """The scheduler's: tcp://host:port, or tls://host:port."""
    tls_ca_file: str | None
    """Certificate (PEM) of the authority that signed the cluster's certificates; None: no TLS."""
    tls_cert_file: str | None
    """This run's own certificate (PEM)."""
    tls_key_file: str | None
    """The private key (PEM) of that certificate."""

    @property
    def tls_files(self) -> Mapping[str, str]:
        """Those of the three TLS files that are given, by the names of their settings."""
        return {name: file for name in _TLS_FILES if (file := getattr(self, name)) is not None}

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = super().mistakes()
        if self.address is None:
            found.append("address is missing: kind=address needs cluster.address=tcp://host:port")
        else:
            found += [f"address={line}" for line in address_mistakes(self.address)]
        if self.tls_files and len(self.tls_files) < len(_TLS_FILES):
            missing = ", ".join(name for name in _TLS_FILES if name not in self.tls_files)
            found.append(f"{missing} is missing: TLS needs all of {', '.join(_TLS_FILES)}")
        if self.tls_files and self.address is not None and not self.address.startswith(_TLS):
            found.append(f"address={self.address} must begin with {_TLS} where certificates are given")
        return found + [mistake for name in _TLS_FILES for mistake in _no_file(name, getattr(self, name))]


@dataclass(frozen=True)
class SshConfig(ClusterConfig):
    """A scheduler and hosts started over ssh."""

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
        """What is out of range, one line each, beginning with the field's name."""
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
        found += _negative_gpus(self.gpus_per_host)
        for name in ("key_file", "known_hosts_file"):
            found += _no_file(name, getattr(self, name))
        return found


@dataclass(frozen=True)
class SlurmConfig(ClusterConfig):
    """Hosts in jobs of the batch system Slurm; the scheduler runs where the command was typed."""

    partition: str | None
    """Queue of the jobs; None: the site's default."""
    account: str | None
    """Who pays for the jobs; None: the site's default."""
    hosts_per_job: int
    """Hosts that share one job, and die with it."""
    host_cores: int | None
    """Cores of each host; None: its compute threads."""
    gpus_per_host: int
    """GPUs that each host declares; the job asks for them by `directives`."""
    walltime_minutes: int
    """After which Slurm kills a job."""
    leave_minutes: int
    """How long before that a host leaves by itself, give or take half of it, so that not all leave at once."""
    directives: tuple[str, ...]
    """More #SBATCH lines, such as --gres=gpu:1."""
    prologue: tuple[str, ...]
    """Shell commands before a job's hosts start, such as module load cuda."""
    python: str | None
    """Python of the jobs; None: the one that runs here, on a shared disk."""
    interface: str | None
    """Network interface that scheduler and hosts use, such as ib0; None: the one that Dask finds."""
    dashboard_address: str
    """Where the Dask dashboard listens; ":0" takes any free port."""

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = super().mistakes() + _no_memory(self) + _negative_gpus(self.gpus_per_host)
        for name in ("hosts_per_job", "host_cores", "walltime_minutes", "leave_minutes"):
            value = getattr(self, name)
            if value is not None and value < 1:
                found.append(f"{name}={value} must be at least 1")
        # A host leaves at most 1.5 times leave_minutes before the end.
        if 2 * self.leave_minutes > self.walltime_minutes:
            found.append(
                f"leave_minutes={self.leave_minutes} must be at most half of walltime_minutes={self.walltime_minutes}"
            )
        return found


@dataclass(frozen=True)
class KubernetesConfig(ClusterConfig):
    """Scheduler and hosts in pods of their own, made by the Dask operator."""

    image: str | None
    """Container image with this installation in it."""
    namespace: str | None
    """Where the pods live; None: the one that kubectl uses."""
    host_cores: int | None
    """Cores of each host; None: its compute threads."""
    gpus_per_host: int
    """GPUs (nvidia.com/gpu) of each host."""

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = super().mistakes() + _no_memory(self) + _negative_gpus(self.gpus_per_host)
        if self.image is None:
            found.append("image is missing: kind=kubernetes needs cluster.image=registry/name:tag")
        if self.host_cores is not None and self.host_cores < 1:
            found.append(f"host_cores={self.host_cores} must be at least 1, or null")
        return found


CLUSTER_KINDS: Mapping[str, type[ClusterConfig]] = {
    THREADS: LocalConfig,
    PROCESSES: LocalConfig,
    ADDRESS: AddressConfig,
    SSH: SshConfig,
    SLURM: SlurmConfig,
    KUBERNETES: KubernetesConfig,
}
"""Kind -> the class that holds its settings."""


def _no_file(name: str, file: str | None) -> list[str]:
    return [] if file is None or Path(file).is_file() else [f"{name}={file}: there is no such file"]


def _negative_gpus(gpus_per_host: int) -> list[str]:
    return [] if gpus_per_host >= 0 else [f"gpus_per_host={gpus_per_host} must be at least 0"]


def _no_memory(config: ClusterConfig) -> list[str]:
    if config.memory_bytes is not None:
        return []
    return [f"memory_bytes is missing: kind={config.kind} has to ask for the memory of each host, in bytes"]
