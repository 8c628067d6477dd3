"""A fleet: the shards and roles of one generation of a run, whatever its topology; started, watched, started again.

    servers    Dask actors: parameter shards, their leader, replay shards (`pipeline.topologies.hosted_servers`)
    roles      long-running Dask tasks that talk to these and never to each other

It looks at them and does what is decided of what it sees; a lost shard of either kind ends it, and the run begins a new
generation from its newest checkpoint (`pipeline.experiments.training`).
Not here: what is decided (`pipeline.topologies.supervision`), which roles there are (`pipeline.topologies.kinds`),
where they stand at first (`pipeline.cluster.placement`), what is saved of the shards (`pipeline.topologies.snapshots`).
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from dask_jobs.watched_time import WatchedTime
from pipeline.cluster.coordination.coordinator import Coordinator
from pipeline.cluster.coordination.tasks import RoleResult
from pipeline.cluster.placement import Demand, Placement
from pipeline.cluster.session import Session
from pipeline.envs.episodes import never
from pipeline.errors import CallTimeoutError, PlacementError, RemoteLostError
from pipeline.optimizers.optimizer import OptimizerConfig
from pipeline.param_server.quorum_size import QuorumRange, least_of
from pipeline.param_server.snapshot import ServerSnapshot
from pipeline.roles.progress import RoleProgress
from pipeline.roles.replay_server import ReplayServerSpec
from pipeline.roles.spec import RoleSpec
from pipeline.topologies.hosted_roles import HostedRoles
from pipeline.topologies.hosted_servers import LEADER, HostedServers
from pipeline.topologies.last_wait import LastWait
from pipeline.topologies.looks import Look
from pipeline.topologies.orders import Cancel, Fail, Order, Say, Start
from pipeline.topologies.patience import Patience
from pipeline.topologies.snapshots import release, take_snapshot
from pipeline.topologies.supervision import Supervision, Terms
from pipeline.topologies.system import RolePlan, shard_name


@dataclass(frozen=True)
class FleetSpec:
    """Everything that a fleet is made of."""

    roles: tuple[RolePlan, ...]
    replays: tuple[ReplayServerSpec, ...]
    role: RoleSpec
    """The pattern of all roles; place and sender are each one's own."""
    quorum: int | QuorumRange | None
    """N: an update is the mean of the first N gradients of its version; None: each gradient is one."""
    optimizer: OptimizerConfig
    demands: tuple[Demand, ...]
    lease_seconds: float
    max_restarts: int
    patience: Patience = field(default_factory=Patience)

    @property
    def terms(self) -> Terms:
        """What the roles are held to."""
        return Terms(
            roles=tuple(plan.name for plan in self.roles),
            demands=self.demands,
            quorum=None if self.quorum is None else least_of(self.quorum),
            max_restarts=self.max_restarts,
            lease_seconds=self.lease_seconds,
            call_timeout_seconds=self.role.param_server.timeout_seconds,
            has_own_replay=self.role.has_own_replay,
            held_back_seconds=self.role.held_back_seconds,
            patience=self.patience,
        )


class Fleet:
    """One generation of shards and the roles around them."""

    def __init__(self, session: Session, coordinator: Coordinator, spec: FleetSpec, placement: Placement) -> None:
        """`placement` is where everything stands at first; the fleet keeps a copy, which is its own."""
        self._session = session
        self._coordinator = coordinator
        self._spec = spec
        self._placement = dict(placement)
        self._time = WatchedTime(time.monotonic)
        """Looked at by the thread that supervises, several times a second."""
        terms = spec.terms
        self._servers = HostedServers(
            session,
            spec.role.param_server,
            spec.optimizer,
            spec.quorum,
            spec.replays,
            spec.role.generation,
            self._host_of,
            # As for a role: one that loads millions of steps, and one that stands still, cannot be told apart.
            load_seconds=terms.lost_silence_seconds,
        )
        gpus = {demand.role: demand.num_gpus for demand in spec.demands}
        self._roles = HostedRoles(session, coordinator, spec.roles, spec.role, gpus, terms)
        self._supervision = Supervision(terms)
        self._snapshot_lock = threading.Lock()
        self._owes_release = False
        """Whether the quorum is held for a snapshot, or may still be for one that failed."""

    @property
    def placement(self) -> Placement:
        """Where everything stands now; of a role that waits for a host, where it stood; without those given up."""
        return dict(self._placement)

    @property
    def has_servers(self) -> bool:
        """Whether all servers were started: before that there is nothing to take a snapshot of."""
        return bool(self._servers.addresses.shards)

    @property
    def num_restarted(self) -> int:
        """Roles that were started again so far."""
        return self._supervision.num_restarted

    def start(
        self, snapshot: ServerSnapshot, before: Mapping[str, RoleProgress], stop: Callable[[], bool] = never
    ) -> None:
        """Create the shards from `snapshot` and start the roles where `before` (by role) says that they were.

        Roles that the placement has no host for wait for one. Raises RemoteLostError for a shard that was not created,
        or is waited for no longer since `stop` says so: a replay that was saved may take minutes to load.
        """
        if self._spec.quorum is not None:
            snapshot = snapshot.at_one_version()
        self._servers.start(snapshot, stop)
        self._roles.begin(self._servers.addresses, before)
        for order in self._supervision.begin(self._placement, self._time.now()):
            self._roles.start(order, before)

    def supervise(self) -> list[str]:
        """Look after all roles once; returns what happened, in sentences.

        Raises RemoteLostError when a shard is lost, RoleFailedError when a role failed by itself or too often,
        PlacementError when no host came for a lost one in time; the latter two only for one that a quorum needs.
        """
        self._release_quorum()
        said = self._carry_out(self._supervision.look(self._look()))
        return said + (self._find_hosts() if self._supervision.lost else [])

    def free_hosts(self, num_threads: int) -> set[str]:
        """Addresses of hosts with so many threads and nothing of this fleet; none while updates wait for a role."""
        if self._supervision.lost and not self._supervision.has_quorum():
            return set()
        ours = {self._host_of(name) for name in (*self._supervision.standing, *self._servers.names)}
        return self._session.open_hosts(num_threads) - ours

    def set_aside(self, demand: str, host: str) -> bool:
        """What was placed with this fleet, and is no role or shard of it, stands on that host now.

        False if other commands have taken that host: then it stands nowhere.
        """
        if demand in self._placement and self._placement[demand].address == host:
            return True
        offers = {offer.address: offer for offer in self._session.offers()}
        without = {role: offer for role, offer in self._placement.items() if role != demand}
        moved = without | ({demand: offers[host]} if host in offers else {})
        is_held = self._session.hold(moved, self._spec.demands)
        self._placement = moved if is_held else without
        return is_held

    def finished(self) -> bool:
        """True once every role was seen to leave with its work done, by `supervise` or `collect`."""
        return self._supervision.is_finished

    def snapshot(self) -> ServerSnapshot:
        """The server's state now: of a synchronous one all shards at one version, else each at the one it is at.

        In any thread; `supervise` may go on in another.
        """
        with self._snapshot_lock:
            # A word that was not answered may have arrived, and a release that was not may be lost: it is said again.
            self._owes_release = True
            taken = take_snapshot(self._servers.addresses, self._spec.role.param_server.timeout_seconds)
            self._owes_release = False
            return taken

    def collect(self, patience: LastWait) -> dict[str, RoleProgress]:
        """Wait for all roles to leave; their last rows go to the coordinator. Returns each one's last progress.

        Of a role that waits for a host, was given up, or is lost meanwhile, it is what the coordinator knows.
        """
        last = self._coordinator.progress()
        for role in self._roles.tasks:
            match self._roles.wait_for(role, patience):
                case RoleResult() as result:
                    self._supervision.left(role)
                    self._coordinator.receive(result.undelivered)
                    last[role] = result.progress
                case how:
                    orders = self._supervision.not_left(role, how)
                    for sentence in self._carry_out(orders):
                        patience.say(sentence)
        return last

    def abandon(self, patience: LastWait) -> None:
        """Wait for the roles that can still leave, whatever they end with; a lost host's are given up."""
        self._roles.abandon(patience)

    def release(self) -> None:
        """Let Dask forget the shards and the roles."""
        self._roles.release()
        self._servers.release()

    def _look(self) -> Look:
        present, watched = self._session.present_hosts(), self._supervision.watched
        return Look(
            present=present,
            placement=self._placement,
            servers={name: self._host_of(name) for name in self._servers.names},
            silent_seconds=self._roles.silent_seconds(watched),
            ended=self._roles.ends(watched, present),
            now=self._time.now(),
            served=self._session.served(offer.address for offer in self._placement.values()) - present,
        )

    def _carry_out(self, orders: Iterable[Order]) -> list[str]:
        """Do what is ordered, in turn; returns what is to be said."""
        said = []
        for order in orders:
            match order:
                case Say(sentence):
                    said.append(sentence)
                case Cancel(role):
                    self._roles.cancel(role)
                    if role not in self._supervision.lost:  # given up: its place is anybody's
                        self._placement = {name: offer for name, offer in self._placement.items() if name != role}
                        self._session.hold(self._placement, self._spec.demands)
                case Start():
                    self._roles.start(order, self._coordinator.progress())
                case Fail(error):
                    raise error
        return said

    def _find_hosts(self) -> list[str]:
        """Hosts for the roles that wait, where there are any; returns what is to be said."""
        try:
            if not self._session.survey_soon():
                return []
            search = self._supervision.search(self._placement, self._servers.names, self._session.offers())
        except (OSError, PlacementError) as error:
            return self._wait(error)
        said: list[str] = []
        while (proposal := search.propose()) is not None:
            if self._session.hold(proposal.placement, self._spec.demands):
                self._placement = proposal.placement
                search.taken(proposal)
                said += self._carry_out(self._supervision.found(proposal))
            else:
                search.refused(self._session.others())
        return said if search.failure is None else self._wait(search.failure)

    def _wait(self, why: Exception) -> list[str]:
        limit_seconds, besides = self._session.host_timeout_seconds, self._session.strangers
        kind = type(why) if isinstance(why, PlacementError) else PlacementError
        why = kind("\n".join([str(why), *besides])) if besides else why
        return self._carry_out(self._supervision.not_found(why, limit_seconds, self._time.now()))

    def _release_quorum(self) -> None:
        if self._owes_release and self._snapshot_lock.acquire(blocking=False):
            try:
                with contextlib.suppress(CallTimeoutError, RemoteLostError):
                    release(self._servers.addresses, self._spec.patience.release_seconds)
                    self._owes_release = False
            finally:
                self._snapshot_lock.release()

    def _host_of(self, name: str) -> str:
        # Beside the first shard, whose loss ends the generation anyway: it adds no host that the run depends on.
        return self._placement[shard_name(0) if name == LEADER else name].address
