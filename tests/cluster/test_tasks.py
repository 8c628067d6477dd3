"""A role's task when the role itself fails."""

import pytest

from pipeline.cluster.session import Session
from pipeline.cluster.tasks import RoleAddress, run_role
from pipeline.errors import DivergedError
from tests.cluster.counting_role import NO_SERVERS, CountingRole
from tests.clusters import LIMIT_SECONDS


class FailingRole(CountingRole):
    """Fails at its third step; `closed` names those that were closed."""

    closed: list[str] = []  # noqa: RUF012  # shared on purpose: the test and the role live in one process

    def step(self) -> None:
        """Count, or fail."""
        super().step()
        if self._num_steps == 3:
            raise DivergedError("the loss was nan")

    def close(self) -> None:
        """Leave a trace."""
        self.closed.append(self._name)


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_a_role_s_own_error_is_what_its_task_ends_with(kind: str, request: pytest.FixtureRequest) -> None:
    session: Session = request.getfixturevalue(f"{kind}_session")
    address = RoleAddress("failing", "counter-0", 1, LIMIT_SECONDS)
    task = session.submit(
        run_role, FailingRole, ("counter-0", None), NO_SERVERS, address, host=min(session.hosts), name="counter-0"
    )
    error = task.exception(timeout=LIMIT_SECONDS)
    assert isinstance(error, DivergedError) and str(error) == "the loss was nan"
    if kind == "threads":
        assert FailingRole.closed == ["counter-0"]
