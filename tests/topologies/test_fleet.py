"""A fleet whose roles stand still. What becomes of those whose hosts die is tested with each topology."""

import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from pipeline.cluster.coordination.coordinator import Coordinator
from pipeline.cluster.placement import Demand, place
from pipeline.cluster.session import Session, open_session
from pipeline.errors import RoleFailedError
from pipeline.interfaces import RowSink, Servers
from pipeline.param_server.snapshot import first_snapshot
from pipeline.roles.progress import RoleProgress
from pipeline.roles.spec import RoleSpec
from pipeline.topologies.fleet import Fleet, FleetSpec
from pipeline.topologies.last_wait import LastWait
from pipeline.topologies.patience import Patience
from pipeline.topologies.system import RolePlan, shard_name
from tests.clocks import Clock
from tests.clusters import LIMIT_SECONDS, cluster_config, wait_until
from tests.param_server.configs import server_config
from tests.roles.wiring import ADAGRAD, bundle_spec

BOTH = ("worker-0", "worker-1")
IMPATIENT = Patience(odd_silence_seconds=2.0, lost_silence_seconds=4.0, calls_in_a_step=0)
is_stuck, let_go = threading.Event(), threading.Event()
"""A role stands still in its step, until it is let go; hosts are threads of this process."""


class StuckRole:
    """The second worker never comes back from a step; the first one does not mind."""

    def __init__(self, stuck_at: int, spec: RoleSpec, servers: Servers, rows: RowSink) -> None:
        self._stuck_at = stuck_at if spec.place.index == 1 else None
        self._num_updates = 0

    @property
    def done(self) -> bool:
        """Never."""
        return False

    def step(self) -> None:
        """Nothing, a hundred times a second."""
        self._num_updates += 1
        if self._num_updates == self._stuck_at:
            is_stuck.set()
            let_go.wait(LIMIT_SECONDS)
        else:
            threading.Event().wait(0.01)

    def progress(self) -> RoleProgress:
        """Steps."""
        return RoleProgress(0, self._num_updates, 0, 0.0, 0, 0.0)

    def close(self) -> None:
        """Holds nothing."""


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with open_session(cluster_config("threads"), num_hosts=2, threads_per_host=1) as session:
        yield session


@contextmanager
def stuck_fleet(session: Session, quorum: int | None) -> Iterator[Fleet]:
    """Two such workers and a shard; none is started again."""
    with stuck_fleet_and_coordinator(session, quorum) as (stuck, _):
        yield stuck


@contextmanager
def stuck_fleet_and_coordinator(
    session: Session, quorum: int | None, stuck_at: int = 5
) -> Iterator[tuple[Fleet, Coordinator]]:
    """The same, and who can tell them to leave. A role is first heard of after half a second, 50 steps."""
    demands = (*(Demand(worker, 1, 0) for worker in BOTH), Demand(shard_name(0), 0, 0, beside=BOTH[0]))
    server = server_config(num_shards=1, target_period_updates=None, timeout_seconds=LIMIT_SECONDS)
    spec = FleetSpec(
        roles=tuple(RolePlan(worker, i, partial(StuckRole, stuck_at), plays=True) for i, worker in enumerate(BOTH)),
        replays=(),
        role=replace(bundle_spec(), param_server=server, generation=1),
        quorum=quorum,
        optimizer=ADAGRAD,
        demands=demands,
        lease_seconds=30.0,
        max_restarts=0,
        patience=IMPATIENT,
    )
    is_stuck.clear()
    let_go.clear()
    session.run_id = uuid.uuid4().hex[:8]
    with Coordinator(session.client, session.run_id, lambda rows: None) as coordinator:
        stuck = Fleet(session, coordinator, spec, place(demands, session.offers()))
        stuck.start(first_snapshot(np.zeros(3, np.float32)), {})
        try:
            yield stuck, coordinator
        finally:
            let_go.set()
            coordinator.stop_roles()
            stuck.abandon(LastWait(LIMIT_SECONDS))
            stuck.release()
            wait_until(lambda: len(session.open_hosts(1)) == 2, "nobody stays for the next test")


def test_a_role_that_stands_still_is_named_and_then_it_ends_the_run(session: Session) -> None:
    with stuck_fleet(session, quorum=None) as stuck:
        said: list[str] = []

        def supervise() -> bool:
            said.extend(stuck.supervise())
            return False

        with pytest.raises(RoleFailedError, match="worker-1 was lost because nothing was heard of it for 4 s"):
            wait_until(supervise, "worker-1 is missed")
    assert len(said) == 1 and said[0].startswith("nothing was heard of worker-1 on inproc://")


@pytest.mark.slow
def test_a_backup_worker_that_stands_still_is_done_without(session: Session) -> None:
    with stuck_fleet(session, quorum=1) as stuck:
        said: list[str] = []

        def supervise() -> bool:
            said.extend(stuck.supervise())
            return len(said) >= 2

        wait_until(supervise, "worker-1 is given up")
        assert said[1].endswith("the others make the quorum, and it is not started again")
        assert stuck.supervise() == []
        host = (session.hosts.keys() - {stuck.placement["worker-0"].address}).pop()
        assert "worker-1" not in stuck.placement and stuck.free_hosts(1) == set(), "its thread is there"
        let_go.set()
        wait_until(lambda: stuck.free_hosts(1) == {host}, "it goes on, hears that it counts as lost, and leaves")
        assert stuck.supervise() == []


def clock_of_the_late(coordinator: Coordinator) -> Callable[[], float]:
    """A clock that stands still until the first role has left, and is beyond every limit then: only the other is late.

    Each role is waited for when the one before has left, and is heard out at once.
    """
    clock, receive = Clock(), coordinator.receive

    def receive_last(messages: Iterable[dict[str, object]]) -> None:
        receive(messages)
        clock.now = LIMIT_SECONDS

    coordinator.receive = receive_last  # type: ignore[method-assign]
    return clock.monotonic


def test_a_run_that_was_told_to_end_waits_for_no_role_that_is_still_at_it(session: Session) -> None:
    with stuck_fleet_and_coordinator(session, quorum=None) as (stuck, coordinator):
        wait_until(lambda: "worker-0" in coordinator.progress(), "they play")
        said: list[str] = []
        coordinator.stop_roles()
        clock = clock_of_the_late(coordinator)
        hurry = LastWait(LIMIT_SECONDS, said.append, hurried_seconds=8.0, has_hurry=lambda: True, clock=clock)
        last = stuck.collect(hurry)
    assert last["worker-0"].num_updates > 0
    assert said == ["worker-1 did not leave within 8 s: what it did since its last word is not counted"]


@pytest.mark.slow
@pytest.mark.parametrize("stuck_at", [1, 200], ids=["never heard of", "heard of before"])
def test_the_host_of_a_role_that_does_not_leave_takes_nothing_else_until_it_has(
    session: Session, stuck_at: int
) -> None:
    with stuck_fleet_and_coordinator(session, quorum=None, stuck_at=stuck_at) as (stuck, coordinator):
        heard_of = set(BOTH[:1] if stuck_at == 1 else BOTH)
        wait_until(lambda: is_stuck.is_set() and heard_of <= coordinator.progress().keys(), "one of both plays on")
        assert coordinator.progress().keys() == heard_of
        host = collect_without_worker_1(stuck, coordinator)
        assert session.open_hosts(1) == session.hosts.keys() - {host}
        assert host not in {offer.address for offer in session.offers()}
        assert session.staying.in_words(session.hosts) == f"worker-1 on {host}"
        let_go.set()
        wait_until(lambda: host in session.open_hosts(1), "it has left")


def collect_without_worker_1(stuck: Fleet, coordinator: Coordinator) -> str:
    """The address of its host, once the fleet is collected and forgotten."""
    said: list[str] = []
    coordinator.stop_roles()
    stuck.collect(LastWait(3.0, said.append, clock=clock_of_the_late(coordinator)))
    assert said[-1] == "worker-1 did not leave within 3 s: what it did since its last word is not counted"
    address = stuck.placement["worker-1"].address
    stuck.release()
    return address
