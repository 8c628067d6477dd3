"""Placement as a pure function: wants and offers in, hosts or one clear refusal out."""

from dataclasses import replace

import pytest

from pipeline.cluster.placement import Demand, Offer, place
from pipeline.errors import PlacementError

GIB = 2**30


def host(name: str, threads: int = 1, memory: int = 8 * GIB, machine: str | None = None) -> Offer:
    return Offer(name, machine or name, threads, memory, num_cores=8)


def bundle(index: int, threads: int = 1, memory: int = GIB) -> Demand:
    return Demand(f"bundle-{index}", threads, memory)


def where(demands: list[Demand], offers: list[Offer]) -> dict[str, str]:
    return {role: offer.address for role, offer in place(demands, offers).items()}


def test_bundles_spread_over_hosts_before_they_share_one() -> None:
    placed = where([bundle(0), bundle(1), bundle(2)], [host("a", threads=2), host("b", threads=2)])
    assert placed == {"bundle-0": "a", "bundle-1": "b", "bundle-2": "a"}


def test_a_shard_beside_a_bundle_takes_its_host_and_none_of_its_threads() -> None:
    shard = Demand("shard-0", 0, 0, beside="bundle-1")
    assert where([bundle(0), bundle(1), shard], [host("a"), host("b")])["shard-0"] == "b"


def test_a_shard_apart_gets_a_host_that_nobody_else_uses() -> None:
    shard = Demand("shard-0", 1, 0, alone=True)
    placed = where([bundle(0), bundle(1), shard], [host("a", 4), host("b", 4)])
    assert placed == {"shard-0": "a", "bundle-0": "b", "bundle-1": "b"}


def test_what_does_not_fit_is_refused_with_the_wanted_and_the_offered_numbers() -> None:
    with pytest.raises(PlacementError, match=r"wants 3 threads in all; offered are 2 hosts with 2 threads .*bundle-2"):
        place([bundle(0), bundle(1), bundle(2)], [host("a"), host("b")])


def test_hosts_on_one_machine_share_its_memory() -> None:
    offers = [host("a", memory=3 * GIB, machine="m"), host("b", memory=3 * GIB, machine="m")]
    place([bundle(0, memory=GIB), bundle(1, memory=2 * GIB)], offers)
    with pytest.raises(PlacementError, match=r"want 4\.00 GiB, offered are 3\.00 GiB"):
        place([bundle(0, memory=2 * GIB), bundle(1, memory=2 * GIB)], offers)


def test_a_lost_role_moves_and_the_others_stay() -> None:
    demands = [bundle(0), bundle(1), Demand("shard-0", 0, 0, beside="bundle-0")]
    before = place(demands, [host("a"), host("b"), host("c")])
    after = place(demands, [host("a"), host("c")], keep={r: o for r, o in before.items() if r != "bundle-1"})
    assert {role: offer.address for role, offer in after.items()} == {"bundle-0": "a", "bundle-1": "c", "shard-0": "a"}


def test_a_role_that_stays_does_not_ask_for_its_memory_again() -> None:
    demands = [bundle(0, memory=2 * GIB), bundle(1, memory=GIB)]
    offers = [host("a", memory=3 * GIB, machine="m"), host("b", memory=3 * GIB, machine="m")]
    before = place(demands, offers)
    now = [host("a", memory=GIB, machine="m"), host("c", memory=GIB, machine="m")]
    after = place(demands, now, keep={"bundle-0": before["bundle-0"]})
    assert after["bundle-1"].address == "c"


def test_a_role_that_stays_counts_where_the_memory_offered_is_for_all_that_ever_stand_there() -> None:
    demands = [bundle(0, memory=2 * GIB), bundle(1, memory=2 * GIB)]
    offer = replace(host("a", threads=2, memory=3 * GIB), memory_is_total=True)
    with pytest.raises(PlacementError, match=r"want 4\.00 GiB, offered are 3\.00 GiB"):
        place(demands, [offer], keep={"bundle-0": offer})
    place(demands, [replace(offer, memory_is_total=False)], keep={"bundle-0": offer})


def gpu_host(name: str, gpus: int = 1, threads: int = 1) -> Offer:
    return replace(host(name, threads), num_gpus=gpus)


def learner(index: int) -> Demand:
    return Demand(f"learner-{index}", 1, GIB, num_gpus=1)


def test_roles_that_must_have_a_gpu_stand_where_one_is_free() -> None:
    offers = [host("a", threads=4), gpu_host("b", threads=4), gpu_host("c", threads=2)]
    assert where([learner(0), learner(1)], offers) == {"learner-0": "b", "learner-1": "c"}


def test_other_roles_leave_hosts_with_a_gpu_to_those_that_use_it() -> None:
    shard = Demand("shard-0", 1, 0, alone=True)
    offers = [gpu_host("a", gpus=2, threads=8), host("b"), host("c")]
    assert where([shard, bundle(0), learner(0)], offers) == {"shard-0": "b", "bundle-0": "c", "learner-0": "a"}


def test_other_roles_stand_on_a_host_with_a_gpu_before_they_stand_nowhere() -> None:
    assert where([bundle(0), bundle(1)], [gpu_host("a"), host("b")]) == {"bundle-0": "b", "bundle-1": "a"}


def test_roles_that_prefer_a_gpu_get_those_there_are_and_then_do_without() -> None:
    demands = [replace(bundle(index), prefers_gpu=True) for index in range(3)]
    offers = [host("a"), gpu_host("b"), host("c")]
    assert where(demands, offers) == {"bundle-0": "b", "bundle-1": "a", "bundle-2": "c"}


def test_a_role_that_only_prefers_a_gpu_takes_none_from_one_that_must_have_it() -> None:
    demands = [replace(bundle(0), prefers_gpu=True), learner(0)]
    assert where(demands, [gpu_host("a"), host("b")]) == {"bundle-0": "b", "learner-0": "a"}


def test_too_few_gpus_are_refused_with_the_wanted_and_the_offered_numbers() -> None:
    words = (
        r"wants 2 threads and 2 GPUs in all; offered are 2 hosts with 2 threads and 1 GPU .*"
        r"learner-1 with 1 threads and 1 GPU\. .*--resources GPU=1"
    )
    with pytest.raises(PlacementError, match=words):
        place([learner(0), learner(1)], [gpu_host("a"), host("b")])
    with pytest.raises(PlacementError, match="offered are 1 hosts with 1 threads and no GPU"):
        place([learner(0)], [host("a")])


def test_a_role_that_stays_keeps_its_gpu() -> None:
    demands = [learner(0), learner(1)]
    before = place(demands, [gpu_host("a", threads=2), gpu_host("b")])
    with pytest.raises(PlacementError, match="no host is left for learner-1"):
        place(demands, [gpu_host("a", threads=2)], keep={"learner-0": before["learner-0"]})


def test_no_hosts_at_all_is_refused_in_words() -> None:
    with pytest.raises(PlacementError, match="offered are 0 hosts"):
        place([bundle(0)], [])


def test_a_role_with_many_threads_gets_its_host_before_small_ones_take_it() -> None:
    demands = [Demand("actor-0", 1, 0), Demand("learner-0", 2, 0), Demand("evaluator", 2, 0)]
    assert where(demands, [host("a", 2), host("b", 3)]) == {"actor-0": "b", "learner-0": "b", "evaluator": "a"}


def in_group(demand: Demand, group: str) -> Demand:
    return replace(demand, group=group)


def test_a_role_of_a_group_goes_to_a_host_of_that_group_though_others_have_more_room() -> None:
    offers = [host("a", threads=8), replace(host("b", threads=2), groups=frozenset({"gpus"}))]
    placed = where([in_group(bundle(0), "gpus"), in_group(bundle(1), "gpus"), bundle(2)], offers)
    assert placed == {"bundle-0": "b", "bundle-1": "b", "bundle-2": "a"}


def test_roles_that_take_no_thread_are_spread_over_the_hosts_of_their_group() -> None:
    servers = [replace(host(name), groups=frozenset({"servers"})) for name in "ab"]
    shards = [in_group(Demand(f"shard-{i}", 0, GIB), "servers") for i in range(4)]
    assert list(where(shards, servers).values()) == ["a", "b", "a", "b"]


def test_a_host_of_two_groups_takes_roles_of_both() -> None:
    offers = [replace(host("a", threads=2), groups=frozenset({"x", "y"}))]
    assert where([in_group(bundle(0), "x"), in_group(bundle(1), "y")], offers) == {"bundle-0": "a", "bundle-1": "a"}


@pytest.mark.parametrize(
    ("group", "words"),
    [
        ("gpus", r"the group gpus of hosts wants 2 threads .* 1 hosts with 1 threads .*bundle-1.*--resources gpus=1"),
        (None, r"in no group of hosts wants 2 threads .* 1 hosts with 1 threads .*no host is left for bundle-1"),
    ],
)
def test_a_group_without_room_is_named_with_what_it_has(group: str | None, words: str) -> None:
    offers = [host("a"), replace(host("b"), groups=frozenset({"gpus"}))]
    demands = [replace(bundle(i), group=group) for i in range(2)]
    other = replace(bundle(2), group=None if group else "gpus")
    with pytest.raises(PlacementError, match=words):
        place([*demands, other], offers)
