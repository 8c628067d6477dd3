"""Workers on real clusters: equal to the same roles wired by hand, and what becomes of them when hosts are killed."""

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from pipeline.cluster.session import Session, open_session
from pipeline.errors import RemoteLostError, RoleFailedError
from pipeline.param_server.snapshot import ServerSnapshot
from pipeline.roles.progress import RoleProgress
from pipeline.roles.spec import WorkerSpec
from pipeline.rows import ActorCriticUpdateRow
from pipeline.topologies.config import TopologyConfig
from pipeline.topologies.kinds.bundled import BundledConfig
from pipeline.topologies.kinds.workers import WorkersConfig
from pipeline.topologies.last_wait import LastWait
from pipeline.topologies.needs import RoleNeeds
from pipeline.topologies.patience import Patience
from tests.clusters import LIMIT_SECONDS, cluster_config, kill_host, wait_until
from tests.param_server.configs import server_config
from tests.roles.worker_wiring import ADAM, WiredTogether, worker_spec
from tests.topologies.fleets import PATIENCE, Run, assert_equal, fleet_on

NUM_STEPS = 120
BOTH = ("worker-0", "worker-1")


def test_a_scale_of_noise_for_a_quorum_that_is_fixed_is_refused() -> None:
    scaled = replace(workers(2, 1), noise_scale=8.0)
    assert scaled.mistakes() == ["noise_scale=8.0 needs dynamic_quorum=true: a quorum that is fixed has no use for it"]
    assert replace(scaled, dynamic_quorum=True).mistakes() == []


def spec(num_shards: int = 2, **changes: Any) -> WorkerSpec:
    """What all workers are made from: two lanes, batches of 20 steps."""
    server = server_config(num_shards=num_shards, target_period_updates=None, timeout_seconds=LIMIT_SECONDS)
    return worker_spec(param_server=server, **changes)


def workers(num_workers: int, num_backup_workers: int = 0, sync: bool = True, shards: str = "beside") -> WorkersConfig:
    """N + b workers of two lanes, none of them slow on purpose."""
    return WorkersConfig(
        kind="workers",
        num_lanes=2,
        shards=shards,
        compute_threads=1,
        num_workers=num_workers,
        num_backup_workers=num_backup_workers,
        dynamic_quorum=False,
        noise_scale=None,
        sync=sync,
        stragglers=(),
    )


SINGLE = BundledConfig("single", num_lanes=2, shards="beside", compute_threads=1, num_bundles=1)


@functools.cache
def wired_by_hand() -> tuple[ServerSnapshot, RoleProgress]:
    """One worker after NUM_STEPS, in one thread and without Dask."""
    wired = WiredTogether([spec(max_steps=NUM_STEPS)], quorum=1)
    (worker,) = wired.workers
    while not worker.done:
        worker.step()
    worker.close()
    return wired.server(), worker.progress()


@pytest.mark.parametrize(
    ("kind", "topology"),
    [
        pytest.param("threads", workers(1), id="threads"),
        pytest.param("threads", workers(1, sync=False), id="threads, asynchronous"),
        pytest.param("threads", SINGLE, id="threads, single", marks=pytest.mark.slow),
        pytest.param("processes", workers(1), id="processes", marks=pytest.mark.slow),
        pytest.param("processes", workers(1, sync=False), id="processes, asynchronous", marks=pytest.mark.slow),
    ],
)
def test_one_worker_equals_the_same_role_wired_by_hand_bit_for_bit(
    kind: str, topology: TopologyConfig, request: pytest.FixtureRequest
) -> None:
    session: Session = request.getfixturevalue(f"{kind}_session")
    with fleet_on(session, spec(max_steps=NUM_STEPS), topology, ADAM) as run:
        last = run.fleet.collect(LastWait(LIMIT_SECONDS))["worker-0"]
        server = run.fleet.snapshot()
    by_hand, progress = wired_by_hand()
    assert_equal(server, by_hand)
    assert server.version == NUM_STEPS // 20
    assert last._replace(wall_seconds=0, waited_seconds=0) == progress._replace(wall_seconds=0, waited_seconds=0)


def end(run: Run) -> tuple[dict[str, RoleProgress], ServerSnapshot]:
    """Stop the workers; what each has done, and the server."""
    run.coordinator.stop_roles()
    last = run.fleet.collect(LastWait(LIMIT_SECONDS))
    run.coordinator.finish(LIMIT_SECONDS)
    return last, run.fleet.snapshot()


def gradients(run: Run) -> list[ActorCriticUpdateRow]:
    """Rows of groups of gradients."""
    return [row for row in run.rows if isinstance(row, ActorCriticUpdateRow)]


@pytest.mark.parametrize("kind", ["threads", pytest.param("processes", marks=pytest.mark.slow)])
def test_two_workers_of_a_quorum_go_hand_in_hand(kind: str, request: pytest.FixtureRequest) -> None:
    session: Session = request.getfixturevalue(f"{kind}_session")
    with fleet_on(session, spec(), workers(2), ADAM) as run:
        assert [run.placement[f"shard-{i}"] for i in range(2)] == [run.placement[role] for role in BOTH]
        wait_until(lambda: min(map(run.version_of, BOTH)) >= 5, "updates")
        assert run.fleet.supervise() == [] and not run.fleet.finished()
        last, server = end(run)
    one, other = (last[role].num_updates for role in BOTH)
    assert abs(one - other) <= 1 and server.versions == (min(one, other),) * 2
    assert {row.num_dropped_late for row in gradients(run)} == {0}
    assert sum(row.num_updates for row in gradients(run)) == one + other


def test_with_a_backup_worker_each_update_is_one_gradient_and_the_others_are_late(threads_session: Session) -> None:
    with fleet_on(threads_session, spec(), workers(1, num_backup_workers=1), ADAM) as run:
        wait_until(lambda: min(map(run.version_of, BOTH)) >= 5, "updates")
        last, server = end(run)
    rows = gradients(run)
    assert sum(row.num_admitted for row in rows) == server.version
    assert sum(row.num_admitted + row.num_dropped_late for row in rows) == sum(row.num_updates for row in rows)
    assert sum(row.num_updates for row in rows) == sum(progress.num_updates for progress in last.values())


def test_a_host_on_which_nothing_of_the_fleet_stands_is_free(threads_session: Session) -> None:
    with fleet_on(threads_session, spec(max_steps=20), workers(1), ADAM) as run:
        assert run.fleet.free_hosts(1) == set(threads_session.hosts) - {run.placement["worker-0"].address}
    with fleet_on(threads_session, spec(max_steps=20), workers(2), ADAM) as run:
        assert run.fleet.free_hosts(1) == set()


def test_without_a_quorum_each_gradient_is_an_update(threads_session: Session) -> None:
    with fleet_on(threads_session, spec(), workers(2, sync=False), ADAM) as run:
        wait_until(lambda: min(map(run.steps_of, BOTH)) >= 100, "steps")
        last, server = end(run)
    assert server.versions == (sum(progress.num_updates for progress in last.values()),) * 2
    assert {row.num_dropped_stale for row in gradients(run)} == {0}


@contextmanager
def learning_in_processes(config: WorkersConfig, num_hosts: int, patience: Patience = PATIENCE) -> Iterator[Run]:
    """A fleet with one shard, on a cluster of its own, whose workers have all seen five updates."""
    names = [f"worker-{i}" for i in range(config.num_started)]
    with (
        open_session(cluster_config("processes"), num_hosts, threads_per_host=1) as session,
        fleet_on(session, spec(num_shards=1), config, ADAM, patience=patience) as run,
    ):
        wait_until(lambda: not run.fleet.supervise() and min(map(run.version_of, names)) >= 5, "updates")
        yield run


@pytest.mark.slow
def test_with_a_backup_worker_a_killed_one_stops_nobody_and_is_started_again() -> None:
    with learning_in_processes(workers(1, num_backup_workers=1), num_hosts=2) as run:
        address, steps = run.placement["worker-1"].address, run.steps_of("worker-1")
        kill_host(run.session, address)
        version = run.version_of("worker-0")
        wait_until(lambda: run.version_of("worker-0") >= version + 5, "updates go on while nobody looks after it")
        said = run.only_sentence()
        assert said.startswith(f"worker-1 was lost (its host {address} is gone) and started again on tcp://")
        assert "replay" not in said
        wait_until(lambda: run.steps_of("worker-1") > steps + 20, "it goes on where it was")
        assert run.fleet.supervise() == []


@pytest.mark.slow
def test_a_worker_whose_host_dies_before_it_can_leave_does_not_hold_up_the_end() -> None:
    with learning_in_processes(workers(1, num_backup_workers=1), num_hosts=2) as run:
        steps = run.steps_of("worker-1")
        kill_host(run.session, run.placement["worker-1"].address)
        run.coordinator.stop_roles()
        last = run.fleet.collect(LastWait(LIMIT_SECONDS))
        assert last["worker-1"].num_steps >= steps and last["worker-0"].num_steps > 0


def test_a_connection_that_breaks_and_cancels_all_tasks_ends_the_run_in_words(threads_session: Session) -> None:
    with fleet_on(threads_session, spec(), workers(1), ADAM) as run:
        wait_until(lambda: run.version_of("worker-0") >= 2, "updates")
        # What Dask's client does with all of them.
        threads_session.client.cancel(list(run.fleet._roles.tasks.values()))
        with pytest.raises(RoleFailedError, match=r"the connection to the scheduler broke.* resume=true goes on"):
            wait_until(lambda: run.fleet.supervise() and False, "the fleet notices")


@pytest.mark.slow
def test_a_lost_worker_takes_the_host_that_comes_back_though_another_one_finds_none() -> None:
    with learning_in_processes(workers(1, num_backup_workers=2), num_hosts=3) as run:
        run.session.client.retire_workers([run.placement["worker-1"].address])
        assert run.fleet.supervise() == []
        evaluator_may_stand = run.fleet.free_hosts(1)
        assert evaluator_may_stand == set(), "the quorum stands, and no host is free"
        kill_host(run.session, run.placement["worker-2"].address)
        said = run.only_sentence()
        assert said.startswith(("worker-1 was lost", "worker-2 was lost")) and "started again" in said
        assert run.fleet.num_restarted == 1


@pytest.mark.slow
def test_a_fleet_begins_without_a_backup_worker_for_which_there_is_no_host(threads_session: Session) -> None:
    topology = workers(1, num_backup_workers=1)
    with fleet_on(threads_session, spec(), topology, ADAM, without=("worker-1",)) as run:
        said = run.only_sentence()
        assert said.startswith("worker-1 was lost (there was no host for it) and started again on ")
        wait_until(lambda: min(map(run.version_of, BOTH)) >= 5, "both see updates")


@pytest.mark.slow
def test_a_backup_worker_for_which_no_host_comes_is_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    impatient = Patience(remind_seconds=0.1)
    with learning_in_processes(workers(1, num_backup_workers=1), num_hosts=2, patience=impatient) as run:
        monkeypatch.setattr(Session, "host_timeout_seconds", 0.1)
        run.session.client.retire_workers([run.placement["worker-1"].address])
        version = run.version_of("worker-0")
        waits = "worker-1 still without a host; the others make the quorum and go on"
        assert run.supervise_until(2)[:2] == [waits, waits]
        wait_until(lambda: run.version_of("worker-0") >= version + 5, "updates go on")


@pytest.mark.slow
def test_a_backup_worker_that_is_lost_too_often_is_given_up_and_the_run_goes_on() -> None:
    with learning_in_processes(workers(1, num_backup_workers=1), num_hosts=2) as run:
        for lost in ("worker-1 was lost (its host", "worker-1 was lost 2 times, the last time because its host"):
            kill_host(run.session, run.placement["worker-1"].address)
            said = run.only_sentence()
            assert said.startswith(lost)
        assert said.endswith("the others make the quorum, and it is not started again")
        version = run.version_of("worker-0")
        wait_until(lambda: run.version_of("worker-0") >= version + 5 and not run.fleet.supervise(), "updates go on")
        last, _ = end(run)
        assert run.fleet.finished() and last.keys() == {"worker-0", "worker-1"}


@pytest.mark.slow
def test_without_a_backup_worker_a_killed_one_is_started_again_and_updates_go_on() -> None:
    with learning_in_processes(workers(2), num_hosts=2) as run:
        kill_host(run.session, run.placement["worker-1"].address)
        assert run.only_sentence().startswith("worker-1 was lost")
        version = max(map(run.version_of, BOTH))
        wait_until(lambda: min(map(run.version_of, BOTH)) >= version + 5, "both see updates again")
        assert run.fleet.supervise() == []
        last, server = end(run)
    assert abs(last["worker-0"].version - server.version) <= 1


@pytest.mark.slow
def test_a_shard_and_the_leader_that_were_killed_with_their_host_end_the_fleet() -> None:
    with learning_in_processes(workers(1, shards="apart"), num_hosts=2) as run:
        kill_host(run.session, run.placement["shard-0"].address)
        with pytest.raises(RemoteLostError, match=r"(shard-0|leader).* (is lost with its host|its host is gone)"):
            # A role may notice it first, and is started again then.
            run.supervise_until(10)


def test_workers_ask_for_hosts_and_gpus_and_shards_stand_beside_them_in_turn_or_apart() -> None:
    needs = RoleNeeds(replay_bytes=100, learner_bytes=30, actor_bytes=20, shard_bytes=5, host_bytes=1, num_gpus=1)
    wanted = {
        demand.role: demand for demand in replace(workers(2), compute_threads=3).demands(spec().algorithm, 3, needs)
    }
    assert list(wanted) == ["worker-0", "worker-1", "shard-0", "shard-1", "shard-2"]
    assert [wanted[f"shard-{i}"].beside for i in range(3)] == ["worker-0", "worker-1", "worker-0"]
    assert (wanted["worker-1"].num_threads, wanted["worker-1"].num_gpus, wanted["worker-1"].memory_bytes) == (3, 1, 31)
    assert wanted["shard-2"].num_threads == 0 and wanted["shard-2"].memory_bytes == 5
    apart = workers(2, shards="apart").demands(spec().algorithm, 3, needs)
    assert all(demand.alone for demand in apart if demand.role.startswith("shard"))


def test_with_a_backup_worker_all_shards_stand_beside_the_first_so_that_any_other_may_be_lost() -> None:
    needs = RoleNeeds(0, 30, 20, 5, 1, num_gpus=0)
    wanted = workers(2, num_backup_workers=1).demands(spec().algorithm, 2, needs)
    assert [demand.beside for demand in wanted if demand.role.startswith("shard")] == ["worker-0", "worker-0"]


def test_backup_workers_play_but_do_not_count_for_the_quorum() -> None:
    made = workers(3, num_backup_workers=2).system(spec())
    assert [role.name for role in made.roles] == [f"worker-{i}" for i in range(5)]
    assert all(role.plays for role in made.roles)
    assert made.quorum == 3 and workers(3, num_backup_workers=2).num_playing == 5
    assert workers(3, sync=False).system(spec()).quorum is None
    assert SINGLE.system(spec()).quorum is None and len(SINGLE.system(spec()).roles) == 1


def test_workers_are_told_who_straggles() -> None:
    slow = replace(workers(2), stragglers=((1, "exponential", 0.5),))
    role = slow.system(spec()).role
    assert isinstance(role, WorkerSpec) and role.stragglers == slow.stragglers
