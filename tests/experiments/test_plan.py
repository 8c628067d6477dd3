"""The plan: what is foretold is what is taken, and what cannot fit is refused before anything starts."""

import io
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from pipeline.cluster.granted import GrantedHosts
from pipeline.cluster.groups import kind_of
from pipeline.cluster.placement import Offer
from pipeline.config.overrides import compose
from pipeline.config.run_config import RunConfig
from pipeline.errors import PlacementError
from pipeline.experiments.plan import dispensable, host_demands, make_plan, network_of
from pipeline.replay.memory import ReplayMemory
from tests.experiments.smoke_runs import smoke_config

MIB = 2**20


def printed(config: RunConfig) -> str:
    output = io.StringIO()
    Console(file=output, width=200).print(make_plan(config).render(config))
    return output.getvalue()


def test_a_bundle_is_planned_with_what_its_replay_and_its_vectors_really_take(tmp_path: Path) -> None:
    config = smoke_config(tmp_path)
    environment = config.environment
    assert config.replay is not None
    replay = ReplayMemory(
        config.replay, 1, config.topology.num_lanes, environment.frame_shape, environment.stack, 0.99, 1,
        np.random.default_rng(0),
    )  # fmt: skip
    vector = network_of(config).initial_parameters(np.random.default_rng(0)).nbytes
    plan = make_plan(config)
    assert plan.num_parameters * 4 == vector
    wanted = {demand.role: demand.memory_bytes for demand in plan.demands}
    assert wanted["bundle-0"] == wanted["bundle-1"] == replay.nbytes + 7 * vector
    # AdaGrad remembers one vector.
    assert wanted["shard-0"] == wanted["shard-1"] == (4 + 1) * vector // 2


def test_a_worker_is_planned_with_its_vectors_and_the_stacks_of_its_steps(tmp_path: Path) -> None:
    config = smoke_config(tmp_path, experiment="smoke_dba3c")
    vector = network_of(config).initial_parameters(np.random.default_rng(0)).nbytes
    wanted = {demand.role: demand.memory_bytes for demand in make_plan(config).demands}
    # 4 lanes of 5 steps and a batch of 20 wait, and a batch of 20 is learned from; 4 RGB frames each.
    assert wanted["worker-0"] == wanted["worker-1"] == 7 * vector + (4 * 5 + 20 + 20) * 4 * 84 * 84 * 3
    # With the gradients of two workers, and their mean.
    assert wanted["shard-0"] == wanted["shard-1"] == (6 + 2 + 1) * vector // 2


@pytest.mark.parametrize(("optimizer", "num_slots"), [("adagrad", 1), ("rmsprop", 2), ("adam", 2)])
def test_a_shard_is_planned_with_what_its_optimizer_remembers(tmp_path: Path, optimizer: str, num_slots: int) -> None:
    config = smoke_config(tmp_path, f"optimizer={optimizer}")
    vector = network_of(config).initial_parameters(np.random.default_rng(0)).nbytes
    wanted = {demand.role: demand.memory_bytes for demand in make_plan(config).demands}
    assert wanted["shard-0"] == (4 + num_slots) * vector // 2


@pytest.mark.parametrize(
    ("words", "num_kept"),
    [("topology.num_workers=6 topology.num_backup_workers=2", 8 + 1), ("topology.sync=false", 0)],
    ids=["with backup workers", "asynchronous"],
)
def test_a_shard_is_planned_with_the_gradients_that_wait_for_their_quorum(
    tmp_path: Path, words: str, num_kept: int
) -> None:
    config = smoke_config(tmp_path, *words.split(), experiment="smoke_dba3c")
    vector = network_of(config).initial_parameters(np.random.default_rng(0)).nbytes
    wanted = {demand.role: demand.memory_bytes for demand in make_plan(config).demands}
    assert wanted["shard-1"] == (6 + num_kept) * vector // 2


def test_evaluations_beside_the_training_have_a_host_of_their_own(tmp_path: Path) -> None:
    plan = make_plan(smoke_config(tmp_path, "training_evaluation.every_frames=1000", experiment="smoke_dba3c"))
    hosts = {role: offer.address for role, offer in plan.placement.items()}
    assert plan.num_hosts == {None: 3}
    assert len({hosts[role] for role in ("worker-0", "worker-1", "evaluator")}) == 3


def test_a_host_that_is_a_process_costs_what_a_process_costs(tmp_path: Path) -> None:
    threads, processes, apart = (
        {demand.role: demand.memory_bytes for demand in make_plan(smoke_config(tmp_path, *words)).demands}
        for words in ([], ["cluster=processes"], ["cluster=processes", "topology.shards=apart"])
    )
    assert processes["bundle-0"] - threads["bundle-0"] == 300 * MIB
    assert processes["shard-0"] == threads["shard-0"]
    assert apart["shard-0"] - threads["shard-0"] == 300 * MIB


def test_the_process_around_roles_that_are_threads_is_planned_with_them(tmp_path: Path) -> None:
    plan = make_plan(smoke_config(tmp_path))
    wanted = sum(demand.memory_bytes for demand in plan.demands)
    assert plan.memory_bytes - wanted == 700 * MIB
    fits, too_little = (f"cluster.memory_bytes={plan.memory_bytes - missing}" for missing in (0, 1))
    assert "0.68 of them for this process" in printed(smoke_config(tmp_path, fits))
    with pytest.raises(PlacementError, match="lower replay"):
        make_plan(smoke_config(tmp_path, too_little))


def test_the_process_around_hosts_that_are_processes_is_told_and_takes_nothing_of_them(tmp_path: Path) -> None:
    plan = make_plan(smoke_config(tmp_path, "cluster=processes"))
    of_hosts = sum(demand.memory_bytes for demand in plan.demands)
    assert plan.memory_bytes - of_hosts == 700 * MIB
    just_enough = smoke_config(tmp_path, "cluster=processes", f"cluster.memory_bytes={of_hosts}")
    assert f"{plan.memory_bytes / 2**30:.2f} GiB in all, 0.68 of them for this process" in printed(just_enough)


def test_the_run_starts_as_many_hosts_as_its_roles_want(tmp_path: Path) -> None:
    beside = make_plan(smoke_config(tmp_path, "topology.num_bundles=3", "topology.compute_threads=2"))
    assert (beside.num_hosts, beside.threads_per_host) == ({None: 3}, 2)
    apart = make_plan(smoke_config(tmp_path, "topology.num_bundles=3", "topology.shards=apart"))
    assert apart.num_hosts == {None: 5}
    assert len({offer.address for offer in apart.placement.values()}) == 5


def test_roles_of_a_group_stand_on_its_hosts_and_all_others_on_hosts_of_none(tmp_path: Path) -> None:
    groups = (
        "cluster.groups=[{name:big,roles:[shard,replay],num_hosts:1,memory_bytes:32e9},{name:gpus,roles:[learner]}]"
    )
    roles = ("topology.num_actors=3", "topology.num_learners=2", "param_server.num_shards=2")
    beside = ("topology.shards=beside", "topology.replay_shards=beside")
    plan = make_plan(smoke_config(tmp_path, *roles, *beside, "cluster=slurm", groups, experiment="smoke_apex"))
    assert plan.num_hosts == {None: 3, "big": 1, "gpus": 2}
    standing: dict[str, set[str]] = {}
    for role, offer in plan.placement.items():
        standing.setdefault(offer.address, set()).add(kind_of(role))
        assert offer.memory_bytes == int(0.8 * (32e9 if "big" in offer.groups else 8e9))
    kinds = [kinds for kinds in standing.values() if kinds != {"actor"}]
    assert sorted(map(sorted, kinds)) == [["learner"], ["learner"], ["replay", "shard"]] and len(standing) == 6


def test_a_replay_larger_than_memory_is_refused_with_both_numbers(tmp_path: Path) -> None:
    words = ["replay.capacity=1_000_000", f"cluster.memory_bytes={2 * 2**30}"]
    with pytest.raises(PlacementError, match=r"want 13\.\d\d GiB, offered are 2\.00 GiB: lower replay\.capacity"):
        make_plan(smoke_config(tmp_path, *words))


def test_more_hosts_than_a_cluster_has_are_refused_with_both_numbers(tmp_path: Path) -> None:
    config = smoke_config(tmp_path, "cluster=address", "cluster.address=tcp://a:1", "topology.shards=apart")
    offers = [Offer(f"tcp://a:{port}", "a", 1, 2**40, 8) for port in (2, 3, 4)]
    with pytest.raises(PlacementError, match=r"wants 2 hosts of their own and 4 threads.*offered are 3 hosts with 3"):
        make_plan(config, offers)


def test_hosts_of_a_running_cluster_are_never_guessed(tmp_path: Path) -> None:
    with pytest.raises(PlacementError, match="have to be asked"):
        make_plan(smoke_config(tmp_path, "cluster=address", "cluster.address=tcp://a:1"))


def test_the_plan_names_each_role_its_host_threads_and_memory(tmp_path: Path) -> None:
    text = printed(smoke_config(tmp_path))
    assert "plan of smoke_gorila on Breakout, seed 0" in text
    for role, host in (("bundle-0", "host-0"), ("bundle-1", "host-1"), ("shard-0", "host-0"), ("shard-1", "host-1")):
        assert any(role in line and host in line and "MiB" in line for line in text.splitlines())
    assert "cluster threads; " in text and " parameters in 2 shard(s); " in text


def test_more_compute_threads_than_cores_are_a_warning(tmp_path: Path) -> None:
    assert "compute threads: roles will wait" in printed(smoke_config(tmp_path, "topology.compute_threads=500"))
    assert "warning" not in printed(smoke_config(tmp_path, "topology.num_bundles=1"))


def test_the_plan_of_a_deterministic_run_has_one_role_and_names_its_disk(tmp_path: Path) -> None:
    text = printed(smoke_config(tmp_path, "deterministic=true"))
    assert "turns" in text and "bundle-1" not in text
    assert "checkpoints/ takes the frames of replays" in text


def test_final_games_unlike_those_of_training_are_a_warning(tmp_path: Path) -> None:
    words = ["experiment=dba3c", "game=Pong", f"results_dir={tmp_path}"]
    unlike = printed(compose([*words, "evaluation=ba3c_50_deterministic"]))
    assert "plays other games than the training (max_pool=false, in training true)" in " ".join(unlike.split())
    assert "other games" not in printed(compose(words))
    assert "other games" not in printed(compose([*words, "evaluation=sticky"])), "that is a protocol's own matter"


def test_each_host_of_a_run_is_asked_for_with_all_that_stands_on_it(tmp_path: Path) -> None:
    config = smoke_config(tmp_path)
    hosts = {host.role: host for host in host_demands(config)}
    planned = {demand.role: demand.memory_bytes for demand in make_plan(config).demands}
    assert set(hosts) == {"bundle-0", "bundle-1"}
    assert hosts["bundle-1"].num_threads == 1
    assert hosts["bundle-1"].memory_bytes == planned["bundle-1"] + planned["shard-1"] + 300 * MIB


def test_on_granted_hosts_a_shard_apart_may_share_one(tmp_path: Path) -> None:
    words = ["cluster=address", "cluster.address=tcp://a:1", "topology.shards=apart", "param_server.num_shards=1"]
    config = smoke_config(tmp_path, *words)
    offers = [Offer("tcp://a:2", "a", 2, 2**40, 8), Offer("tcp://a:3", "a", 1, 2**40, 8)]
    with pytest.raises(PlacementError):
        make_plan(config, offers)
    plan = make_plan(config, offers, granted=GrantedHosts({"tcp://a:2": 2, "tcp://a:3": 1}, {}))
    assert set(plan.placement) == {"bundle-0", "bundle-1", "shard-0"}


def test_roles_stand_where_there_is_room_granted_for_them(tmp_path: Path) -> None:
    """The host with most threads free may be one that was granted memory for a small role alone."""
    words = ["cluster=address", "cluster.address=tcp://a:1", "topology.shards=apart", "param_server.num_shards=1"]
    config = smoke_config(tmp_path, *words)
    offers = [Offer("tcp://a:2", "a", 1, 2**40, 8), Offer("tcp://b:2", "b", 5, 2**40, 8)]
    seats = {"bundle-0": "tcp://b:2", "bundle-1": "tcp://a:2", "shard-0": "tcp://b:2"}
    placement = make_plan(config, offers, granted=GrantedHosts({}, seats)).placement
    assert {role: offer.address for role, offer in placement.items()} == seats
    # A host is lost, and all roles are placed anew: on what is left, if there is room.
    placement = make_plan(config, offers[1:], granted=GrantedHosts({}, seats)).placement
    assert {offer.address for offer in placement.values()} == {"tcp://b:2"}


def test_a_run_under_way_does_without_its_evaluator_and_its_backup_workers_but_not_without_a_quorum(
    tmp_path: Path,
) -> None:
    words = ("topology.num_workers=2", "topology.num_backup_workers=2", "training_evaluation.every_frames=1000")
    config = smoke_config(tmp_path, "cluster=processes", *words, experiment="smoke_dba3c")
    may_lack = dispensable(config)
    assert may_lack == ["evaluator", "worker-3", "worker-2"]
    hosts = [Offer(f"host-{i}", "machine", 1, 2**40, 8) for i in range(5)]
    for num_hosts, missing in ((5, set()), (4, {"evaluator"}), (3, {"evaluator", "worker-3"}), (2, {*may_lack})):
        plan = make_plan(config, hosts[:num_hosts], may_lack=may_lack)
        assert {demand.role for demand in plan.demands} - plan.placement.keys() == missing
    with pytest.raises(PlacementError, match="no host is left for worker-"):
        make_plan(config, hosts[:1], may_lack=may_lack)
    with pytest.raises(PlacementError):
        make_plan(config, hosts[:4])
    assert dispensable(smoke_config(tmp_path)) == []


def test_learners_whose_gradients_would_be_too_old_are_warned_of(tmp_path: Path) -> None:
    limit = "param_server.max_staleness=3"
    assert "of 2 learners many gradients will be older than param_server.max_staleness=3 updates" in printed(
        smoke_config(tmp_path, limit)
    )
    assert "older than" not in printed(smoke_config(tmp_path, "param_server.max_staleness=4"))


GATHERED = "param_server.push_every_updates=4"


@pytest.mark.parametrize(
    ("words", "updates"),
    [
        (["topology=global", "topology.num_learners=1", "param_server.learner_pull_every_updates=16"], 16),
        (["topology=global", "topology.num_learners=1", "param_server.learner_pull_every_updates=9"], None),
        (["topology=global", "topology.num_learners=1", "param_server.learner_pull_every_updates=32", GATHERED], None),
        # The actor of a bundle pulls after each step of its lanes, unless it is told otherwise.
        (["param_server.learner_pull_every_updates=64"], None),
        (["param_server.learner_pull_every_updates=64", "param_server.actor_pull_every_steps=64"], 128),
    ],
)
def test_a_learner_whose_own_updates_make_its_gradients_too_old_is_warned_of(
    words: list[str], updates: int | None, tmp_path: Path
) -> None:
    shown = printed(smoke_config(tmp_path, "param_server.max_staleness=8", *words))
    assert (f"make {updates} updates" in shown) == (updates is not None)
    assert ("updates old are thrown away" in shown) == (updates is not None)
