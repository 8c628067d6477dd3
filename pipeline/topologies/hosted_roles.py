"""The roles of one generation of a run: long-running Dask tasks on the hosts of a fleet.

    start -> a task that steps the role -> silence, or its end -> cancel, or its result

Not here: which roles there are (`pipeline.topologies.kinds`), what their silence and their end mean
(`pipeline.topologies.supervision`), what a task does (`pipeline.cluster.coordination.tasks`).
"""

import time
from collections.abc import Container, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import replace
from typing import NamedTuple

from dask_jobs.watched_time import WatchedTime
from pipeline.cluster.coordination.channel import LEASE_LAPSED
from pipeline.cluster.coordination.coordinator import Coordinator
from pipeline.cluster.coordination.tasks import RoleAddress, RoleResult, ServerAddresses, run_role
from pipeline.cluster.session import Session, Task
from pipeline.errors import UnreachableError
from pipeline.roles.progress import RoleProgress
from pipeline.roles.spec import RoleSpec
from pipeline.topologies.last_wait import LastWait
from pipeline.topologies.looks import Cancelled, End, Failed, HostGone, NoFarewell, NotArrived, Returned, StillThere
from pipeline.topologies.orders import Start
from pipeline.topologies.silence import Silence
from pipeline.topologies.supervision import Terms
from pipeline.topologies.system import RolePlan

_ONE_LOOK_SECONDS = 0.1
"""What a result that is there may take to arrive, when there is no time left to wait for one."""


class _Hosted(NamedTuple):
    task: Task
    host: str
    """Address of the host on which it was started."""
    attempt: int


class HostedRoles:
    """Those roles of a generation that were started, and not cancelled since; none after `release`."""

    def __init__(
        self,
        session: Session,
        coordinator: Coordinator,
        plans: Sequence[RolePlan],
        pattern: RoleSpec,
        num_gpus: Mapping[str, int],
        terms: Terms,
    ) -> None:
        """`pattern` is what all roles have; place and sender are each one's own. `num_gpus` is each one's, by name."""
        self._session = session
        self._coordinator = coordinator
        self._plans = {plan.name: plan for plan in plans}
        self._pattern = pattern
        self._num_gpus = num_gpus
        self._terms = terms
        self._hosted: dict[str, _Hosted] = {}
        self._overdue: set[str] = set()
        """Roles that had all the time there is to be built and to leave."""
        self._silence = Silence()
        self._servers = ServerAddresses((), ())
        self._steps_before = 0
        """Agent steps of all roles when this generation began."""

    @property
    def tasks(self) -> dict[str, Task]:
        """Role -> task."""
        return {role: hosted.task for role, hosted in self._hosted.items()}

    def begin(self, servers: ServerAddresses, before: Mapping[str, RoleProgress]) -> None:
        """Roles are about to be started that talk to these servers, where `before` says that they were."""
        self._servers = servers
        self._steps_before = sum(progress.num_steps for progress in before.values())

    def start(self, order: Start, before: Mapping[str, RoleProgress]) -> None:
        """Start a role on its host where `before` says that it was."""
        plan = self._plans[order.role]
        mine = before.get(order.role)
        place = replace(
            self._pattern.place,
            role=order.role,
            index=plan.index,
            # A role that does not play counts what the replay has got since this generation began, by itself.
            num_steps_before=(0 if mine is None else mine.num_steps) if plan.plays else self._steps_before,
            # The run's time, not the role's own: no row may seem older than the checkpoint that it goes on from.
            wall_seconds_before=max((progress.wall_seconds for progress in before.values()), default=0.0),
            budget_share_before=0.0 if mine is None else mine.budget_share,
        )
        # Generations do not share attempt numbers: late rows of an old one must not close the gaps of a new one.
        attempt = self._pattern.generation * 1000 + order.number
        self._coordinator.begins(order.role, attempt)
        task = self._session.submit(
            run_role,
            plan.build,
            replace(self._pattern, place=place, attempt=attempt, is_restart=order.number > 1),
            self._servers,
            RoleAddress(self._session.run_id, order.role, attempt, self._terms.lease_seconds, len(self._plans)),
            host=order.host,
            name=order.role,
            # A role that only prefers a GPU may share it: it must not wait until Dask has one free.
            num_gpus=self._num_gpus[order.role],
        )
        self._hosted[order.role] = _Hosted(task, order.host, attempt)

    def silent_seconds(self, roles: Iterable[str]) -> dict[str, float]:
        """How long nothing was heard of each of these; others begin anew when they are asked for again."""
        num_heard = {role: self._coordinator.num_heard(role, self._hosted[role].attempt) for role in roles}
        return self._silence.look(num_heard, is_behind=self._coordinator.is_behind)

    def ends(self, roles: Iterable[str], present: set[str]) -> dict[str, End]:
        """How those of these roles ended that have, on hosts that are `present`."""
        ends = {role: self._end_of(self._hosted[role].task) for role in roles if self._hosted[role].host in present}
        return {role: end for role, end in ends.items() if end is not None}

    def cancel(self, role: str) -> None:
        """Forget it. One that is still at work keeps its thread from what comes next; any other is cancelled.

        One that only stood still leaves when it goes on: nobody counts on it any more.
        """
        hosted = self._hosted.pop(role)
        self._coordinator.dismiss(role, hosted.attempt)
        if hosted.host in self._session.present_hosts() and not hosted.task.done():
            self._session.staying.add(hosted.task, role, hosted.host, self._num_gpus[role])
        else:
            self._session.forget([hosted.task])

    def wait_for(self, role: str, patience: LastWait) -> RoleResult | NoFarewell:
        """What a role that was told to leave leaves, or how it did without.

        One that is still being built hears of it afterwards. Unless there is a hurry, its time begins when it is first
        heard of, and until then it is waited for as long as a silent role is.
        """
        hosted = self._hosted[role]
        # A pause of the whole process is no part of this time, nor of that of `patience`.
        watched = WatchedTime(time.monotonic)
        end, built_by = 0.0, self._terms.lost_silence_seconds
        try:
            while True:
                try:
                    seconds = min(self._terms.patience.look_seconds, patience.seconds_left)
                    result: RoleResult = hosted.task.result(timeout=max(seconds, _ONE_LOOK_SECONDS))
                    return result
                except TimeoutError:
                    if hosted.task.status == "error":
                        return Failed(hosted.task.exception())
                    if patience.is_cut_short:
                        return StillThere(patience.limit_seconds)
                    if hosted.host not in self._present_hosts(patience, hosted):
                        # Dask would start it again on a host that comes at the same address.
                        self._session.forget([hosted.task])
                        return HostGone()
                    now = watched.now()
                    if now < built_by and not self._coordinator.num_heard(role, hosted.attempt):
                        end = now + patience.limit_seconds
                    if patience.seconds_left <= 0 and (now > end or patience.is_hurried):
                        if not patience.is_hurried:
                            self._overdue.add(role)
                        return StillThere(patience.limit_seconds)
                    patience.mention(self._staying())
        except CancelledError:
            return Cancelled()
        except Exception as error:
            return Failed(error)

    def _present_hosts(self, patience: LastWait, hosted: _Hosted) -> Container[str]:
        try:
            return self._session.present_hosts()
        except UnreachableError:
            patience.cut_short()
            return {hosted.host}

    def abandon(self, patience: LastWait) -> None:
        """Wait for those that can still leave, whatever they end with."""
        for role in self._hosted:
            # They end with the error that the lost shard gave them.
            if isinstance(result := self.wait_for(role, patience), RoleResult):
                self._coordinator.receive(result.undelivered)

    def release(self) -> None:
        """Let Dask forget them; those that have not left keep their threads from what comes next, and leave then."""
        for role, hosted in self._hosted.items():
            # Of a host that was missed it is not known whether they have.
            if not hosted.task.done() or hosted.task.cancelled():
                self._coordinator.dismiss(role, hosted.attempt)
        staying = [role for role in self._staying() if self._has_begun(role)]
        for role in staying:
            hosted = self._hosted[role]
            self._session.staying.add(hosted.task, role, hosted.host, self._num_gpus[role])
        self._session.forget([hosted.task for role, hosted in self._hosted.items() if role not in staying])
        self._hosted = {}

    def _has_begun(self, role: str) -> bool:
        # What was never heard of may wait for its thread, and then Dask can still cancel it.
        return role in self._overdue or self._coordinator.num_heard(role, self._hosted[role].attempt) > 0

    def _staying(self) -> list[str]:
        return [role for role, hosted in self._hosted.items() if not hosted.task.done()]

    def _end_of(self, task: Task) -> End | None:
        # Asked once: it may end between two questions.
        match task.status:
            case "finished":
                try:
                    result: RoleResult = task.result(timeout=self._terms.patience.result_seconds)
                except (CancelledError, TimeoutError):
                    return NotArrived()
                if result.reason == LEASE_LAPSED:  # nobody asks for it again
                    self._coordinator.receive(result.undelivered)
                return Returned(result.reason)
            case "error":
                return Failed(task.exception())
            case "cancelled":
                return Cancelled()
        return None
