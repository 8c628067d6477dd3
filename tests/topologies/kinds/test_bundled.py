"""Fleets on real clusters: equal to the same roles wired by hand, and what becomes of them when hosts are killed."""

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from pipeline.cluster.session import Session, open_session
from pipeline.errors import RemoteLostError, RoleFailedError
from pipeline.optimizers.config import AdaGradConfig, AdamConfig, RMSPropConfig
from pipeline.optimizers.optimizer import OptimizerConfig
from pipeline.param_server.snapshot import ServerSnapshot
from pipeline.roles.progress import RoleProgress
from pipeline.roles.spec import QRoleSpec
from pipeline.topologies.kinds.bundled import BundledConfig
from pipeline.topologies.last_wait import LastWait
from tests.clusters import LIMIT_SECONDS, cluster_config, kill_host, wait_until
from tests.param_server.configs import server_config
from tests.roles.wiring import Wired, bundle_spec, first_server
from tests.topologies.fleets import Run, assert_equal, fleet_on

BUNDLES = ("bundle-0", "bundle-1")
OPTIMIZERS: list[OptimizerConfig] = [
    AdaGradConfig(kind="adagrad", learning_rate=1e-3, learning_rate_changes=(), epsilon=1e-6, initial_accumulator=0.0),
    RMSPropConfig(kind="rmsprop", learning_rate=2.5e-4, learning_rate_changes=(), decay=0.95, epsilon=1e-5),
    AdamConfig(kind="adam", learning_rate=1e-4, learning_rate_changes=(), beta1=0.9, beta2=0.999, epsilon=1e-8),
]
QUICK = (("threads", "beside", OPTIMIZERS[0]),)
"""Kind of cluster, place of shards and optimizer that are compared bit for bit in the quick tests."""
NUM_STEPS = 200


def small_bundle(**changes: Any) -> QRoleSpec:
    """A bundle whose target network is renewed every 10 updates."""
    server = server_config(target_period_updates=10)
    return bundle_spec(**{"param_server": server} | changes)


@functools.cache
def wired_by_hand(optimizer: OptimizerConfig) -> tuple[ServerSnapshot, RoleProgress]:
    """The same bundle after NUM_STEPS, in one thread and without Dask."""
    wired = Wired(small_bundle(), optimizer)
    return wired.run(NUM_STEPS), wired.bundle.progress()


def bundles(num_bundles: int = 1, shards: str = "beside") -> BundledConfig:
    """So many bundles of two lanes."""
    return BundledConfig("bundled", num_lanes=2, shards=shards, compute_threads=1, num_bundles=num_bundles)


@pytest.mark.parametrize(
    ("kind", "shards", "optimizer"),
    [
        pytest.param(
            kind,
            shards,
            optimizer,
            id=f"{kind} {shards} {optimizer.kind}",
            marks=[] if (kind, shards, optimizer) in QUICK else pytest.mark.slow,
        )
        for kind, shards in (("threads", "beside"), ("processes", "beside"), ("processes", "apart"))
        for optimizer in OPTIMIZERS
    ],
)
def test_one_bundle_and_one_shard_equal_the_same_roles_wired_by_hand_bit_for_bit(
    kind: str, shards: str, optimizer: OptimizerConfig, request: pytest.FixtureRequest
) -> None:
    session: Session = request.getfixturevalue(f"{kind}_session")
    with fleet_on(session, small_bundle(max_steps=NUM_STEPS), bundles(shards=shards), optimizer) as run:
        last = run.fleet.collect(LastWait(LIMIT_SECONDS))["bundle-0"]
        server = run.fleet.snapshot()
    by_hand, progress = wired_by_hand(optimizer)
    assert_equal(server, by_hand)
    assert server.version > 30 and 0 < server.target_versions[0] < server.version
    assert last._replace(wall_seconds=0) == progress._replace(wall_seconds=0)


def test_three_shards_over_two_bundles_hosts_hold_one_vector(threads_session: Session) -> None:
    bundle = small_bundle(param_server=server_config(num_shards=3, target_period_updates=10))
    with fleet_on(threads_session, bundle, bundles(2)) as run:
        assert [run.placement[f"shard-{i}"] for i in range(3)] == [run.placement[f"bundle-{i % 2}"] for i in range(3)]
        wait_until(lambda: min(run.steps_of("bundle-0"), run.steps_of("bundle-1")) > 100, "both bundles learn")
        assert run.fleet.supervise() == [] and not run.fleet.finished()
        run.coordinator.stop_roles()
        last = run.fleet.collect(LastWait(LIMIT_SECONDS))
        run.coordinator.finish(LIMIT_SECONDS)
        snapshot = run.fleet.snapshot()
    assert run.fleet.finished()
    assert set(snapshot.versions) == {sum(progress.num_updates for progress in last.values())}
    assert snapshot.params.shape == first_server(bundle).params.shape


def test_a_fleet_goes_on_from_a_snapshot_with_another_number_of_shards(threads_session: Session) -> None:
    by_hand, _ = wired_by_hand(OPTIMIZERS[0])
    bundle = small_bundle(param_server=server_config(num_shards=3, target_period_updates=10), max_steps=0)
    before = RoleProgress(NUM_STEPS, 0, by_hand.version, 0.5, 0, 12.0, budget_share=0.75)
    with fleet_on(threads_session, bundle, bundles()) as run:
        run.fleet.collect(LastWait(LIMIT_SECONDS))
        run.fleet.release()
        run.fleet.start(by_hand, {"bundle-0": before})
        last = run.fleet.collect(LastWait(LIMIT_SECONDS))["bundle-0"]
        server = run.fleet.snapshot()
    assert server.versions == by_hand.versions * 3
    assert_equal(server._replace(versions=by_hand.versions, target_versions=by_hand.target_versions), by_hand)
    assert last.num_steps == NUM_STEPS and last.wall_seconds >= 12.0 and last.budget_share == 0.75


@pytest.mark.slow
def test_bundles_that_heard_nothing_of_their_coordinator_are_started_again_and_end_no_run(
    threads_session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    with fleet_on(threads_session, small_bundle(), bundles(2), lease_seconds=5.0) as run:
        wait_until(lambda: min(run.steps_of("bundle-0"), run.steps_of("bundle-1")) > 50, "both bundles play")
        with monkeypatch.context() as muted:
            muted.setattr(run.coordinator, "_publish_control", lambda: None)
            wait_until(lambda: all(task.done() for task in run.fleet._roles.tasks.values()), "both bundles have left")
            assert not run.fleet.finished()
        steps = run.steps_of("bundle-0")
        said = run.supervise_until(2)
        assert all("was lost (it heard nothing of its coordinator for 5 s) and started again" in s for s in said)
        wait_until(lambda: run.steps_of("bundle-0") > steps + 50, "it goes on")
        assert not run.fleet.finished()


def test_a_bundle_s_own_error_ends_the_run_with_its_words(threads_session: Session) -> None:
    too_small = replace(bundle_spec().replay, capacity=8)
    with (
        fleet_on(threads_session, small_bundle(replay=too_small), bundles()) as run,
        pytest.raises(RoleFailedError, match=r"bundle-0 failed: .*capacity=8"),
    ):
        run.supervise_until(1)


@contextmanager
def two_bundles_and_a_shard_apart(max_restarts: int = 1) -> Iterator[Run]:
    """Each role in a process of its own, and no process to spare."""
    with (
        open_session(cluster_config("processes"), num_hosts=3, threads_per_host=1) as session,
        fleet_on(session, small_bundle(), bundles(2, shards="apart"), max_restarts=max_restarts) as run,
    ):
        wait_until(lambda: min(run.steps_of(role) for role in BUNDLES) > 100, "both bundles learn")
        yield run


@pytest.mark.slow
def test_bundles_that_were_killed_with_their_hosts_go_on_where_they_were_as_soon_as_there_are_hosts() -> None:
    with two_bundles_and_a_shard_apart() as run:
        before = {role: (run.placement[role].address, run.steps_of(role)) for role in BUNDLES}
        for address, _ in before.values():
            kill_host(run.session, address)
        said = run.supervise_until(1)
        if "waiting up to" in said[0]:
            # A slow machine takes more than some seconds for a host, and is told so once.
            gone = f"its host {before[BUNDLES[0]][0]} is gone"
            assert said.pop(0) == f"{', '.join(BUNDLES)} lost ({gone}); waiting up to {LIMIT_SECONDS:g} s for a host"
        said += run.supervise_until(2 - len(said))
        assert not run.fleet.finished()
        for sentence, (role, (address, _)) in zip(said, before.items(), strict=True):
            assert sentence.startswith(f"{role} was lost (its host {address} is gone) and started again on tcp://")
        wait_until(lambda: all(run.steps_of(role) > before[role][1] + 50 for role in BUNDLES), "both play on")
        assert run.fleet.supervise() == []
        run.coordinator.stop_roles()
        last = run.fleet.collect(LastWait(LIMIT_SECONDS))
        assert all(last[role].num_steps > before[role][1] for role in BUNDLES)


@pytest.mark.slow
def test_a_run_can_end_while_a_bundle_waits_for_a_host() -> None:
    with two_bundles_and_a_shard_apart() as run:
        kill_host(run.session, run.placement["bundle-1"].address)
        run.fleet.supervise()
        known = run.coordinator.progress()["bundle-1"]
        run.coordinator.stop_roles()
        last = run.fleet.collect(LastWait(LIMIT_SECONDS))
        assert last["bundle-1"] == known and last["bundle-0"].num_steps > 100


@pytest.mark.slow
def test_a_bundle_that_is_lost_too_often_ends_the_run() -> None:
    with two_bundles_and_a_shard_apart(max_restarts=0) as run:
        kill_host(run.session, run.placement["bundle-1"].address)
        with pytest.raises(RoleFailedError, match=r"bundle-1 was lost because its host .* gone"):
            run.supervise_until(1)


@pytest.mark.slow
def test_a_shard_that_was_killed_with_its_host_ends_the_fleet() -> None:
    with two_bundles_and_a_shard_apart() as run:
        kill_host(run.session, run.placement["shard-0"].address)
        with pytest.raises(RemoteLostError, match=r"shard-0 is lost with its host|shard-0: its host is gone"):
            # A role may notice it first, and is started again then.
            run.supervise_until(10)
