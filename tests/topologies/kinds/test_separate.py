"""Separate actors and learners around a global replay, on real clusters, and what becomes of them when hosts die."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from distributed import Client, LocalCluster, Worker

from pipeline.cluster.session import open_session
from pipeline.errors import CallTimeoutError, RemoteLostError, RoleFailedError
from pipeline.replay.config import ReplayTrafficConfig
from pipeline.roles.spec import QRoleSpec
from pipeline.roles.standalone_actor import StandaloneActor
from pipeline.roles.standalone_learner import StandaloneLearner
from pipeline.rows import EpisodeRow, UpdateRow
from pipeline.topologies.kinds.separate import GlobalConfig
from pipeline.topologies.last_wait import LastWait
from pipeline.topologies.needs import RoleNeeds
from tests.clusters import LIMIT_SECONDS, cluster_config, kill_host, wait_until
from tests.param_server.configs import server_config
from tests.roles.wiring import bundle_spec
from tests.topologies.fleets import Run, fleet_on

SLACK = 8
TRAFFIC = ReplayTrafficConfig(chunk_steps=2, prefetch=2, slack_updates=SLACK, wait_seconds=60.0)
STEPS_PER_UPDATE = 4


def role(**changes: Any) -> QRoleSpec:
    """What all roles are made from: two lanes, two parameter shards."""
    server = server_config(num_shards=2, target_period_updates=10)
    return bundle_spec(**{"param_server": server} | changes)


def topology(**changes: Any) -> GlobalConfig:
    """Two actors, one learner, two replay shards with hosts of their own."""
    config = GlobalConfig(
        kind="global",
        num_lanes=2,
        shards="beside",
        compute_threads=1,
        num_actors=2,
        num_learners=1,
        num_replay_shards=2,
        replay_shards="apart",
        traffic=TRAFFIC,
    )
    return replace(config, **changes)


@contextmanager
def learning(kind: str, num_hosts: int, spec: QRoleSpec, config: GlobalConfig) -> Iterator[Run]:
    """A fleet on a cluster of its own whose learners have all made 30 updates."""
    with (
        open_session(cluster_config(kind), num_hosts, threads_per_host=1) as session,
        fleet_on(session, spec, config) as run,
    ):
        learners = [f"learner-{i}" for i in range(config.num_learners)]
        wait_until(lambda: not run.fleet.supervise() and min(map(run.updates_of, learners)) > 30, "all learn")
        yield run


def end(run: Run) -> dict[str, int]:
    """Stop the roles; each one's steps and updates together."""
    run.coordinator.stop_roles()
    last = run.fleet.collect(LastWait(LIMIT_SECONDS))
    run.coordinator.finish(LIMIT_SECONDS)
    return {name: progress.num_steps + progress.num_updates for name, progress in last.items()}


@pytest.mark.parametrize("kind", ["threads", pytest.param("processes", marks=pytest.mark.slow)])
def test_actors_and_learners_keep_the_ratio_of_a_bundle(kind: str) -> None:
    spec = role()
    with learning(kind, 5, spec, topology()) as run:
        hosts = {name: offer.address for name, offer in run.placement.items()}
        assert len({hosts[name] for name in ("learner-0", "actor-0", "actor-1", "replay-0", "replay-1")}) == 5
        assert hosts["shard-0"] == hosts["shard-1"] == hosts["learner-0"]
        last = end(run)
        server = run.fleet.snapshot()
    num_steps, num_updates = last["actor-0"] + last["actor-1"], last["learner-0"]
    due = (num_steps - 2 * spec.replay.min_transitions) / STEPS_PER_UPDATE
    # Per shard: the slack; the chunk that used it up and the two that its actor holds; and a start up to two chunks
    # after `min_transitions` steps (the first step of a lane is no transition yet, and chunks arrive whole). For the
    # learner: the minibatches asked for ahead and the one that is ready.
    chunk = TRAFFIC.chunk_steps * 4 / STEPS_PER_UPDATE
    tolerance = 2 * (SLACK + 5 * chunk) + TRAFFIC.prefetch + 1
    assert abs(num_updates - due) <= tolerance
    assert server.versions == (num_updates, num_updates)
    updates = [row for row in run.rows if isinstance(row, UpdateRow)]
    assert {row.role for row in updates} == {"learner-0"}
    assert updates[-1].total_frames > 0 and updates[-1].replay_transitions > 0


@pytest.mark.slow
def test_episodes_come_from_the_actors_and_count_the_frames_of_all() -> None:
    with learning("threads", 5, role(), topology()) as run:
        wait_until(lambda: any(isinstance(row, EpisodeRow) for row in run.rows), "a game is over")
        end(run)
    episodes = [row for row in run.rows if isinstance(row, EpisodeRow)]
    assert {row.role for row in episodes} <= {"actor-0", "actor-1"}
    assert all(row.total_frames == row.end_step * 4 * 2 for row in episodes)


def test_more_learners_than_actors_share_one_replay_beside_the_actor() -> None:
    config = topology(num_actors=1, num_learners=2, num_replay_shards=1, replay_shards="beside")
    with learning("threads", 3, role(), config) as run:
        assert run.placement["replay-0"] == run.placement["actor-0"]
        last = end(run)
        server = run.fleet.snapshot()
    assert server.versions == (last["learner-0"] + last["learner-1"],) * 2


@pytest.mark.slow
def test_an_actor_that_was_killed_with_its_host_goes_on_and_so_does_the_learner() -> None:
    with learning("processes", 5, role(), topology()) as run:
        address, steps = run.placement["actor-1"].address, run.steps_of("actor-1")
        updates = run.updates_of("learner-0")
        kill_host(run.session, address)
        said = run.only_sentence()
        assert said.startswith(f"actor-1 was lost (its host {address} is gone) and started again on tcp://")
        assert not said.endswith("an empty replay")
        wait_until(lambda: run.steps_of("actor-1") > steps + 50, "the actor plays on")
        wait_until(lambda: run.updates_of("learner-0") > updates + 10, "the learner learns on")
        assert run.fleet.supervise() == []


@pytest.mark.slow
def test_a_learner_that_is_started_again_counts_the_frames_of_the_replay_once(monkeypatch: pytest.MonkeyPatch) -> None:
    fails, step = threading.Event(), StandaloneLearner.step

    def failing_once(learner: StandaloneLearner) -> None:
        if fails.is_set():
            fails.clear()
            raise CallTimeoutError("a shard was slow")
        step(learner)

    monkeypatch.setattr(StandaloneLearner, "step", failing_once)
    with learning("threads", 5, role(), topology()) as run:
        fails.set()
        said = run.only_sentence()
        assert said.startswith("learner-0 was lost (a shard was slow) and started again")
        count = len(run.rows)
        wait_until(lambda: any(isinstance(row, UpdateRow) for row in run.rows[count:]), "it learns on")
        end(run)
        num_steps = run.steps_of("actor-0") + run.steps_of("actor-1")
    frames = [row.total_frames for row in run.rows if isinstance(row, UpdateRow)]
    assert len(frames) >= 2 and frames == sorted(frames) and frames[-1] <= num_steps * 4


@pytest.mark.slow
def test_a_replay_shard_that_was_killed_with_its_host_ends_the_fleet() -> None:
    with learning("processes", 5, role(), topology()) as run:
        kill_host(run.session, run.placement["replay-0"].address)
        with pytest.raises(RemoteLostError, match=r"replay-0 is lost with its host|replay-0.*: its host is gone"):
            # A role may notice it first, and is started again then.
            run.supervise_until(10)


def test_a_learner_that_is_held_back_for_too_long_ends_the_run_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    # While a replay grows nobody starves.
    monkeypatch.setattr(StandaloneActor, "step", lambda actor: time.sleep(0.01))
    starved = replace(role().replay, capacity=20_000, min_transitions=19_000)
    config = topology(traffic=replace(TRAFFIC, wait_seconds=0.2), num_actors=1, num_replay_shards=1)
    with (
        open_session(cluster_config("threads"), 3, threads_per_host=1) as session,
        fleet_on(session, role(replay=starved), config) as run,
        pytest.raises(RoleFailedError, match=r"learner-0 failed: .*the replay holds .* of the 19,000"),
    ):
        run.supervise_until(1)


def test_a_learner_that_wants_a_gpu_takes_one_that_a_host_declares() -> None:
    config = topology(num_actors=1, num_replay_shards=1, replay_shards="beside")
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
    ):
        # The host without a GPU is there first, and would be taken first.
        cluster.worker_spec["gpu"] = {"cls": Worker, "options": {"nthreads": 1, "resources": {"GPU": 1}}}
        cluster.sync(cluster._correct_state)
        client.wait_for_workers(2)
        address = cluster_config("address", address=cluster.scheduler_address, num_hosts=2)
        with (
            open_session(address, 2, 1) as session,
            fleet_on(session, role(), config, num_gpus=1) as run,
        ):
            (declares,) = [offer.address for offer in session.offers() if offer.num_gpus == 1]
            assert run.placement["learner-0"].address == declares != run.placement["actor-0"].address
            wait_until(lambda: run.updates_of("learner-0") > 5, "it learns")
            assert client.run(free_gpus, workers=[declares]) == {declares: 0}
            end(run)


def free_gpus(dask_worker: Worker) -> float:
    """GPUs of a host that no task holds; Dask passes the host in."""
    return float(dask_worker.state.available_resources["GPU"])


def test_learners_and_actors_ask_for_hosts_and_shards_stand_beside_them_or_apart() -> None:
    needs = RoleNeeds(replay_bytes=100, learner_bytes=30, actor_bytes=20, shard_bytes=5, host_bytes=1, num_gpus=1)
    wanted = {demand.role: demand for demand in topology(shards="apart").demands(role().algorithm, 2, needs)}
    assert list(wanted) == ["learner-0", "actor-0", "actor-1", "shard-0", "shard-1", "replay-0", "replay-1"]
    assert (wanted["learner-0"].num_gpus, wanted["actor-0"].num_gpus) == (1, 0)
    assert [wanted[role].memory_bytes for role in ("learner-0", "actor-0", "shard-0", "replay-0")] == [31, 21, 6, 101]
    assert wanted["replay-0"].alone and wanted["shard-1"].alone
    demanded = topology(replay_shards="beside").demands(role().algorithm, 2, needs)
    beside = {demand.role: demand for demand in demanded}
    assert (beside["replay-1"].beside, beside["shard-1"].beside) == ("actor-1", "learner-0")
    assert beside["replay-1"].memory_bytes == 100
