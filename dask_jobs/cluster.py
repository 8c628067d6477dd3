"""The one Dask cluster of a sweep: a LocalCluster of the launcher's own, or a scheduler that runs already; its hosts.

A host that was started again, by Dask's nanny or a batch system, is another host: it has another address, or another
identity at the same one. Hosts that cannot run jobs are refused at the start, and left out later.
Not here: which job runs where (`allocation`), what runs on a host (`attempt`).
"""

import contextlib
import enum
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from distributed import Client
from hydra.errors import CompactHydraException

from dask_jobs.allocation import HostSize
from dask_jobs.certificates import TlsFiles
from dask_jobs.connection import Connection, ConnectionBrokenError, let_close
from dask_jobs.gpus import check_visible
from dask_jobs.grants import prepare
from dask_jobs.host import HostReport, JobHostReport, report_here, report_job_host
from dask_jobs.identity import HostsMissingError, identity, takes_work, wait_for_hosts
from dask_jobs.outcome import HostSetup
from dask_jobs.questions import Questions
from dask_jobs.quiet import quietly
from dask_jobs.scheduler import SETTINGS, SETTINGS_HERE, UnansweredError, dashboard_link, join, settled, start_here
from dask_jobs.settings import LauncherSettings, locate
from dask_jobs.watched_time import WatchedTime

_SURVEY_SECONDS = 1.0
_ANSWER_SECONDS = 10.0
"""How long a scheduler may take for an answer: meanwhile no signal is heard."""
_SILENT_SECONDS = 30.0
"""Without an answer, after which a scheduler counts as one that stands still."""

_SETTINGS = {
    **SETTINGS,
    **SETTINGS_HERE,
    # Made for Dask's own data, which is freed seldom; it has every large array of a job mapped anew.
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None,
}


class SchedulerState(enum.Enum):
    """Whether it is there, it stands still, or it is there no more."""

    THERE = enum.auto()
    SILENT = enum.auto()
    GONE = enum.auto()


class Cluster:
    """Hosts that jobs can be given to, reached through one client. Made by `open_cluster`."""

    def __init__(
        self, client: Client, scheduler: Mapping[str, Any], settings: LauncherSettings, folder: str, ours: HostReport
    ) -> None:
        """`scheduler`: what it has told of itself."""
        self.client = client
        self.connection = Connection(client)
        self._folder = folder
        self._memory_per_host_bytes = settings.memory_per_host_bytes
        if settings.memory_per_host_bytes is None and settings.address is None:
            self._memory_per_host_bytes = ours.free_memory_bytes // settings.num_hosts
        self._reports: dict[str, JobHostReport] = {}
        # A survey waits for the scheduler, and then for hosts.
        longest_seconds = _SURVEY_SECONDS + 2 * _ANSWER_SECONDS
        self._questions = Questions(client, report_job_host, folder, longest_seconds=longest_seconds)
        self._unfit: dict[str, str] = {}
        """By address, the local directory of what cannot run jobs: each process has another one."""
        self.complaints: list[str] = []
        """What was wrong with hosts at the first survey."""
        self._surveyed_at = 0.0
        self._answered_at, self._is_silent = time.monotonic(), False
        self._scheduler_id = scheduler["id"]
        self.scheduler_address = str(scheduler["address"])
        """Where clients reach the scheduler."""
        self.dashboard_url = dashboard_link(client, scheduler)
        """Where the Dask dashboard answers; None if there is none."""
        self.present: frozenset[str] = frozenset()
        """Addresses of those that were there at the last survey."""
        self.sizes: list[HostSize] = []
        """Of all these."""
        self.hosts: list[HostSize] = []
        """Of them, those that take jobs: not one that Dask has paused for its memory."""
        self.num_hosts_seen = settings.num_hosts
        """How many there were when there were most, those that have not told yet what they are included; those that do
        not come, or not come back, in time are not counted any more."""
        self._come_back_seconds = settings.start_timeout_seconds
        self._incomplete = WatchedTime(longest_seconds=longest_seconds)

    def scheduler_state(self) -> SchedulerState:
        """Of the one that was there at the start.

        It is asked: of one that has died the client may hear only after a call to it has failed.
        """
        if self.client.status != "running" or self.client.scheduler is None:
            return SchedulerState.GONE
        try:
            told = identity(self.client, _ANSWER_SECONDS, num_hosts=0)
        except TimeoutError:
            # A call that has to connect anew, for the scheduler has just died, takes as long; the client knows by now.
            return SchedulerState.SILENT if self.client.status == "running" else SchedulerState.GONE
        except OSError:
            return SchedulerState.GONE
        return SchedulerState.THERE if told["id"] == self._scheduler_id else SchedulerState.GONE

    def check_scheduler(self, *, is_stopping: bool) -> str | None:
        """A sentence for people, once, when the scheduler has stood still for a while; it is waited for.

        Raises OSError where that is of no use: the client has given it up, or all is to end. ConnectionBrokenError
        where the scheduler may be there, and only another client can tell.
        """
        if self.connection.is_broken:
            raise ConnectionBrokenError
        if self.client.status == "closed":
            raise OSError("the scheduler is gone")
        if time.monotonic() - self._answered_at < _SILENT_SECONDS:
            self._is_silent = False
            return None
        if is_stopping and self.scheduler_state() is not SchedulerState.THERE:
            raise OSError("the scheduler does not answer")
        if self._is_silent:
            return None
        self._is_silent = True
        return f"the scheduler at {self.scheduler_address} has not answered for {_SILENT_SECONDS:g} s: it is waited for"

    def run_on(self, addresses: Sequence[str], function: Callable[..., Any], *args: Any) -> None:
        """`Client.run`, whatever comes of it: without end it would wait for a scheduler or a host that stands still."""
        run, hosts = self.client._run, list(addresses)
        with contextlib.suppress(OSError):
            self.client.sync(run, function, *args, workers=hosts, on_error="ignore", callback_timeout=_ANSWER_SECONDS)

    @property
    def room(self) -> tuple[Sequence[HostSize], Sequence[HostSize], int]:
        """What a job is judged by: hosts that take jobs, all that are present, and how many there were at most."""
        return self.hosts, self.sizes, self.num_hosts_seen

    def server_id(self, address: str) -> str:
        """What tells the process at this address from one that was there before it."""
        return self._reports[address].server_id

    def survey(self) -> list[str]:
        """Look at most every second who is there now; what is wrong with new hosts, one line each."""
        if time.monotonic() - self._surveyed_at < _SURVEY_SECONDS:
            return []
        if (workers := self._workers()) is None:
            return []
        # One that was started again at the same address, maybe within a second, is asked again.
        folders = {address: str(worker["local_directory"]) for address, worker in workers.items()}
        self._unfit = dict(self._unfit.items() & folders.items())
        unknown = {a: folder for a, folder in folders.items() if a not in self._reports and a not in self._unfit}
        complaints = self._ask(unknown)
        self._reports = {address: report for address, report in self._reports.items() if address in workers}
        sharing = Counter(report.machine for report in self._reports.values())
        self.present = frozenset(self._reports)
        self.sizes = [self._size(address, workers[address], sharing) for address in sorted(self._reports)]
        self.hosts = [host for host in self.sizes if takes_work(workers[host.address])]
        self._surveyed_at = time.monotonic()
        num_there = len(self.present) + self._questions.num_open
        if num_there >= self.num_hosts_seen:
            self.num_hosts_seen = num_there
        self._incomplete.look()
        if len(self.present) >= self.num_hosts_seen:
            self._incomplete.seconds = 0.0
        elif self._incomplete.seconds > self._come_back_seconds:
            self.num_hosts_seen, self._incomplete.seconds = len(self.present), 0.0
        return complaints

    def forget(self, address: str) -> None:
        """Take the host at this address for one that is lost, until the next survey, which is due at once."""
        self._surveyed_at = -math.inf
        self._reports.pop(address, None)
        self.present -= {address}
        self.sizes = [host for host in self.sizes if host.address != address]
        self.hosts = [host for host in self.hosts if host.address != address]

    def _workers(self) -> dict[str, dict[str, Any]] | None:
        """What the scheduler knows of its hosts, by address; None while it does not answer."""
        try:
            told = identity(self.client, _ANSWER_SECONDS)
        except OSError:
            return None
        self._answered_at = time.monotonic()
        return dict(told["workers"])

    def _ask(self, folders: dict[str, str]) -> list[str]:
        complaints = []
        for address, answer in self._questions.ask(folders, _ANSWER_SECONDS).items():
            if isinstance(answer, JobHostReport) and answer.sees_folder:
                self._reports[address] = answer
                continue
            self._unfit[address] = folders[address]
            complaints.append(
                f"{address} does not see the folder {self._folder}, where the command was typed: jobs need it there"
                if isinstance(answer, JobHostReport)
                else f"{address} cannot run jobs: {answer}: its Python needs this launcher, and the packages of the job"
            )
        silent = self._questions.silent(_SILENT_SECONDS)
        return complaints + [f"{address} has not answered for {_SILENT_SECONDS:g} s" for address in silent]

    def _size(self, address: str, worker: dict[str, Any], sharing: Mapping[str, int]) -> HostSize:
        """`sharing`: machine -> its hosts."""
        num_gpus = int(worker.get("resources", {}).get("GPU", 0))
        return HostSize(address, int(worker["nthreads"]), self._memory_bytes(address, worker, sharing), num_gpus)

    def _memory_bytes(self, address: str, worker: dict[str, Any], sharing: Mapping[str, int]) -> int:
        if self._memory_per_host_bytes is not None:
            return self._memory_per_host_bytes
        if worker.get("memory_limit"):
            return int(worker["memory_limit"])
        report = self._reports[address]
        return report.memory_bytes // sharing[report.machine]


@contextlib.contextmanager
def open_cluster(
    settings: LauncherSettings,
    setup: HostSetup,
    ours: HostReport | None = None,
    say: Callable[[str], None] = lambda _: None,
    *,
    is_again: bool = False,
) -> Iterator[Cluster]:
    """Start or join the cluster, wait for its hosts; close what was started.

    `ours`: what hosts that are started here have to share; None: what is here. `say` hears what is waited for.
    `is_again`: it is joined once more, by who has used it with the hosts that there were: one is enough, and those of
    no use are left out.
    Raises CompactHydraException when the scheduler does not answer, or hosts do not come or cannot run jobs.
    """
    ours = ours or report_here()
    num_hosts = 1 if is_again else settings.num_hosts
    of_whom = "this machine" if settings.address is None else f"the scheduler at {settings.address}"
    say(f"waiting for {'a host' if num_hosts == 1 else f'{num_hosts} hosts'} of {of_whom}")
    with settled(_SETTINGS), quietly(), _client(settings, ours) as client:
        try:
            scheduler = wait_for_hosts(client, num_hosts, settings.start_timeout_seconds, _ANSWER_SECONDS, say)
            _check_scheduler(client, scheduler["address"])
        except HostsMissingError as error:
            raise CompactHydraException(
                f"{error}: start `dask worker` processes, or raise hydra.launcher.start_timeout_seconds"
            ) from error
        except OSError as error:
            where = "" if settings.address is None else f" at {settings.address}"
            raise CompactHydraException(f"the scheduler{where} does not answer any more: {error!r}") from error
        cluster = Cluster(client, scheduler, settings, setup.folder, ours)
        if (complaints := cluster.survey()) and not is_again:
            raise CompactHydraException("\n".join(["hosts of the cluster cannot be used:", *complaints]))
        cluster.complaints = complaints
        if settings.on_cluster is not None:
            locate(settings.on_cluster)(client)
        yield cluster


@contextlib.contextmanager
def _client(settings: LauncherSettings, ours: HostReport) -> Iterator[Client]:
    if settings.address is not None:
        tls = TlsFiles(**settings.tls_files) if settings.tls_files else None
        try:
            joined = join(settings.address, tls, settings.start_timeout_seconds)
        except UnansweredError as error:
            raise CompactHydraException(
                f"{error}: start one with `dask scheduler`, or leave hydra.launcher.address out"
            ) from error
        with joined as client, contextlib.ExitStack() as before_it:
            before_it.callback(let_close, client)
            yield client
        return
    check_visible(settings.num_hosts * settings.gpus_per_host)
    started = start_here(
        settings.num_hosts,
        settings.threads_per_host or max(ours.num_cores // settings.num_hosts, 1),
        processes=True,
        dashboard_address=settings.dashboard_address,
        gpus_per_host=settings.gpus_per_host,
    )
    with started as cluster, Client(cluster, set_as_default=False) as client:
        yield client


def _check_scheduler(client: Client, address: str) -> None:
    """Raise CompactHydraException for a scheduler that cannot keep the grants of a sweep, OSError without an answer."""
    try:
        prepare(client)
    except OSError:
        raise
    except Exception as error:  # whatever its Python fails of when it looks for this launcher
        raise CompactHydraException(
            f"the scheduler at {address} cannot take part: {error!r}: its Python needs this launcher, so start "
            "`dask scheduler` from an environment that has it"
        ) from error
