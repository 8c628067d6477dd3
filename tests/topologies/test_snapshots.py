"""Snapshots of a synchronous server while its workers go on: one cut, from which another generation can start."""

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import cast

import numpy as np
import pytest

from pipeline.cluster.coordination.coordinator import Coordinator
from pipeline.cluster.placement import Demand, place
from pipeline.cluster.session import Session, open_session
from pipeline.interfaces import RowSink, Servers, SynchronousShardHandle
from pipeline.param_server.layout import ParamLayout
from pipeline.param_server.snapshot import ServerSnapshot, first_snapshot
from pipeline.param_server.synchronous_client import SynchronousClient
from pipeline.roles.progress import RoleProgress
from pipeline.roles.spec import RoleSpec
from pipeline.topologies.fleet import Fleet, FleetSpec
from pipeline.topologies.last_wait import LastWait
from pipeline.topologies.system import RolePlan, shard_name
from pipeline.types import Float32Array
from tests.clusters import LIMIT_SECONDS, cluster_config, wait_until
from tests.param_server.configs import server_config
from tests.param_server.conftest import Copy
from tests.param_server.synchronous_server import SynchronousServer
from tests.roles.wiring import ADAGRAD, bundle_spec

SIZE = 1_001
START = np.linspace(-1, 1, SIZE, dtype=np.float32)
SERVER = server_config(num_shards=2, target_period_updates=None, timeout_seconds=LIMIT_SECONDS)


def gradient_of(role: str, version: int) -> Float32Array:
    return np.random.default_rng([version, *role.encode()]).standard_normal(SIZE, dtype=np.float32)


class PushingRole:
    """A worker that computes nothing: its gradients follow from its name and the version."""

    def __init__(self, spec: RoleSpec, servers: Servers, rows: RowSink) -> None:
        assert servers.leader is not None
        shards = cast(Sequence[SynchronousShardHandle], servers.shards)
        layout = ParamLayout(SIZE, len(shards))
        self._client = SynchronousClient(
            shards, servers.leader, layout, spec.sender, spec.generation, spec.param_server
        )
        self._copy = Copy(self._client, SIZE)
        self._role = spec.place.role
        self._num_updates = 0

    @property
    def done(self) -> bool:
        """Never."""
        return False

    def step(self) -> None:
        """Push one gradient, if the time has come."""
        if self._client.ready(0.1):
            version = self._copy.pull().versions[0]
            self._client.push(gradient_of(self._role, version), self._copy.versions)
            self._num_updates += 1

    def progress(self) -> RoleProgress:
        """Gradients pushed."""
        return RoleProgress(0, self._num_updates, max(self._copy.versions, default=0), 0.0, 0, 0.0)

    def close(self) -> None:
        """Holds nothing."""


def by_hand(start: ServerSnapshot, version: int) -> Float32Array:
    """What two workers make of `start` until `version`, in one thread."""
    server = SynchronousServer(start, optimizer=ADAGRAD, num_shards=len(start.versions))
    for at in range(start.version, version):
        for role in ("worker-0", "worker-1"):
            assert server.push(role, gradient_of(role, at), at) == ""
    return server.snapshot().params


@pytest.fixture(scope="module", params=["threads", pytest.param("processes", marks=pytest.mark.slow)])
def session(request: pytest.FixtureRequest, nothing_leaks: None) -> Iterator[Session]:
    """Two hosts."""
    with open_session(cluster_config(request.param), num_hosts=2, threads_per_host=2) as session:
        yield session


@contextmanager
def pushing_fleet(
    session: Session, start: ServerSnapshot, num_workers: int = 2, quorum: int = 2, generation: int = 1
) -> Iterator[Fleet]:
    """Workers, and two shards beside the first two of them."""
    workers = [f"worker-{i}" for i in range(num_workers)]
    demands = tuple(Demand(worker, 1, 0) for worker in workers) + tuple(
        Demand(shard_name(i), 0, 0, beside=workers[i % num_workers]) for i in range(SERVER.num_shards)
    )
    spec = FleetSpec(
        roles=tuple(RolePlan(worker, i, PushingRole, plays=True) for i, worker in enumerate(workers)),
        replays=(),
        role=replace(bundle_spec(), param_server=SERVER, generation=generation),
        quorum=quorum,
        optimizer=ADAGRAD,
        demands=demands,
        lease_seconds=30.0,
        max_restarts=0,
    )
    session.run_id = uuid.uuid4().hex[:8]
    with Coordinator(session.client, session.run_id, lambda rows: None) as coordinator:
        fleet = Fleet(session, coordinator, spec, place(demands, session.offers()))
        fleet.start(start, {})
        try:
            yield fleet
        finally:
            coordinator.stop_roles()
            fleet.abandon(LastWait(LIMIT_SECONDS))
            fleet.release()


def snapshot_after(fleet: Fleet, version: int) -> ServerSnapshot:
    """A snapshot of a later version than `version`."""
    taken: list[ServerSnapshot] = []

    def is_later() -> bool:
        assert fleet.supervise() == []
        taken.append(fleet.snapshot())
        return taken[-1].version > version

    wait_until(is_later, f"a version later than {version}")
    return taken[-1]


def test_snapshots_are_one_cut_while_workers_go_on_and_the_next_generation_starts_there(session: Session) -> None:
    with pushing_fleet(session, first_snapshot(START)) as fleet:
        cut = first_snapshot(START)
        for _ in range(3):
            cut = snapshot_after(fleet, cut.version)
            assert len(cut.versions) == 2 and len(set(cut.versions)) == 1
            np.testing.assert_array_equal(cut.params, by_hand(first_snapshot(START), cut.version))
    # N + b changes; the first update of the new generation goes on from the cut.
    with pushing_fleet(session, cut, num_workers=3, quorum=1, generation=2) as fleet:
        assert snapshot_after(fleet, cut.version).version > cut.version


def test_a_server_whose_shards_were_at_different_versions_goes_on_from_the_oldest(session: Session) -> None:
    apart = first_snapshot(START)._replace(
        versions=(7, 5), target_versions=(0, 0), slots={"sum_of_squares": np.ones(SIZE, np.float32)}
    )
    with pushing_fleet(session, apart) as fleet:
        later = snapshot_after(fleet, 5)
    assert len(set(later.versions)) == 1
    np.testing.assert_array_equal(later.params, by_hand(apart.at_one_version(), later.version))
