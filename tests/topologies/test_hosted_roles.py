"""Roles as Dask tasks, whose ends are asked for while they end. Real ones: `test_fleet`."""

from typing import Any, cast

import pytest

from pipeline.cluster.coordination.coordinator import Coordinator
from pipeline.cluster.coordination.tasks import RoleBuilder, RoleResult
from pipeline.cluster.session import Session
from pipeline.roles.progress import RoleProgress
from pipeline.topologies.hosted_roles import HostedRoles, RolePlan
from pipeline.topologies.looks import Cancelled, End, Failed, Returned
from pipeline.topologies.orders import Start
from pipeline.topologies.supervision import Patience
from tests.roles.worker_wiring import worker_spec


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


class OneTask:
    """Stands in for a session."""

    run_id = "run"

    def __init__(self, task: Ending) -> None:
        self._task = task

    def submit(self, *_: Any, **__: Any) -> Ending:
        return self._task


@pytest.mark.parametrize(("last", "end"), [("finished", Returned), ("error", Failed), ("cancelled", Cancelled)])
def test_a_role_that_ends_during_a_look_has_ended_as_it_did(last: str, end: type[End]) -> None:
    session, plan = OneTask(Ending(last)), RolePlan("worker-0", 0, cast(RoleBuilder, None), plays=True)
    roles = HostedRoles(
        cast(Session, session), cast(Coordinator, None), [plan], worker_spec(), {"worker-0": 0}, 60.0, Patience()
    )
    roles.start(Start("worker-0", "host", 1), {})
    looks = [roles.ends(["worker-0"], {"host"}).get("worker-0") for _ in range(2)]
    assert isinstance(next(filter(None, looks)), end)
