"""A Dask cluster for one run: started here ("threads", "processes") or found by its address, behind one client.

    with open_session(config, num_hosts, threads_per_host) as session:
        session.offers(...)            what the hosts have, after their versions were checked
        session.submit(...)            one role on one host
        session.present_hosts()        hosts that are there now

Not here: which role goes where (`pipeline.cluster.placement`), what roles are (`pipeline.topologies`).
"""

import contextlib
import logging
import uuid
from collections.abc import Callable, Iterator
from typing import Any, cast

import dask
from distributed import Client, Future, LocalCluster
from distributed.utils import format_dashboard_link

from pipeline.cluster.config import ADDRESS, PROCESSES, ClusterConfig
from pipeline.cluster.hosts import HostReport, check_versions, report_host
from pipeline.cluster.placement import Offer
from pipeline.errors import PlacementError

Task = Future[Any]
"""What `Session.submit` returns; the layers above name it without importing Dask."""

_ALL_INTERFACES = ("", "0.0.0.0", "[::]")
_LOOPBACK = "127.0.0.1"

_SETTINGS = {
    # Something that nobody can run is an error after this, not a silent wait.
    "distributed.scheduler.no-workers-timeout": "60s",
    # The replay is memory that Dask cannot spill: pausing or killing its host at some share would only stop the run.
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.admin.tick.limit": "30s",
    # A call to a host that was killed since the last one fails after this.
    "distributed.comm.timeouts.connect": "10s",
    # Dask's own value has every array over 128 kB mapped anew, page by page, and roles make the same arrays in each
    # update. None leaves glibc to adapt by itself; `docs/running.md` has what was measured.
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None,
}


class Session:
    """Hosts of one run, reached through one client."""

    def __init__(self, client: Client, config: ClusterConfig) -> None:
        self.client = client
        self.run_id = uuid.uuid4().hex[:8]
        """Names this run among all that share the cluster."""
        self._config = config
        self._hosts = self._survey()

    @property
    def dashboard_url(self) -> str:
        """Where the Dask dashboard of this cluster answers."""
        host = self._config.dashboard_address.rpartition(":")[0]
        if self._config.kind == ADDRESS or host in _ALL_INTERFACES:
            return str(self.client.dashboard_link)
        # Dask's own link to an in-process cluster names the machine's address, wherever the dashboard listens.
        return str(format_dashboard_link(host, self.client.scheduler_info()["services"]["dashboard"]))

    @property
    def hosts(self) -> dict[str, HostReport]:
        """Address -> report of every host that was there at the last survey, in a stable order."""
        return dict(self._hosts)

    @property
    def host_timeout_seconds(self) -> float:
        """How long to wait for a host that is to come."""
        return self._config.start_timeout_seconds

    def offers(self) -> list[Offer]:
        """What each host that is still there offers to a placement. Raises HostMismatchError when versions differ."""
        check_versions(report_host(), self._hosts)
        threads = self.client.nthreads()
        return [
            Offer(
                address=address,
                machine=report.machine,
                num_threads=threads[address],
                memory_bytes=self._config.memory_bytes or report.free_memory_bytes,
                num_cores=report.num_cores,
            )
            for address, report in self._hosts.items()
            if address in threads
        ]

    def submit(
        self, function: Callable[..., Any], *args: Any, host: str, name: str, actor: bool = False, **kwargs: Any
    ) -> Task:
        """Run `function` on the host with this address, nowhere else; `name` is the beginning of its key.

        Dask never runs it twice: a host that dies takes its tasks with it, and the topology decides what follows.
        """
        return self.client.submit(
            function,
            *args,
            key=f"{name}-{self.run_id}-{uuid.uuid4().hex[:8]}",
            workers=[host],
            allow_other_workers=False,
            pure=False,
            retries=0,
            actor=actor,
            **kwargs,
        )

    def send(self, value: object, host: str) -> Task:
        """Put a value of many megabytes on a host, to be passed to `submit` there."""
        (task,) = self.client.scatter([value], workers=[host], hash=False)
        return cast(Task, task)

    def present_hosts(self) -> set[str]:
        """Addresses of the hosts that are there now; a host that was started again has another one than before."""
        return set(self.client.nthreads())

    def survey_again(self) -> None:
        """Take the hosts that are there now for the hosts of this session. Raises OSError if one dies meanwhile."""
        self._hosts = self._survey()

    def _survey(self) -> dict[str, HostReport]:
        reports = self.client.run(report_host)
        return {address: reports[address] for address in sorted(reports)}


@contextlib.contextmanager
def open_session(config: ClusterConfig, num_hosts: int, threads_per_host: int) -> Iterator[Session]:
    """Start or find the cluster and wait for its hosts; close what was started.

    `num_hosts` and `threads_per_host` are for clusters that are started here. Raises PlacementError when no scheduler
    answers at `config.address` or its hosts do not come within `config.start_timeout_seconds`.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(dask.config.set(_SETTINGS))
        if config.kind == ADDRESS:
            client = _connect(config)
            num_hosts = 1
        else:
            cluster = _start(config, num_hosts, threads_per_host)
            stack.enter_context(cluster)
            client = Client(cluster, direct_to_workers=True)
        stack.enter_context(client)
        try:
            client.wait_for_workers(num_hosts, timeout=config.start_timeout_seconds)
        except TimeoutError as error:
            raise PlacementError(
                f"{len(client.nthreads())} of {num_hosts} hosts came within {config.start_timeout_seconds:g} s; "
                "start `dask worker` processes, or raise cluster.start_timeout_seconds"
            ) from error
        yield Session(client, config)


def _connect(config: ClusterConfig) -> Client:
    try:
        return Client(config.address, timeout=config.start_timeout_seconds, direct_to_workers=True)
    except OSError as error:
        raise PlacementError(
            f"no scheduler answers at {config.address} within {config.start_timeout_seconds:g} s; "
            "start one with `dask scheduler`, or use cluster=threads"
        ) from error


def _start(config: ClusterConfig, num_hosts: int, threads_per_host: int) -> LocalCluster:
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
