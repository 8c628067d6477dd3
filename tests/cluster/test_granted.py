"""The part of a cluster that a run was granted."""

from pipeline.cluster.granted import GrantedHosts


def test_of_the_hosts_that_are_there_a_run_has_those_that_it_was_granted_with_its_threads() -> None:
    granted = GrantedHosts({"tcp://a:1": 1, "tcp://b:2": 2}, {})
    assert granted.among({"tcp://b:2": 8, "tcp://c:3": 8}) == {"tcp://b:2": 2}
