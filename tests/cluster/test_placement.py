"""Placement as a pure function: wants and offers in, hosts or one clear refusal out."""

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


def test_no_hosts_at_all_is_refused_in_words() -> None:
    with pytest.raises(PlacementError, match="offered are 0 hosts"):
        place([bundle(0)], [])
