"""Roles as Dask tasks: how they end while they are looked at, how long those that are to leave are waited for.

The session, the coordinator and the tasks are stand-ins. Real ones: `test_fleet`.
"""

from dataclasses import replace
from typing import Any, cast

import pytest

from pipeline.cluster.coordination.coordinator import Coordinator
from pipeline.cluster.coordination.tasks import RoleResult
from pipeline.cluster.session import Session
from pipeline.cluster.staying import Staying
from pipeline.errors import UnreachableError
from pipeline.roles.progress import RoleProgress
from pipeline.roles.role import RoleBuilder
from pipeline.roles.spec import BUNDLE, RoleSpec
from pipeline.topologies import hosted_roles
from pipeline.topologies.hosted_roles import HostedRoles
from pipeline.topologies.last_wait import LastWait
from pipeline.topologies.looks import Cancelled, End, Failed, NoFarewell, Returned, StillThere
from pipeline.topologies.orders import Start
from pipeline.topologies.patience import Patience
from pipeline.topologies.system import RolePlan
from tests.clocks import Clock
from tests.roles.wiring import bundle_spec
from tests.roles.worker_wiring import worker_spec
from tests.topologies.supervised import TERMS

ROLE, HOST = f"{BUNDLE}-0", "host-0"
LEFT = RoleResult(ROLE, "stopped", [], RoleProgress(0, 0, 0, 0.0, 0, 0.0))
LEAVE_SECONDS = 0.5


class Ending:
    """A task that ends between the first question after its state and the second."""

    def __init__(self, last: str) -> None:
        self._statuses = ["pending", last]

    @property
    def status(self) -> str:
        return self._statuses.pop(0) if len(self._statuses) > 1 else self._statuses[0]

    def done(self) -> bool:
        return self.status != "pending"

    def cancelled(self) -> bool:
        return self.status == "cancelled"

    def exception(self) -> Exception | None:
        return ValueError("the emulator broke") if self.status == "error" else None

    def result(self, timeout: float) -> RoleResult:
        return RoleResult("worker-0", "done", [], RoleProgress(1, 1, 1, 0.0, 0, 0.0))


class Told:
    """Stands in for a coordinator that is told who begins."""

    def begins(self, role: str, attempt: int) -> None:
        """Nothing."""


class OneTask:
    """Stands in for a session."""

    run_id = "run"

    def __init__(self, task: Ending) -> None:
        self._task = task
        self.specs: list[RoleSpec] = []
        """Of the roles that were started."""

    def submit(self, work: object, build: object, spec: RoleSpec, *_: Any, **__: Any) -> Ending:
        self.specs.append(spec)
        return self._task


@pytest.mark.parametrize(("last", "end"), [("finished", Returned), ("error", Failed), ("cancelled", Cancelled)])
def test_a_role_that_ends_during_a_look_has_ended_as_it_did(last: str, end: type[End]) -> None:
    session, plan = OneTask(Ending(last)), RolePlan("worker-0", 0, cast(RoleBuilder, None), plays=True)
    roles = HostedRoles(
        cast(Session, session), cast(Coordinator, Told()), [plan], worker_spec(), {"worker-0": 0}, TERMS
    )
    roles.start(Start("worker-0", "host", 1), {})
    looks = [roles.ends(["worker-0"], {"host"}).get("worker-0") for _ in range(2)]
    assert isinstance(next(filter(None, looks)), end)


def test_a_role_that_is_started_again_in_its_generation_is_told_so_and_draws_from_streams_of_its_own() -> None:
    session, plan = OneTask(Ending("finished")), RolePlan("worker-0", 0, cast(RoleBuilder, None), plays=True)
    pattern = replace(worker_spec(), generation=2)
    roles = HostedRoles(cast(Session, session), cast(Coordinator, Told()), [plan], pattern, {"worker-0": 0}, TERMS)
    for number in (1, 2, 3):
        roles.start(Start("worker-0", "host", number), {})
    names = [spec.stream_name("actions") for spec in session.specs]
    assert names == [
        ("worker-0", "actions", 0),
        ("worker-0", "actions", 0, 2_002),
        ("worker-0", "actions", 0, 2_003),
    ]


class StandIn:
    """Session, coordinator and task in one: a role that is heard of, and leaves, after so many looks at it."""

    run_id = "run"
    status = "pending"

    def __init__(self, heard_after: int, left_after: int, clock: Clock | None = None) -> None:
        self._heard_after, self._left_after = heard_after, left_after
        self._clock = clock or Clock()
        self._num_looks = 0
        self.told: list[tuple[str, str, int]] = []
        """Of the coordinator, about starts of roles."""

    def begins(self, role: str, attempt: int) -> None:
        self.told.append(("begins", role, attempt))

    def dismiss(self, role: str, attempt: int) -> None:
        self.told.append(("dismissed", role, attempt))

    def cancelled(self) -> bool:
        return False

    def submit(self, *_: Any, **__: Any) -> "StandIn":
        return self

    def present_hosts(self) -> set[str]:
        return {HOST}

    def done(self) -> bool:
        return False

    def num_heard(self, role: str, attempt: int) -> int:
        return int(self._num_looks >= self._heard_after)

    def result(self, timeout: float) -> RoleResult:
        self._num_looks += 1
        if self._num_looks > self._left_after:
            return LEFT
        self._clock.sleep(timeout)
        raise TimeoutError


def waited_for(
    heard_after: int, left_after: int, lost_silence_seconds: float = 60.0, is_hurried: bool = False
) -> RoleResult | NoFarewell:
    clock = Clock()
    stand_in: Any = StandIn(heard_after, left_after, clock)
    patience = Patience(look_seconds=0.05, lost_silence_seconds=lost_silence_seconds)
    terms = replace(TERMS, patience=patience, call_timeout_seconds=0.0)
    plan = RolePlan(ROLE, 0, build=cast(Any, None), plays=True)
    roles = HostedRoles(cast(Session, stand_in), cast(Coordinator, stand_in), [plan], bundle_spec(), {ROLE: 0}, terms)
    roles.start(Start(ROLE, HOST, 1), {})
    patient = LastWait(LEAVE_SECONDS, has_hurry=lambda: is_hurried, clock=clock.monotonic)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hosted_roles, "time", clock)
        return roles.wait_for(ROLE, patient)


def test_a_role_that_is_still_being_built_is_waited_for_and_leaves_then() -> None:
    assert waited_for(heard_after=1000, left_after=15) is LEFT


def test_the_time_to_leave_of_a_role_begins_when_it_is_first_heard_of() -> None:
    assert waited_for(heard_after=15, left_after=16) is LEFT
    assert waited_for(heard_after=15, left_after=1000) == StillThere(LEAVE_SECONDS)


def test_in_a_hurry_a_role_that_is_being_built_is_not_waited_for() -> None:
    assert isinstance(waited_for(heard_after=1000, left_after=1000, is_hurried=True), StillThere)


def test_a_role_that_is_built_has_its_time_and_no_more() -> None:
    assert waited_for(heard_after=0, left_after=1000) == StillThere(LEAVE_SECONDS)


def test_a_role_that_is_never_heard_of_is_waited_for_as_long_as_a_silent_one() -> None:
    assert waited_for(heard_after=1000, left_after=1000, lost_silence_seconds=0.2) == StillThere(LEAVE_SECONDS)


def test_a_scheduler_that_stands_still_is_waited_for_once_and_not_for_each_role() -> None:
    names = [f"worker-{i}" for i in range(5)]
    stand_in: Any = StandIn(heard_after=0, left_after=1000)
    asked: list[int] = []

    def present_hosts() -> set[str]:
        asked.append(1)
        raise UnreachableError("the scheduler does not answer any more")

    stand_in.present_hosts = present_hosts
    plans = [RolePlan(name, i, build=cast(Any, None), plays=True) for i, name in enumerate(names)]
    gpus = dict.fromkeys(names, 0)
    roles = HostedRoles(cast(Session, stand_in), cast(Coordinator, stand_in), plans, worker_spec(), gpus, TERMS)
    for name in names:
        roles.start(Start(name, HOST, 1), {})
    patience = LastWait(60.0, clock=Clock().monotonic)
    assert [roles.wait_for(name, patience) for name in names] == [StillThere(60.0)] * 5
    assert len(asked) == 1


def test_a_deadline_that_a_role_has_missed_itself_is_its_error_and_not_that_of_waiting() -> None:
    class Late(StandIn):
        status = "error"

        def exception(self) -> Exception:
            return TimeoutError("of its own")

    stand_in: Any = Late(heard_after=0, left_after=1000)
    plan = RolePlan(ROLE, 0, build=cast(Any, None), plays=True)
    roles = HostedRoles(cast(Session, stand_in), cast(Coordinator, stand_in), [plan], bundle_spec(), {ROLE: 0}, TERMS)
    roles.start(Start(ROLE, HOST, 1), {})
    how = roles.wait_for(ROLE, LastWait(60.0, clock=Clock().monotonic))
    assert isinstance(how, Failed) and str(how.error) == "of its own"


@pytest.mark.parametrize("is_host_there", [True, False])
def test_what_is_cancelled_stays_on_a_host_that_is_there_and_is_forgotten_with_one_that_is_gone(
    is_host_there: bool,
) -> None:
    stand_in: Any = StandIn(heard_after=0, left_after=1000)
    forgotten: list[Any] = []
    stand_in.staying = Staying()
    stand_in.forget = forgotten.extend
    stand_in.present_hosts = lambda: {HOST} if is_host_there else set()
    plan = RolePlan(ROLE, 0, build=cast(Any, None), plays=True)
    roles = HostedRoles(cast(Session, stand_in), cast(Coordinator, stand_in), [plan], bundle_spec(), {ROLE: 0}, TERMS)
    roles.start(Start(ROLE, HOST, 1), {})
    roles.cancel(ROLE)
    assert stand_in.told == [("begins", ROLE, 1001), ("dismissed", ROLE, 1001)], "should it go on, it leaves"
    assert forgotten == ([] if is_host_there else [stand_in])
    assert stand_in.staying.in_words({HOST}) == (f"{ROLE} on {HOST}" if is_host_there else "")


def test_who_has_not_left_when_a_generation_ends_leaves_when_it_goes_on() -> None:
    stand_in: Any = StandIn(heard_after=0, left_after=1000)
    stand_in.staying, stand_in.forget = Staying(), lambda tasks: None
    plan = RolePlan(ROLE, 0, build=cast(Any, None), plays=True)
    pattern = replace(bundle_spec(), generation=2)
    roles = HostedRoles(cast(Session, stand_in), cast(Coordinator, stand_in), [plan], pattern, {ROLE: 0}, TERMS)
    roles.start(Start(ROLE, HOST, 1), {})
    roles.release()
    assert stand_in.told == [("begins", ROLE, 2001), ("dismissed", ROLE, 2001)]
