"""Groups of hosts as values: who belongs where, how many hosts that makes, and what is wrong."""

from dataclasses import replace

import pytest

from pipeline.cluster.groups import HostGroup, declared, hosts_by_group, in_groups, kind_of, unknown_roles
from pipeline.cluster.placement import Demand
from tests.clusters import cluster_config

GPUS = HostGroup("gpus", ("learner",), gpus_per_host=1)
BIG = HostGroup("big", ("shard", "replay"), num_hosts=2)
LEARNERS = [Demand("learner-0", 1, 7), Demand("learner-1", 1, 7)]
ACTORS = [Demand("actor-0", 1, 5), Demand("actor-1", 1, 5)]
SHARDS = [Demand("shard-0", 0, 3, beside="learner-0"), Demand("replay-0", 0, 9, beside="actor-0")]


@pytest.mark.parametrize(
    ("role", "kind"), [("shard-0", "shard"), ("actor-12", "actor"), ("evaluator", "evaluator"), ("my-role", "my-role")]
)
def test_a_kind_of_role_is_its_name_without_its_number(role: str, kind: str) -> None:
    assert kind_of(role) == kind


def test_without_groups_everybody_stays_where_he_would_have_stood() -> None:
    everybody = [*LEARNERS, *ACTORS, *SHARDS]
    assert in_groups(everybody, (), host_bytes=100) == everybody


def test_a_role_leaves_the_one_it_would_stand_beside_if_that_is_in_another_group() -> None:
    placed = {demand.role: demand for demand in in_groups([*LEARNERS, *ACTORS, *SHARDS], [GPUS, BIG], host_bytes=100)}
    assert {role: demand.group for role, demand in placed.items()} == {
        "learner-0": "gpus",
        "learner-1": "gpus",
        "actor-0": None,
        "actor-1": None,
        "shard-0": "big",
        "replay-0": "big",
    }
    assert (placed["shard-0"].beside, placed["shard-0"].memory_bytes) == (None, 103)


def test_in_the_same_group_it_stays_beside() -> None:
    both = HostGroup("both", ("learner", "shard"))
    placed = in_groups([*LEARNERS, SHARDS[0]], [both], host_bytes=100)
    assert (placed[-1].beside, placed[-1].memory_bytes, placed[-1].group) == ("learner-0", 3, "both")


def test_each_group_has_the_hosts_that_it_says_or_its_roles_want() -> None:
    demands = in_groups([*LEARNERS, *ACTORS, *SHARDS], [GPUS, BIG], host_bytes=0)
    assert hosts_by_group(demands, [GPUS, BIG], None) == {None: 2, "gpus": 2, "big": 2}
    assert hosts_by_group(demands, [GPUS, BIG], 9) == {None: 5, "gpus": 2, "big": 2}
    assert hosts_by_group(demands, [], 3) == {None: 3}
    servers = [replace(BIG, num_hosts=None)]
    assert hosts_by_group(in_groups([*LEARNERS, *ACTORS, *SHARDS], servers, 0), servers, None) == {None: 4, "big": 1}


def test_a_host_declares_its_gpus_and_its_group() -> None:
    assert (declared(0, None), declared(2, None), declared(1, GPUS), declared(0, GPUS)) == (
        "",
        "GPU=2",
        "GPU=1,gpus=1",
        "gpus=1",
    )


def test_a_role_that_the_run_has_not_is_a_mistake_with_those_that_it_has() -> None:
    assert unknown_roles([HostGroup("a", ("lerner", "actor"))], ["learner-0", "actor-0", "actor-1"]) == [
        "groups: a has the role lerner, of which this run has none: it has learner, actor"
    ]


@pytest.mark.parametrize(
    ("groups", "mistake"),
    [
        ((GPUS, HostGroup("gpus", ("actor",))), "groups: gpus is named 2 times"),
        ((GPUS, HostGroup("b", ("learner",))), "groups: learner is in 2 groups, and has one"),
        ((HostGroup("GPU", ("a",)),), "groups: name=GPU must be of small letters, digits and -, and not default"),
        (
            (HostGroup("default", ("a",)),),
            "groups: name=default must be of small letters, digits and -, and not default",
        ),
        ((HostGroup("a", ()),), "groups: a has no roles: name at least one, e.g. learner"),
        ((HostGroup("a", ("b",), num_hosts=0),), "groups: num_hosts=0 of a must be at least 1"),
        ((HostGroup("a", ("b",), gpus_per_host=-1),), "groups: gpus_per_host=-1 of a must be at least 0"),
    ],
)
def test_each_mistake_in_a_group_is_told(groups: tuple[HostGroup, ...], mistake: str) -> None:
    assert cluster_config("slurm", groups=groups).mistakes() == [mistake]


def test_what_a_kind_of_cluster_cannot_give_a_group_is_a_mistake() -> None:
    queue = HostGroup("a", ("b",), partition="gpu")
    assert cluster_config("kubernetes", groups=(queue,)).mistakes() == [
        "groups: partition of a is no setting of kind=kubernetes, whose groups have name, roles, num_hosts, "
        "host_cores, memory_bytes, gpus_per_host"
    ]
    here = HostGroup("a", ("b",), memory_bytes=1)
    assert cluster_config("address", address="tcp://127.0.0.1:1", groups=(here,)).mistakes() == [
        "groups: memory_bytes of a is no setting of kind=address, whose groups have name, roles, num_hosts"
    ]
    assert cluster_config("threads", groups=(GPUS,)).mistakes() == [
        "groups: all hosts of kind=threads are alike; kinds with groups are address, slurm, kubernetes"
    ]


def test_fewer_hosts_in_all_than_in_groups_are_a_mistake() -> None:
    assert cluster_config("slurm", groups=(GPUS, BIG), num_hosts=2).mistakes() == [
        "num_hosts=2 counts all hosts, and groups have 3 hosts: raise it, or leave it null"
    ]
