"""Settings of a sweep, `hydra.launcher.*`: one commented field each, and every mistake in them in words.

Hydra reads this module at the start of every program that it finds the launcher beside: it imports light things only.
Not here: using them (`command`), what Hydra knows them by (`hydra_plugins.dask_launcher.config`).
"""

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from dask_jobs.addresses import address_mistakes
from dask_jobs.certificates import given_tls_files, tls_mistakes

PROGRESS_STYLES = ("auto", "live", "lines", "none")

_LARGEST_PORT = 65_535
_POSITIVE = ("num_hosts", "threads_per_host", "memory_per_host_bytes", "threads", "memory_bytes", "memory_factor")
_NOT_NEGATIVE = ("gpus_per_host", "gpus", "retries", "backoff_seconds", "stop_seconds")


@dataclass
class LauncherSettings:
    """`hydra.launcher.*`, with the values that stand when nothing is said."""

    address: str | None = None
    """Scheduler to join, tcp://host:port or tls://host:port. None: a cluster of the launcher's own, on this machine."""
    num_hosts: int = 1
    """Hosts of the launcher's own cluster, a process each; with `address`: how many to wait for."""
    threads_per_host: int | None = None
    """Threads that jobs may use on each host of the own cluster. None: the machine's cores, divided by num_hosts."""
    memory_per_host_bytes: int | None = None
    """Memory that jobs may use on each host of the own cluster. None: what is free now, divided by num_hosts."""
    gpus_per_host: int = 0
    """GPUs of each host of the own cluster. Above 0, a job sees those that it was granted and no others."""
    dashboard_address: str = "127.0.0.1:0"
    """Where the dashboard of the own cluster listens; port 0 takes any that is free."""

    tls_ca_file: str | None = None
    """Certificate (PEM) of the authority that signed the certificates of the cluster at `address`. None: no TLS."""
    tls_cert_file: str | None = None
    """The launcher's own certificate (PEM)."""
    tls_key_file: str | None = None
    """The private key (PEM) of that certificate."""

    needs: str | None = None
    """Dotted path of a function (config: DictConfig) -> JobNeeds. None: every job needs the same, as follows."""
    threads: int = 1
    """Threads of each job."""
    memory_bytes: int | None = None
    """Memory of each job. None: it is not counted, and not watched."""
    gpus: int = 0
    """GPUs of each job."""

    memory_factor: float | None = 1.5
    """A job whose processes hold more than this times the memory it was granted is stopped. None: never."""
    ignored_overrides: list[str] = field(default_factory=list)
    """Overrides that tell no job from another, with all below them: "cluster" is also "cluster.address".

    With or without them it is the same job in the ledger.
    """
    retries: int = 1
    """How often a job that failed is started again, in one command."""
    backoff_seconds: float = 5.0
    """Pause before the first time a job is started again; doubles each time."""
    fail_fast: bool = False
    """True: the first job that fails for good stops all others."""
    stop_seconds: float = 30.0
    """Time that a job has between being told to stop (SIGINT) and being killed (SIGKILL)."""
    start_timeout_seconds: float = 60.0
    """How long to wait for the scheduler and its hosts."""

    preload: list[str] = field(default_factory=list)
    """Modules to import in a spare process on each host that waits there for the host's next job."""
    on_cluster: str | None = None
    """Dotted path of a function (client: distributed.Client) -> None, called once the cluster is there."""
    progress: str = "auto"
    """What the terminal shows: live (a table), lines (each change), none; auto: live on a terminal, else lines."""

    @property
    def tls_files(self) -> dict[str, str]:
        """Those of the three TLS files that are given, by the names of their settings."""
        return given_tls_files(self)

    def mistakes(self) -> list[str]:
        """Everything that is wrong with these settings, one line each, beginning with the setting's name."""
        found = []
        for name in _POSITIVE:
            value = getattr(self, name)
            if value is not None and value <= 0:
                found.append(f"{name}={value} must be above 0{'' if name in ('num_hosts', 'threads') else ', or null'}")
        for name in _NOT_NEGATIVE:
            if getattr(self, name) < 0:
                found.append(f"{name}={getattr(self, name)} must be at least 0")
        if self.start_timeout_seconds <= 0:
            found.append(f"start_timeout_seconds={self.start_timeout_seconds} must be above 0")
        if self.progress not in PROGRESS_STYLES:
            found.append(f"progress={self.progress} must be one of {', '.join(PROGRESS_STYLES)}")
        if self.needs is not None and (self.threads, self.memory_bytes, self.gpus) != (1, None, 0):
            found.append(f"needs={self.needs} already says what a job needs: leave threads, memory_bytes, gpus out")
        port = self.dashboard_address.rpartition(":")[2]
        if not (port.isascii() and port.isdecimal() and int(port) <= _LARGEST_PORT):
            found.append(
                f"dashboard_address={self.dashboard_address} must end in a port from 0 to {_LARGEST_PORT}, e.g. :8787"
            )
        found += self._cluster_mistakes()
        for name in ("needs", "on_cluster"):
            if (path := getattr(self, name)) is not None:
                found += _no_function(name, path)
        found += [f"preload={name}: there is no such module" for name in self.preload if not _is_module(name)]
        return found

    def _cluster_mistakes(self) -> list[str]:
        found = []
        if self.address is not None:
            found += [f"address={line}" for line in address_mistakes(self.address)]
            for name in ("threads_per_host", "memory_per_host_bytes", "gpus_per_host"):
                if getattr(self, name):
                    found.append(
                        f"{name}={getattr(self, name)} is for a cluster of the launcher's own: the hosts at "
                        f"address={self.address} say themselves what they have (`dask worker --nthreads "
                        "--memory-limit --resources GPU=…`)"
                    )
        elif self.tls_files:
            found.append(f"{', '.join(self.tls_files)} is for a cluster at address=tls://host:port, which is missing")
        return found + tls_mistakes(self, self.address)


def locate(path: str) -> Callable[..., Any]:
    """The function with this dotted path. Raises ImportError, AttributeError or TypeError, in words, if it is none."""
    module, _, name = path.rpartition(".")
    if not module:
        raise ImportError(f"{path} has no module in it: package.module.function is wanted")
    function = getattr(import_module(module), name)
    if not callable(function):
        raise TypeError(f"{path} is a {type(function).__name__}, not a function")
    return function  # type: ignore[no-any-return]


def _no_function(name: str, path: str) -> list[str]:
    try:
        locate(path)
    except (ImportError, AttributeError, TypeError) as error:
        return [f"{name}={path} is no function: {error}"]
    return []


def _is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False
