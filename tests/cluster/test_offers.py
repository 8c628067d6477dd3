"""What hosts offer: what they report, or what was asked for them."""

import socket
import sys
from dataclasses import replace

import pytest

from pipeline.cluster.groups import HostGroup
from pipeline.cluster.hosts import HostReport, report_host
from pipeline.cluster.offers import future_offers, offers_without_others, present_offers
from tests.clusters import cluster_config

GIB = 2**30
REPORT = HostReport("node1", 64, 100 * GIB, "a processor", "cpu", "float32", {})


def gpus(report: HostReport, kind: str = "processes") -> int:
    (offer,) = present_offers(cluster_config(kind), {"tcp://a:1": report}, {"tcp://a:1": 4})
    return offer.num_gpus


def test_a_host_offers_what_it_reports() -> None:
    config = cluster_config("ssh", memory_bytes=None)
    (offer,) = present_offers(config, {"tcp://a:1": replace(REPORT, declared_gpus=2)}, {"tcp://a:1": 4})
    assert (offer.address, offer.machine, offer.num_threads) == ("tcp://a:1", "node1", 4)
    assert (offer.memory_bytes, offer.num_cores, offer.num_gpus) == (100 * GIB, 64, 2)


def test_a_host_that_has_gone_since_it_reported_offers_nothing() -> None:
    assert present_offers(cluster_config("ssh"), {"tcp://a:1": REPORT}, {}) == []


@pytest.mark.parametrize("kind", ["slurm", "kubernetes"])
def test_a_host_in_a_job_or_a_pod_offers_what_was_asked_for_it_and_not_its_machine(kind: str) -> None:
    config = cluster_config(kind, memory_bytes=10 * GIB, host_cores=3, gpus_per_host=1)
    reports = {"tcp://a:1": REPORT, "tcp://a:2": REPORT}
    offers = present_offers(config, reports, dict.fromkeys(reports, 2))
    assert [offer.memory_bytes for offer in offers] == [8 * GIB, 8 * GIB]
    assert [offer.machine for offer in offers] == ["tcp://a:1", "tcp://a:2"]
    assert {(offer.num_threads, offer.num_cores, offer.num_gpus) for offer in offers} == {(2, 3, 1)}


def test_gpus_are_those_declared_whatever_the_host_sees() -> None:
    assert gpus(replace(REPORT, declared_gpus=1)) == 1
    assert gpus(replace(REPORT, device="cuda", declared_gpus=0)) == 0


def test_a_host_that_sees_a_gpu_and_declares_none_lets_all_its_roles_share_it() -> None:
    assert gpus(replace(REPORT, device="cuda")) == 4
    assert gpus(REPORT) == 0


def test_hosts_to_come_on_this_machine_are_foretold() -> None:
    offers = future_offers(cluster_config("processes", memory_bytes=GIB), {None: 2}, 3)
    assert offers is not None
    assert [(offer.address, offer.num_threads, offer.memory_bytes) for offer in offers] == [
        ("host-0", 3, GIB),
        ("host-1", 3, GIB),
    ]
    assert {offer.machine for offer in offers} == {socket.gethostname()}
    assert {offer.num_cores for offer in offers} == {report_host().num_cores}


@pytest.mark.parametrize("kind", ["address", "ssh"])
def test_hosts_that_only_they_themselves_know_are_never_guessed(kind: str) -> None:
    assert future_offers(cluster_config(kind), {None: 2}, 1) is None


def test_a_host_is_of_the_groups_that_it_declares_and_has_what_was_asked_for_these() -> None:
    group = HostGroup("gpus", ("learner",), memory_bytes=20 * GIB, gpus_per_host=2)
    config = cluster_config("slurm", memory_bytes=10 * GIB, groups=(group, HostGroup("other", ("actor",))))
    reports = {"a": replace(REPORT, resources=("GPU", "gpus")), "b": replace(REPORT, resources=("foreign",))}
    offers = present_offers(config, reports, dict.fromkeys(reports, 1))
    assert [(offer.groups, offer.memory_bytes, offer.num_gpus) for offer in offers] == [
        (frozenset({"gpus"}), 16 * GIB, 2),
        (frozenset(), 8 * GIB, 0),
    ]
    to_come = future_offers(config, {None: 1, "gpus": 2, "other": 0}, 1)
    assert to_come is not None
    assert [offer.address for offer in to_come] == ["host-0", "gpus-0", "gpus-1"]
    assert [offer.groups for offer in to_come] == [
        frozenset(),
        frozenset({"gpus"}),
        frozenset({"gpus"}),
    ]


def test_without_others_hosts_offer_what_was_asked_for_them_or_memory_without_a_limit() -> None:
    for memory_bytes, offered in ((GIB, GIB), (None, sys.maxsize)):
        config = cluster_config("address", memory_bytes=memory_bytes)
        offers = present_offers(config, {"tcp://a:1": REPORT}, {"tcp://a:1": 4})
        assert [offer.memory_bytes for offer in offers_without_others(offers)] == [offered]
