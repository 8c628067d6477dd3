"""Roles that take turns are one demand and one role; what stands beside them stands beside it."""

from pipeline.cluster.placement import Demand
from pipeline.config.overrides import compose
from pipeline.experiments.specs import role_spec
from pipeline.topologies.turns import demands_in_turns, in_turns

WORDS = ["game=Pong", "deterministic=true", "topology.compute_threads=1"]


def test_several_roles_are_one_demand_that_holds_all_that_they_did() -> None:
    demands = [
        Demand("bundle-0", 1, 100),
        Demand("bundle-1", 1, 100),
        Demand("shard-0", 0, 7, beside="bundle-0"),
        Demand("shard-1", 0, 7, beside="bundle-1"),
        Demand("shard-2", 1, 7, alone=True),
    ]
    turns, *shards = demands_in_turns(demands)
    assert (turns.role, turns.num_threads, turns.memory_bytes) == ("turns", 1, 200)
    assert [(shard.role, shard.beside) for shard in shards] == [
        ("shard-0", "turns"),
        ("shard-1", "turns"),
        ("shard-2", None),
    ]


def test_a_lone_role_keeps_its_name() -> None:
    demands = [Demand("bundle-0", 1, 100), Demand("shard-0", 0, 7, beside="bundle-0")]
    assert demands_in_turns(demands) == demands
    config = compose([*WORDS, "experiment=dqn"])
    (role,) = in_turns(config.topology.system(role_spec(config, 1)), "desk").roles
    assert (role.name, role.index, role.plays) == ("bundle-0", 0, True)


def test_several_roles_are_one_role() -> None:
    config = compose([*WORDS, "experiment=gorila"])
    system = in_turns(config.topology.system(role_spec(config, 1)), "desk")
    assert [role.name for role in system.roles] == ["turns"]
    assert system.role.restorable and system.role.max_steps == 500_000
