"""A Dask cluster for one run, whatever its kind: its hosts, the tasks on them, behind one client.

    with open_session(config, num_hosts, threads_per_host) as session:
        session.offers(...)            what the hosts have, after their versions were checked
        session.submit(...)            one role on one host
        session.present_hosts()        hosts that are there now

Not here: how each kind of cluster is started (`pipeline.cluster.kinds`), how hosts are asked what they are
(`pipeline.cluster.surveyor`), which role goes where (`pipeline.cluster.placement`), what roles are
(`pipeline.topologies`).
"""

import contextlib
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from distributed import Client, Future, wait

from dask_jobs.scheduler import SETTINGS, SETTINGS_HERE, dashboard_link, settled
from pipeline.cluster.config import ClusterConfig
from pipeline.cluster.granted import GrantedHosts
from pipeline.cluster.host_settings import GPU, KEPT_MEMORY
from pipeline.cluster.hosts import HostReport, check_versions, report_host
from pipeline.cluster.offers import offers_without_others, present_offers
from pipeline.cluster.placement import Demand, Offer, Placement
from pipeline.cluster.scheduler import ANSWER_SECONDS, asked_of, scheduler_of
from pipeline.cluster.sharing import Sharing
from pipeline.cluster.start import open_client, wait_for_hosts
from pipeline.cluster.staying import Staying
from pipeline.cluster.surveyor import Surveyor
from pipeline.errors import RemoteLostError, SchedulerLostError
from pipeline.networks.compute import callers_threads_kept

Task = Future[Any]
"""What `Session.submit` returns; the layers above name it without importing Dask."""

_SETTINGS = {
    **SETTINGS,
    # Something that nobody can run is an error after this, not a silent wait.
    "distributed.scheduler.no-workers-timeout": "60s",
    # How often each server looks whether its loop is late, and reads a dozen figures of its machine. At Dask's fifty
    # and two times a second, a scheduler and two hosts in the process of the roles took 4 % of a core; so, 1 %.
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.tick.limit": "30s",
    "distributed.admin.system-monitor.interval": "2s",
    **{f"distributed.nanny.pre-spawn-environ.{name}": value for name, value in KEPT_MEMORY.items()},
}


@dataclass(frozen=True)
class SessionSettings:
    """How patient a session is; nothing that a user sets."""

    answer_seconds: float = ANSWER_SECONDS
    """How long a scheduler or a host that stands still is waited for."""
    untold_seconds: float = 5.0
    """How long hosts are waited for without a word."""


class Session:
    """Hosts of one run, reached through one client."""

    def __init__(
        self,
        client: Client,
        config: ClusterConfig,
        num_hosts: int,
        granted: GrantedHosts | None = None,
        settings: SessionSettings = SessionSettings(),
    ) -> None:
        """`granted`: what the run may use of the cluster; None: all. Raises as `open_session` does."""
        self.client = client
        self.run_id = uuid.uuid4().hex[:8]
        """Names this run among all that share the cluster."""
        self.name = f"run {self.run_id}"
        """What others are told that it is."""
        self.granted = granted
        """What the run may use of the cluster, from its beginning to its end; None: all."""
        self.staying = Staying()
        """Tasks of this run that were told to end and have not."""
        self._config = config
        self._num_hosts = num_hosts
        self._settings = settings
        # Other kinds of cluster are started for one run, and of granted hosts a sweep keeps the books.
        self._sharing = Sharing(client) if config.is_shared and granted is None else None
        self.compares_code = not config.is_on_this_machine and granted is None
        """Whether hosts need the code of this process. Those that were started here have its checkout, whatever files
        somebody has saved since; and no such file is to fail all jobs that are left of a sweep."""
        self._ours = partial(report_host, tells_code=self.compares_code)
        self._hosts = Surveyor(client, granted, settings.answer_seconds, self._ours, self.ask_for_hosts)

    @property
    def dashboard_url(self) -> str:
        """Where the Dask dashboard answers; empty: its scheduler has none. Raises as `pipeline.cluster.scheduler`."""
        with asked_of(self.client) as scheduler:
            seconds = self._settings.answer_seconds
            identity = self.client.sync(scheduler.identity, n_workers=0, callback_timeout=seconds)
            return dashboard_link(self.client, identity, self._config.dashboard_host) or ""

    @property
    def hosts(self) -> dict[str, HostReport]:
        """Address -> report of every host that was there at the last survey, in a stable order."""
        return dict(self._hosts.survey.reports)

    @property
    def losses(self) -> Sequence[str]:
        """A sentence for each host that died or stood still when it was asked first what it is; it takes no part."""
        return self._hosts.losses

    @property
    def strangers(self) -> Sequence[str]:
        """A sentence for each host that came later and takes no part, for it has other code or versions."""
        return self._hosts.survey.strangers

    @property
    def host_timeout_seconds(self) -> float:
        """How long to wait for a host that is to come; 0 where none will."""
        return self._config.start_timeout_seconds if self.granted is None else 0.0

    def check_versions(self) -> None:
        """Raise HostMismatchError when versions or code of hosts differ from ours."""
        check_versions(self._ours(), self.hosts)

    def offers(self, *, as_if_alone: bool = False) -> list[Offer]:
        """What each host that is still there offers to a placement, beside what other commands hold of it.

        `as_if_alone`: as if there were no others. Raises as `check_versions`.
        """
        self.check_versions()
        offers = self._all_offers()
        if self._sharing is None:
            return offers
        return offers_without_others(offers) if as_if_alone else self._sharing.left(offers)

    def others(self) -> str:
        """Who else holds what of the hosts, in words; empty if nobody does."""
        return "" if self._sharing is None else self._sharing.in_words()

    def hold(self, placement: Placement, demands: Sequence[Demand]) -> bool:
        """Tell other commands what was placed, in place of what this one held; False if they were faster.

        Threads of tasks that were told to end and have not are told as well: what others sent there would wait behind.
        """
        if self._sharing is None:
            return True
        whole, kept = self._all_offers(whole=True), self.staying.threads_kept()
        return self._sharing.hold(self.name, placement, demands, whole, kept)

    def hold_also(self, host: str) -> bool:
        """The same of a task in one thread of this host, beside what is held elsewhere."""
        if self._sharing is None:
            return True
        whole, kept = self._all_offers(whole=True), self.staying.threads_kept()
        return self._sharing.hold_also(self.name, host, 1 + kept[host], whole)

    def submit(
        self,
        function: Callable[..., Any],
        *args: Any,
        host: str,
        name: str,
        actor: bool = False,
        num_gpus: int = 0,
        **kwargs: Any,
    ) -> Task:
        """Run `function` on the host with this address, nowhere else; `name` is the beginning of its key.

        It takes `num_gpus` of the GPUs that the host declares; a host that declares none shares what it has.
        Dask never runs it twice: a host that dies takes its tasks with it, and the topology decides what follows.
        Raises SchedulerLostError if the client has given up the scheduler.
        """
        with scheduler_of(self.client):
            return self.client.submit(
                function,
                *args,
                key=f"{name}-{self.run_id}-{uuid.uuid4().hex[:8]}",
                workers=[host],
                allow_other_workers=False,
                pure=False,
                retries=0,
                actor=actor,
                # Asked of a host that declares none, Dask would wait for ever.
                resources={GPU: num_gpus} if num_gpus and self.hosts[host].declared_gpus is not None else None,
                **kwargs,
            )

    def send(self, value: object, host: str) -> Task:
        """Put a value of many megabytes on a host, to be passed to `submit` there.

        Raises RemoteLostError if the host dies meanwhile, or stands still, and as `submit`.
        """
        send = partial(self.client.scatter, [value], workers=[host], hash=False, asynchronous=True)
        try:
            with scheduler_of(self.client):
                (task,) = self.client.sync(send, callback_timeout=self._settings.answer_seconds)
        except OSError as error:
            # One that stands still is there for Dask for minutes yet: nothing is sent to it again.
            self._hosts.leave_out(host)
            raise RemoteLostError(f"{host} was lost while it was sent something: {error}") from error
        return cast(Task, task)

    def wait_for(self, tasks: Sequence[Task], seconds: float) -> None:
        """Wait until all of them have ended, however they end, but not longer than so long."""
        # A task that was cancelled with what it was given has ended, too.
        with contextlib.suppress(OSError, CancelledError):
            wait(tasks, timeout=seconds)

    def forget(self, tasks: Sequence[Task]) -> None:
        """Cancel what has not begun, and have Dask forget the rest. A scheduler that is gone has forgotten it."""
        with contextlib.suppress(SchedulerLostError), scheduler_of(self.client):
            self.client.cancel(list(tasks), force=True)

    def present_hosts(self) -> set[str]:
        """Addresses of the hosts that are there now; a host that was started again has another one than before.

        Raises UnreachableError if the scheduler does not answer for long.
        """
        return set(self._hosts.num_threads())

    def fit_hosts(self) -> set[str]:
        """Addresses of the hosts that are there now and have this installation; new ones once they answered."""
        return self._hosts.fit()

    def open_hosts(self, num_threads: int) -> set[str]:
        """Those of `fit_hosts` where other commands, and what stays, have left so many threads."""
        fit = self.fit_hosts()
        offers = self._all_offers() if self._sharing is None else self.offers()
        return {offer.address for offer in offers if offer.num_threads >= num_threads} & fit

    def served(self, hosts: Iterable[str]) -> set[str]:
        """Those of the hosts with these addresses, be they there or not, that began so long ago that they may leave."""
        limit = self._config.lifetime_seconds
        return {host for host in hosts if limit is not None and self._hosts.age_seconds(host) >= limit}

    def ask_for_hosts(self) -> None:
        """Ask for another host in place of each that was lost, where nobody else does."""
        if self._config.restarts_hosts and self.client.cluster is not None:
            self.client.cluster.scale(self._num_hosts)

    def survey_again(self) -> None:
        """Take the hosts that are there now for the hosts of this session, and ask for others in place of lost ones.

        Hosts of another installation, which somebody has added meanwhile, and hosts that die meanwhile are left out.
        """
        self._hosts.survey_again()

    def survey_soon(self) -> bool:
        """The same for a loop that must not wait for a host that stands still: True once it is done, asked until then.

        Raises as `survey_again`.
        """
        return self._hosts.survey_soon()

    def _all_offers(self, *, whole: bool = False) -> list[Offer]:
        there = self._hosts.num_threads()
        return present_offers(self._config, self.hosts, there, None if whole else self.staying)


@contextlib.contextmanager
def open_session(
    config: ClusterConfig,
    num_hosts: int,
    threads_per_host: int,
    granted: GrantedHosts | None = None,
    settings: SessionSettings = SessionSettings(),
    say: Callable[[str], None] = lambda _: None,
) -> Iterator[Session]:
    """Start or find the cluster and wait for its hosts; close what was started.

    `num_hosts` and `threads_per_host` are for clusters that are started here; `granted` is as for Session. `say` hears
    what is waited for, how many hosts have come when they are late, and which one died or stands still.
    Raises PlacementError when the cluster cannot be reached or started, its hosts do not come within
    `config.start_timeout_seconds`, or all of them die or stand still when they are asked; UnreachableError when the
    scheduler does meanwhile; HostMismatchError when a host lacks this installation.
    """
    say(f"waiting for the cluster ({config.kind})")
    here = SETTINGS_HERE if config.is_on_this_machine else {}
    with (
        callers_threads_kept(),
        settled({**_SETTINGS, **here}),
        open_client(config, num_hosts, threads_per_host) as (client, num_expected),
    ):
        wait_for_hosts(
            client, config, num_expected, settings.untold_seconds, say, answer_seconds=settings.answer_seconds
        )
        session = Session(client, config, num_expected, granted, settings)
        for sentence in session.losses:
            say(f"{sentence}; it is left out")
        yield session
