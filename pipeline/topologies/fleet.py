"""A fleet: the shards and roles of one generation of a run, whatever its topology; started, watched, started again.

    servers    Dask actors: parameter shards, their leader, replay shards (`pipeline.topologies.hosted_servers`)
    roles      long-running Dask tasks that talk to these and never to each other

A role whose host dies, or of which nothing was heard for minutes, is started again; as long as those that are left make
a quorum, the run goes on without it for as long as that takes. A lost shard of either kind ends the fleet, and the run
begins a new generation from its newest checkpoint (`pipeline.experiments.run`).
Not here: which roles there are (`pipeline.topologies.bundled`, `.separate`), where they stand (`.placement`), what is
saved of the shards (`pipeline.topologies.snapshots`).
"""

import contextlib
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace

from pipeline.cluster.coordination.channel import LEASE_LAPSED
from pipeline.cluster.coordination.coordinator import Coordinator
from pipeline.cluster.coordination.tasks import RoleAddress, RoleBuilder, RoleResult, run_role
from pipeline.cluster.placement import Demand, Offer, Placement, place
from pipeline.cluster.session import Session, Task
from pipeline.errors import (
    CallTimeoutError,
    PipelineError,
    PlacementError,
    RemoteLostError,
    RoleFailedError,
    StarvedError,
    UnreachableError,
)
from pipeline.optimizers import OptimizerConfig
from pipeline.param_server.snapshot import ServerSnapshot
from pipeline.roles.progress import RoleProgress
from pipeline.roles.replay_server import ReplayServerSpec
from pipeline.roles.spec import QRoleSpec, RoleSpec
from pipeline.topologies.hosted_servers import LEADER, HostedServers, shard_name
from pipeline.topologies.silence import Silence
from pipeline.topologies.snapshots import release, take_snapshot

_CUT_OFF = (
    "the connection to the scheduler broke, which ends all tasks of a run: "
    "resume=true goes on from the newest checkpoint"
)
_LOOK_SECONDS = 1.0
"""How often it is looked whether a host is there whose role is to leave."""
_SILENT_SECONDS = 5.0
"""How long a host is waited for without a word."""
_ODD_SILENCE_SECONDS = 60.0
"""A role that has said nothing for so long is named. It tells of its progress twice a second when all is well."""
_LOST_SILENCE_SECONDS = 900.0
"""One that has said nothing for so long, or for `_CALLS_IN_A_STEP` deadlines of a call, is lost. Longer than Dask needs
to miss a process that stands still, which it looks for every five minutes: what is left are threads that do."""
_CALLS_IN_A_STEP = 3
"""Calls of one step that may each wait for their deadline: pull, push and commit."""
_REMIND_SECONDS = 60.0
"""How often at most it is said that a role waits which nobody waits for."""
_RELEASE_SECONDS = 1.0
"""How long the leader may take to hear that nobody holds its quorum; asked again at the next look."""
_RESULT_SECONDS = 10.0
"""How long what a role returned may take to arrive."""


@dataclass(frozen=True)
class RolePlan:
    """One role: its name, its number among its like, and how a host builds it."""

    name: str
    index: int
    build: RoleBuilder
    plays: bool
    """Whether it counts agent steps; one that only learns counts from what all players had made."""


@dataclass(frozen=True)
class FleetSpec:
    """Everything that a fleet is made of."""

    roles: tuple[RolePlan, ...]
    replays: tuple[ReplayServerSpec, ...]
    role: RoleSpec
    """The pattern of all roles; place and sender are each one's own."""
    quorum: int | None
    """N: an update is the mean of the first N gradients of its version; None: each gradient is one."""
    optimizer: OptimizerConfig
    demands: tuple[Demand, ...]
    lease_seconds: float
    max_restarts: int


class Fleet:
    """One generation of shards and the roles around them."""

    def __init__(self, session: Session, coordinator: Coordinator, spec: FleetSpec, placement: Placement) -> None:
        self._session = session
        self._coordinator = coordinator
        self._spec = spec
        self._placement = placement
        self._roles = {role.name: role for role in spec.roles}
        self._generation = spec.role.generation
        self._servers = HostedServers(
            session,
            spec.role.param_server,
            spec.optimizer,
            spec.quorum,
            spec.replays,
            self._generation,
            self._host_of,
        )
        self._tasks: dict[str, Task] = {}
        self._attempts: dict[str, int] = {}
        self._excused: dict[str, int] = {}
        """How often each role ended because of another one that was lost."""
        self._unreachable: dict[str, int] = {}
        """How often each role ended because a connection of its own had broken."""
        self._owes_release = False
        """Whether the quorum may still be held for a snapshot that failed."""
        self.num_restarted = 0
        """Roles that were started again so far."""
        self._lost: dict[str, str] = {}
        """Roles that wait for a host, and why they lost theirs."""
        self._lost_at = 0.0
        self._has_told = False
        """Whether it was said since then that updates wait."""
        self._silence = Silence()
        self._silent: dict[str, float] = {}
        """Seconds since each role was last heard of."""
        self._named: set[str] = set()
        """Roles of which it was said that they are silent."""
        self._left: set[str] = set()
        """Roles that have done their work and are heard out."""
        self._steps_before = 0
        """Agent steps of all roles when this generation began."""
        # A role that only prefers a GPU may share it: it must not wait until Dask has one free.
        self._num_gpus = {demand.role: demand.num_gpus for demand in spec.demands}
        self._timeout_seconds = spec.role.param_server.timeout_seconds

    def start(self, snapshot: ServerSnapshot, before: Mapping[str, RoleProgress]) -> None:
        """Create the shards from `snapshot` and start the roles where `before` (by role) says that they were.

        Roles that the placement has no host for wait for one.
        """
        if self._spec.quorum is not None:
            snapshot = snapshot.at_one_version()
        self._servers.start(snapshot)
        self._steps_before = sum(progress.num_steps for progress in before.values())
        for role in self._roles:
            if role in self._placement:
                self._start_role(role, before)
            else:
                self._lost[role], self._lost_at = "there was no host for it", time.monotonic()

    def supervise(self) -> list[str]:
        """Look after all roles once; returns what happened, in sentences.

        Raises RemoteLostError when a shard is lost, RoleFailedError when a role failed by itself or too often,
        PlacementError when no host came for a lost one in time; the latter two only for one that a quorum needs.
        """
        present = self._session.present_hosts()
        for name in self._servers.names:
            if self._host_of(name) not in present:
                raise RemoteLostError(f"{name} is lost with its host")
        self._release_quorum()
        happened = self._listen()
        for role in list(self._tasks):
            if role not in self._lost and (reason := self._why_lost(role, present)) is not None:
                happened += self._lose(role, reason)
        return happened + (self._restart_lost() if self._lost else [])

    def free_hosts(self, num_threads: int) -> set[str]:
        """Addresses of the hosts with so many threads that hold nothing of this fleet.

        None while a role waits that updates wait for.
        """
        if self._lost and not self._has_quorum():
            return set()
        standing = self._roles.keys() - self._lost.keys()
        ours = {self._host_of(name) for name in (*standing, *self._servers.names)}
        return self._session.open_hosts(num_threads) - ours

    def set_aside(self, demand: str, host: str) -> bool:
        """What was placed with this fleet, and is no role or shard of it, stands on that host now.

        False if other commands have taken that host: then it stands nowhere.
        """
        if demand in self._placement and self._placement[demand].address == host:
            return True
        offers = {offer.address: offer for offer in self._session.offers()}
        moved = {role: offer for role, offer in self._placement.items() if role != demand}
        moved |= {demand: offers[host]} if host in offers else {}
        is_held = self._session.hold(moved, self._spec.demands)
        # Changed in place: whoever made this fleet looks at the same placement.
        self._placement.pop(demand, None)
        self._placement |= {demand: moved[demand]} if is_held and demand in moved else {}
        return is_held

    def finished(self) -> bool:
        """True once every role was seen to leave with its work done, by `supervise` or `collect`."""
        return not self._lost and self._left == self._tasks.keys()

    def snapshot(self) -> ServerSnapshot:
        """The server's state now: of a synchronous one all shards at one version, else each at the one it is at."""
        # A word that was not answered may have arrived, and a release that was not may be lost: it is said again.
        self._owes_release = True
        taken = take_snapshot(self._servers.addresses, self._timeout_seconds)
        self._owes_release = False
        return taken

    def collect(self, timeout_seconds: float) -> dict[str, RoleProgress]:
        """Wait for all roles to leave; their last rows go to the coordinator. Returns each one's last progress.

        Of a role that waits for a host, was given up, or is lost meanwhile, it is what the coordinator knows.
        """
        known = self._coordinator.progress()
        last = {role: known[role] for role in known if role in self._lost or role not in self._tasks}
        for role, task in self._tasks.items():
            if role in self._lost:
                continue
            try:
                result = self._result_of(role, task, timeout_seconds)
            except (CallTimeoutError, UnreachableError):
                # Its last push was not answered; what it had done before, the coordinator knows.
                result = None
            except PipelineError:
                raise
            except CancelledError as error:
                raise RoleFailedError(_CUT_OFF) from error
            except Exception as error:
                raise RoleFailedError(f"{role} failed: {error!r}") from error
            if result is None:
                last |= {role: known[role]} if role in known else {}
                continue
            self._coordinator.receive(result.undelivered)
            last[role] = result.progress
            self._left.add(role)
        return last

    def _result_of(self, role: str, task: Task, timeout_seconds: float) -> RoleResult | None:
        """What a role leaves with; None if its host is gone, or it does not leave and the others make the quorum."""
        end = time.monotonic() + timeout_seconds
        while True:
            try:
                result: RoleResult = task.result(timeout=_LOOK_SECONDS)
                return result
            except TimeoutError as error:
                if self._placement[role].address not in self._session.present_hosts():
                    return None
                if time.monotonic() > end:
                    if self._has_quorum(without=role):
                        return None
                    raise RoleFailedError(f"{role} did not leave within {timeout_seconds:g} s") from error

    def abandon(self, timeout_seconds: float) -> None:
        """Wait for the roles that can still leave, whatever they end with; a lost host's are given up."""
        present = self._session.present_hosts()
        for role, task in self._tasks.items():
            if role in self._lost or self._placement[role].address not in present:
                continue
            with contextlib.suppress(Exception):  # they end with the error that the lost shard gave them
                result: RoleResult = task.result(timeout=timeout_seconds)
                self._coordinator.receive(result.undelivered)

    def release(self) -> None:
        """Let Dask forget the shards and the tasks."""
        self._session.client.cancel(list(self._tasks.values()), force=True)
        self._servers.release()
        self._tasks, self._lost, self._left = {}, {}, set()

    def _listen(self) -> list[str]:
        """Whose silence has become odd, in sentences, once for each."""
        standing = self._tasks.keys() - self._lost.keys() - self._left
        num_heard = {role: self._coordinator.num_heard(role, self._attempt_of(role)) for role in sorted(standing)}
        self._silent = self._silence.look(num_heard, is_behind=self._coordinator.is_behind)
        odd = {role for role, seconds in self._silent.items() if seconds > _ODD_SILENCE_SECONDS}
        news, self._named = sorted(odd - self._named), odd
        return [f"nothing was heard of {role} on {self._host_of(role)} for {_ODD_SILENCE_SECONDS:g} s" for role in news]

    def _attempt_of(self, role: str) -> int:
        # Generations do not share attempt numbers: late rows of an old one must not close the gaps of a new one.
        return self._generation * 1000 + self._attempts[role]

    def _release_quorum(self) -> None:
        if self._owes_release:
            with contextlib.suppress(CallTimeoutError, RemoteLostError):
                release(self._servers.addresses, _RELEASE_SECONDS)
                self._owes_release = False

    def _host_of(self, name: str) -> str:
        # Beside the first shard, whose loss ends the generation anyway: it adds no host that the run depends on.
        return self._placement[shard_name(0) if name == LEADER else name].address

    def _start_role(self, role: str, before: Mapping[str, RoleProgress]) -> None:
        self._attempts[role] = self._attempts.get(role, 0) + 1
        plan = self._roles[role]
        mine = before[role].num_steps if role in before else 0
        place = replace(
            self._spec.role.place,
            role=role,
            index=plan.index,
            # A role that does not play counts what the replay has got since this generation began, by itself.
            num_steps_before=mine if plan.plays else self._steps_before,
            # The run's time, not the role's own: no row may seem older than the checkpoint that it goes on from.
            wall_seconds_before=max((progress.wall_seconds for progress in before.values()), default=0.0),
        )
        attempt = self._attempt_of(role)
        self._tasks[role] = self._session.submit(
            run_role,
            plan.build,
            replace(self._spec.role, place=place, attempt=attempt),
            self._servers.addresses,
            RoleAddress(self._session.run_id, role, attempt, self._spec.lease_seconds),
            host=self._placement[role].address,
            name=role,
            num_gpus=self._num_gpus[role],
        )

    def _why_lost(self, role: str, present: set[str]) -> str | None:
        future = self._tasks[role]
        if role in self._left:
            return None
        if self._placement[role].address not in present:
            return f"its host {self._placement[role].address} is gone"
        if future.status == "finished":
            return self._why_left(role)
        if not future.done():
            return self._why_silent(role)
        if future.cancelled():
            raise RoleFailedError(_CUT_OFF)
        error = future.exception()
        if isinstance(error, CallTimeoutError):
            return str(error)
        if isinstance(error, StarvedError) and self._lost:
            # Whom it waited for waits for a host, which has a deadline of its own.
            self._excused[role] = self._excused.get(role, 0) + 1
            return str(error)
        if isinstance(error, UnreachableError):
            # The hosts of all shards are there, as far as anybody knows: a single connection may have broken. Where
            # others make the quorum, they reach the shards.
            self._unreachable[role] = self._unreachable.get(role, 0) + 1
            if self._unreachable[role] == 1 or self._has_quorum(without=role):
                return str(error)
        if isinstance(error, RemoteLostError):
            raise error
        raise RoleFailedError(f"{role} failed: {error!r}") from error

    def _why_silent(self, role: str) -> str | None:
        limit = max(_LOST_SILENCE_SECONDS, _CALLS_IN_A_STEP * self._timeout_seconds)
        return f"nothing was heard of it for {limit:g} s" if self._silent.get(role, 0.0) > limit else None

    def _why_left(self, role: str) -> str | None:
        try:
            result: RoleResult = self._tasks[role].result(timeout=_RESULT_SECONDS)
        except (CancelledError, TimeoutError):
            return "what it returned did not arrive"
        if result.reason == LEASE_LAPSED:
            self._coordinator.receive(result.undelivered)
            return f"it heard nothing of its coordinator for {self._spec.lease_seconds:g} s"
        self._left.add(role)
        return None

    def _lose(self, role: str, reason: str) -> list[str]:
        number = self._attempts[role]
        lost = f"{role} was lost{f' {number} times, the last time' if number > 1 else ''} because {reason}"
        self._lost[role] = reason
        is_given_up = self._attempts[role] - self._excused.get(role, 0) > self._spec.max_restarts
        if is_given_up and not self._has_quorum():
            raise RoleFailedError(lost)
        self._tasks[role].cancel()
        if is_given_up:
            del self._tasks[role], self._lost[role]
            return [f"{lost}; the others make the quorum, and it is not started again"]
        self._lost_at, self._has_told = time.monotonic(), False
        return []

    def _has_quorum(self, without: str | None = None) -> bool:
        """Whether updates go on without the roles that are lost, and without this one."""
        standing = self._tasks.keys() - self._lost.keys() - {without}
        return self._spec.quorum is not None and len(standing) >= self._spec.quorum

    def _restart_lost(self) -> list[str]:
        happened: list[str] = []
        try:
            self._session.survey_again()
            offers = self._session.offers()
            lost = list(self._lost)
            try:
                happened += self._restart(lost, offers)
            except PlacementError:
                if len(lost) == 1 or self._spec.quorum is None:
                    raise
                # One host for two workers is one worker more, and may be all that the quorum lacks.
                happened += self._restart_who_fits(lost, offers)
        except (OSError, PlacementError):
            # A nanny or a batch system may be bringing a host; the others go on meanwhile.
            waited_seconds = time.monotonic() - self._lost_at
            if not self._has_quorum():
                if waited_seconds > self._session.host_timeout_seconds:
                    raise
                if waited_seconds > _SILENT_SECONDS and not self._has_told:
                    self._has_told = True
                    return [
                        f"{', '.join(self._lost)} lost ({next(iter(self._lost.values()))}); waiting up to "
                        f"{self._session.host_timeout_seconds:g} s for a host"
                    ]
            elif waited_seconds > max(self._session.host_timeout_seconds, _REMIND_SECONDS):
                self._lost_at = time.monotonic()
                return [f"{', '.join(self._lost)} still without a host; the others make the quorum and go on"]
        return happened

    def _restart_who_fits(self, lost: Sequence[str], offers: Sequence[Offer]) -> list[str]:
        """Start those of them again that find a host by themselves. Raises PlacementError if none does."""
        happened: list[str] = []
        no_host = None
        for role in lost:
            try:
                happened += self._restart([role], offers)
            except PlacementError as error:
                no_host = error
        if no_host is not None and not happened:
            raise no_host
        return happened

    def _restart(self, lost: Sequence[str], offers: Sequence[Offer]) -> list[str]:
        """Start all of them again, or raise PlacementError."""
        placed = self._place(lost, offers)
        if not self._session.hold(self._placement | placed, self._spec.demands):
            raise PlacementError(f"others have just taken hosts of these roles: {self._session.others()}")
        self._placement |= placed
        return [self._restart_role(role, self._lost.pop(role)) for role in lost]

    def _place(self, lost: Sequence[str], offers: Sequence[Offer]) -> Placement:
        keep = {role: offer for role, offer in self._placement.items() if role not in self._lost}
        own = {*self._tasks, *self._servers.names} - self._lost.keys()
        present = {offer.address for offer in offers}
        if gone := sorted(role for role in own & keep.keys() if keep[role].address not in present):
            # Not yet missed by `supervise`: placed elsewhere it would count as moved, and nobody would start it.
            raise PlacementError(f"the host of {gone[0]} cannot be asked")
        # What stands aside and has lost its host, too, must not hold up the roles.
        aside = {role for role in keep.keys() - own if keep[role].address in present}
        wanted = [demand for demand in self._spec.demands if demand.role in {*own, *lost, *aside}]
        beside = {demand.beside for demand in wanted if demand.role not in keep}
        missing = beside - {None} - {demand.role for demand in wanted}
        if missing:
            raise PlacementError(f"{missing.pop()} waits for a host, and others stand beside it")
        return place(wanted, offers, keep)

    def _restart_role(self, role: str, reason: str) -> str:
        self.num_restarted += 1
        self._start_role(role, self._coordinator.progress())
        has_own_replay = isinstance(self._spec.role, QRoleSpec) and not self._spec.replays
        own_replay = " with an empty replay" if has_own_replay else ""
        return f"{role} was lost ({reason}) and started again on {self._placement[role].address}{own_replay}"
