"""A role's task when the role itself fails, and other work that is told when to stop."""

import threading
from collections.abc import Callable
from functools import partial

import pytest

from dask_jobs.watched_time import WatchedTime
from pipeline.cluster.coordination import tasks
from pipeline.cluster.coordination.coordinator import Coordinator
from pipeline.cluster.coordination.tasks import RoleAddress, run_role, run_until_stopped
from pipeline.cluster.session import Session
from pipeline.errors import DivergedError, UnreachableError
from pipeline.rows import EpisodeRow, Row
from tests.clocks import Clock
from tests.cluster.counting_role import NO_SERVERS, CountingRole, numbers
from tests.clusters import LIMIT_SECONDS, wait_until


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


@pytest.mark.parametrize("kind", ["threads", pytest.param("processes", marks=pytest.mark.slow)])
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


@pytest.mark.parametrize("num_failures", [2, 1000])
def test_a_scheduler_that_does_not_let_a_host_in_at_once_is_asked_again_until_its_lease_is_over(
    num_failures: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, tried = Clock(), list[int]()

    def get_client() -> str:
        tried.append(1)
        clock.sleep(10.0)
        if len(tried) <= num_failures:
            raise TimeoutError("no answer within 10 s")
        return "a client"

    monkeypatch.setattr(tasks, "get_client", get_client)
    monkeypatch.setattr(tasks, "time", clock)
    monkeypatch.setattr(tasks, "WatchedTime", partial(WatchedTime, clock.monotonic))
    if num_failures == 2:
        found: object = tasks._client(60.0)
        assert found == "a client"
    else:
        with pytest.raises(UnreachableError, match="the scheduler did not let this host in: no answer within 10 s"):
            tasks._client(60.0)
        assert clock.monotonic() < 80.0


class BrokenRole(FailingRole):
    """Cannot even be closed."""

    def close(self) -> None:
        """Fail once more."""
        self._rows.emit(EpisodeRow(self._name, 0, 99, 0, 0.0, 0, False, 0.0, 0, 0.0))
        raise OSError("closing failed, too")


def test_a_role_that_fails_ends_with_its_first_error_and_its_last_rows_arrive(threads_session: Session) -> None:
    written: list[Row] = []
    with Coordinator(threads_session.client, "broken", written.extend) as coordinator:
        task = threads_session.submit(
            run_role,
            BrokenRole,
            ("counter-0", None),
            NO_SERVERS,
            RoleAddress("broken", "counter-0", 1, LIMIT_SECONDS),
            host=min(threads_session.hosts),
            name="counter-0",
        )
        assert isinstance(task.exception(timeout=LIMIT_SECONDS), DivergedError)
        wait_until(lambda: numbers(written, "counter-0") == [1, 2, 3, 99], "all rows are there")
        coordinator.check()


def work(name: str, stop: Callable[[], bool], tell: Callable[[int], object]) -> str:
    """Goes on until it is told to stop."""
    pause = threading.Event()
    tell(7)
    while not stop():
        pause.wait(0.01)
    return f"{name} has stopped"


@pytest.mark.parametrize("kind", ["threads", pytest.param("processes", marks=pytest.mark.slow)])
def test_long_work_hears_that_the_run_is_over(kind: str, request: pytest.FixtureRequest) -> None:
    session: Session = request.getfixturevalue(f"{kind}_session")
    with Coordinator(session.client, f"work-{kind}", lambda rows: None) as coordinator:
        address = RoleAddress(f"work-{kind}", "worker", 1, LIMIT_SECONDS)
        host = min(session.hosts)
        task = session.submit(run_until_stopped, work, "it", address=address, host=host, name="work")
        wait_until(lambda: session.client.processing()[host], "it has begun")
        assert not task.done()
        wait_until(lambda: "worker" in coordinator.progress(), "it has told how far it is")
        assert coordinator.progress()["worker"].num_games == 7
        coordinator.stop_roles()
        assert task.result(timeout=LIMIT_SECONDS) == "it has stopped"


def test_long_work_whose_coordinator_is_gone_stops_by_itself(threads_session: Session) -> None:
    address = RoleAddress("nobody-at-all", "worker", 1, lease_seconds=0.5)
    host = min(threads_session.hosts)
    task = threads_session.submit(run_until_stopped, work, "it", address=address, host=host, name="work")
    assert task.result(timeout=LIMIT_SECONDS) == "it has stopped"
