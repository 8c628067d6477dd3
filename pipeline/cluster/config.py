"""Settings of the Dask cluster that a run uses, and what the layers above ask of a cluster, whatever its kind.

A kind is a subclass of ClusterConfig in a file of its own: its settings, its way to start, and its answers to the
questions below where they differ from those of most kinds.
Not here: the kinds (`pipeline.cluster.kinds`), a client of what was started (`pipeline.cluster.start`).
"""

import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeVar

from pipeline.cluster.groups import HostGroup, groups_mistakes, num_in_groups
from pipeline.run_folders import at_home

if TYPE_CHECKING:  # settings are read in programs that never start a cluster
    from distributed import Client
    from distributed.deploy.cluster import Cluster

_ALL_INTERFACES = ("", "0.0.0.0", "[::]")
_LARGEST_PORT = 65_535
_MARGIN_SECONDS = 60.0
"""For what is done between waits."""


class AskedHost(NamedTuple):
    """What was asked for each host, and is all that it has, whatever its machine has."""

    num_cores: int | None
    """None: as many as its compute threads."""
    num_gpus: int


@dataclass(frozen=True)
class ClusterConfig(ABC):
    """Where hosts come from: what every kind has. Explained in `conf/cluster/`."""

    can_tell_hosts_before_start: ClassVar[bool] = True
    """What hosts offer is known before there are any; if not, they have to be asked."""
    runs_in_this_process: ClassVar[bool] = False
    """Hosts are threads of the process that opened the session, and need no memory of their own."""
    is_on_this_machine: ClassVar[bool] = False
    """All hosts share the machine of the process that opened the session."""
    is_shared: ClassVar[bool] = False
    """Other commands may have roles on the same hosts."""
    restarts_hosts: ClassVar[bool] = False
    """Another host comes in place of a lost one when the cluster is scaled to its size again."""
    reaches_hosts: ClassVar[bool] = True
    """This process can connect to hosts; if not, the scheduler passes on what is said."""
    serves_sweeps: ClassVar[bool] = False
    """A sweep on a Dask cluster can use it: its launcher starts one itself, or finds it."""
    group_settings: ClassVar[tuple[str, ...] | None] = None
    """What a group of hosts may say of them, beside its roles and their number; None: this kind has no groups."""
    needed_package: ClassVar[str | None] = None
    """What it imports beyond what every installation has; an extra of the project with the kind's name brings it."""

    kind: str
    """One of CLUSTER_KINDS."""
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
    groups: tuple[HostGroup, ...]
    """Kinds of host, and which roles stand on which; `num_hosts` counts them all."""

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = []
        if type(self) is not CLUSTER_KINDS.get(self.kind):
            found.append(f"kind={self.kind} must be one of {', '.join(CLUSTER_KINDS)}, with the settings of that kind")
        if self.num_hosts is not None and self.num_hosts < 1:
            found.append(f"num_hosts={self.num_hosts} must be at least 1, or null")
        if self.memory_bytes is not None and self.memory_bytes < 1:
            found.append(f"memory_bytes={self.memory_bytes} must be at least 1, or null")
        if self.max_restarts < 0:
            found.append(f"max_restarts={self.max_restarts} must be at least 0")
        for name in ("start_timeout_seconds", "lease_seconds"):
            if getattr(self, name) <= 0:
                found.append(f"{name}={getattr(self, name)} must be positive")
        if (address := getattr(self, "dashboard_address", None)) is not None:
            found += wrong_dashboard(address)
        return found + self._wrong_groups()

    def _wrong_groups(self) -> list[str]:
        if not self.groups:
            return []
        if self.group_settings is None:
            able = ", ".join(kind for kind, other in CLUSTER_KINDS.items() if other.group_settings is not None)
            return [f"groups: all hosts of kind={self.kind} are alike; kinds with groups are {able}"]
        found = groups_mistakes(self.groups, self.group_settings, self.kind)
        if not found and self.num_hosts is not None and self.num_hosts < num_in_groups(self.groups):
            counted = f"groups have {num_in_groups(self.groups)} hosts"
            found.append(f"num_hosts={self.num_hosts} counts all hosts, and {counted}: raise it, or leave it null")
        return found

    def sized(self, num_hosts: Mapping[str | None, int]) -> Self:
        """The same, whose groups say how many hosts they have."""
        return replace(self, groups=tuple(replace(group, num_hosts=num_hosts[group.name]) for group in self.groups))

    def of_group(self, group: HostGroup | None) -> Self:
        """The same for hosts of this group alone; None: those of no group."""
        given: dict[str, Any] = {} if group is None else group.given
        return replace(self, groups=(), **given)

    @property
    def asked_host(self) -> AskedHost | None:
        """What is asked for each host, beside `memory_bytes`; None: a host has what its machine has."""
        return None

    @property
    def lifetime_seconds(self) -> float | None:
        """How long a host is there at least before it leaves by itself; None: as long as it is wanted."""
        return None

    @property
    def idle_seconds(self) -> float:
        """After which a scheduler without tasks ends: one whose coordinator was killed has nobody else to stop it.

        Roles leave after their lease. Without tasks are a wait for hosts, too, and those that follow it: twice for the
        survey, and twice for what hosts and scheduler can import.
        """
        from pipeline.cluster.scheduler import ANSWER_SECONDS  # with Dask

        return self.start_timeout_seconds + self.lease_seconds + 4 * ANSWER_SECONDS + _MARGIN_SECONDS

    @property
    def dashboard_host(self) -> str | None:
        """The machine that the Dask dashboard was told to listen on; None: the cluster's link says where that is."""
        return None

    def num_hosts_to_come(self, num_wanted: int) -> int:
        """Hosts to wait for after the start, where the run wants `num_wanted`."""
        return num_wanted

    def of_run(self, name: str, log_dir: Path) -> Self:
        """The same for one run: what its jobs are called, and where what they print may go, if it has such things.

        The folder need not be there. Most kinds start nothing that has a name and a file of its own.
        """
        return self

    @abstractmethod
    def start(self, num_hosts: int, threads_per_host: int) -> "Cluster | None":
        """A cluster for this run alone, entered and closed by the caller; None where somebody else has started it.

        Hosts need not be there yet. Raises whatever its package raises when it cannot be started.
        """

    def connect(self, cluster: "Cluster | None") -> "Client":
        """A client of what `start` returned, entered by now. Raises PlacementError when nobody answers."""
        from distributed import Client

        return Client(cluster, direct_to_workers=self.reaches_hosts)

    def why_hosts_stay_away(self, cluster: "Cluster | None") -> str | None:
        """Why hosts of what `start` returned that are not there will never come, in words; None: they may.

        Asked again and again while they are waited for.
        """
        return None

    def submission(self, num_hosts: int, threads_per_host: int) -> str | None:
        """The job script or the specification that `start` would hand to a batch system; None where there is none."""
        return None


CLUSTER_KINDS: dict[str, type[ClusterConfig]] = {}
"""Kind -> its class. Import it from `pipeline.cluster.kinds`, which has read all files of kinds by then."""

_Kind = TypeVar("_Kind", bound=type[ClusterConfig])


def cluster_kind(name: str) -> Callable[[_Kind], _Kind]:
    """Decorator of the class of a kind: `cluster=name` then has the settings in `conf/cluster/name.yaml`."""

    def register(kind: _Kind) -> _Kind:
        CLUSTER_KINDS[name] = kind
        return kind

    return register


def common_settings(config: ClusterConfig) -> dict[str, Any]:
    """The settings that every kind has, by their names."""
    return {field.name: getattr(config, field.name) for field in fields(ClusterConfig)}


def listening_host(dashboard_address: str) -> str | None:
    """The host in host:port, to link to; None where that means all interfaces."""
    host = dashboard_address.rpartition(":")[0]
    return None if host in _ALL_INTERFACES else host


def wrong_dashboard(address: str) -> list[str]:
    """The mistake of a `dashboard_address` that is no host:port, :port or port."""
    port = address.rpartition(":")[2]
    if port.isascii() and port.isdecimal() and int(port) <= _LARGEST_PORT:
        return []
    return [f"dashboard_address={address} must end in a port from 0 to {_LARGEST_PORT}, e.g. :8787 or 127.0.0.1:0"]


def missing_file(name: str, file: str | None) -> list[str]:
    """The mistake of a setting that names a file that is not there."""
    return [] if file is None or Path(at_home(file)).is_file() else [f"{name}={file}: there is no such file"]


def missing_memory(config: ClusterConfig) -> list[str]:
    """The mistake of a kind that asks for hosts of some size, and is not told which."""
    if config.memory_bytes is not None:
        return []
    return [f"memory_bytes is missing: kind={config.kind} has to ask for the memory of each host, in bytes"]


def negative_gpus(gpus_per_host: int) -> list[str]:
    """The mistake of less than no GPU."""
    return [] if gpus_per_host >= 0 else [f"gpus_per_host={gpus_per_host} must be at least 0"]


def python_word(path: str) -> str:
    """The path of a Python as one word for a shell; a "~/" in front stays the home of whoever logs in."""
    home = "~/" if path.startswith("~/") else ""
    return home + shlex.quote(path.removeprefix(home))
