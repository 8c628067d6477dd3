"""Hosts on this machine: all in this process ("threads"), or each in a process of its own ("processes")."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from pipeline.cluster.config import ClusterConfig, cluster_kind, common_settings, listening_host
from pipeline.cluster.scripts import check_guarded

if TYPE_CHECKING:
    from distributed import LocalCluster

THREADS, PROCESSES = "threads", "processes"
_LOOPBACK = "127.0.0.1"
_ANY_FREE_PORT = f"{_LOOPBACK}:0"


@dataclass(frozen=True)
class LocalConfig(ClusterConfig):
    """What both kinds have."""

    is_on_this_machine: ClassVar[bool] = True
    serves_sweeps: ClassVar[bool] = True

    dashboard_address: str
    """Where the Dask dashboard listens; ":0" takes any free port."""

    @property
    def dashboard_host(self) -> str | None:
        # Dask's own link to an in-process cluster names the machine's address, wherever the dashboard listens.
        return listening_host(self.dashboard_address)

    def start(self, num_hosts: int, threads_per_host: int) -> "LocalCluster":
        return _start_here(self, num_hosts, threads_per_host)


@cluster_kind(THREADS)
@dataclass(frozen=True)
class ThreadsConfig(LocalConfig):
    """Hosts that are threads of this process: no copies between roles."""

    runs_in_this_process: ClassVar[bool] = True


@cluster_kind(PROCESSES)
@dataclass(frozen=True)
class ProcessesConfig(LocalConfig):
    """Hosts that are child processes of this one."""

    def start(self, num_hosts: int, threads_per_host: int) -> "LocalCluster":
        check_guarded()
        return super().start(num_hosts, threads_per_host)


def in_this_process(asked: ClusterConfig) -> ThreadsConfig:
    """All hosts in this process, with those settings of `asked` that every kind has.

    The dashboard's port is any free one: programs that do this side by side may not fight for it.
    """
    return ThreadsConfig(**common_settings(asked) | {"kind": THREADS, "groups": ()}, dashboard_address=_ANY_FREE_PORT)


def _start_here(config: LocalConfig, num_hosts: int, threads_per_host: int) -> "LocalCluster":
    from dask_jobs.scheduler import start_here

    processes, dashboard = config.kind == PROCESSES, config.dashboard_address
    return start_here(num_hosts, threads_per_host, processes=processes, dashboard_address=dashboard)
