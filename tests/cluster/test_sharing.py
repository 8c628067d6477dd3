"""Commands on one scheduler: each sees what the others hold, and no two hold the same."""

from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace

import pytest
from distributed import Client
from distributed.comm.core import CommClosedError

from dask_jobs import grants
from dask_jobs.allocation import HostSize
from dask_jobs.needs import JobNeeds, Part
from pipeline.cluster.granted import GrantedHosts
from pipeline.cluster.placement import Demand, place
from pipeline.cluster.session import Session, open_session
from pipeline.errors import UnreachableError
from tests.clusters import cluster_config, running_cluster, wait_until

TWO = [Demand("bundle-0", 1, 2**20), Demand("bundle-1", 1, 2**20)]


@pytest.fixture
def address() -> Iterator[str]:
    """A scheduler with two hosts of two threads."""
    with running_cluster(threads_per_host=2) as cluster:
        yield cluster.scheduler_address


@pytest.fixture
def pair(address: str) -> Iterator[tuple[Session, Session]]:
    config = cluster_config("address", address=address)
    with open_session(config, 1, 1) as ours, open_session(config, 1, 1) as theirs:
        theirs.name = "gorila on Pong, seed 0"
        yield ours, theirs


def threads(session: Session, *, as_if_alone: bool = False) -> list[int]:
    return [offer.num_threads for offer in session.offers(as_if_alone=as_if_alone)]


def test_what_others_hold_is_not_offered_and_told_in_words(pair: tuple[Session, Session]) -> None:
    ours, theirs = pair
    assert ours.others() == "" and threads(ours) == [2, 2]
    assert theirs.hold(place(TWO, theirs.offers()), TWO)
    first, second = ours.hosts
    assert ours.others() == f"gorila on Pong, seed 0 (1 thread on {first}, 1 thread on {second})"
    assert threads(ours) == [1, 1] and threads(ours, as_if_alone=True) == [2, 2]
    assert theirs.others() == "" and threads(theirs) == [2, 2]


def test_of_two_plans_that_were_made_at_the_same_moment_only_one_is_held(pair: tuple[Session, Session]) -> None:
    demands = [Demand("bundle-0", 2, 0), Demand("bundle-1", 2, 0)]
    plans = [(session, place(demands, session.offers())) for session in pair]
    assert [session.hold(placement, demands) for session, placement in plans] == [True, False]
    assert pair[0].others() == ""


def test_a_server_on_a_host_of_its_own_is_held_and_a_full_host_is_no_offer(pair: tuple[Session, Session]) -> None:
    ours, theirs = pair
    demands = [Demand("shard-0", 0, 0, alone=True), Demand("bundle-0", 2, 0)]
    placement = place(demands, theirs.offers())
    assert theirs.hold(placement, demands)
    # The server computes in a thread of its callers, the host of the bundle is no offer any more.
    assert [(offer.address, offer.num_threads) for offer in ours.offers()] == [(placement["shard-0"].address, 1)]
    assert ours.open_hosts(1) == {placement["shard-0"].address} and ours.open_hosts(2) == set()
    assert theirs.open_hosts(2) == set(theirs.hosts)


def test_a_thread_of_one_who_was_told_to_end_and_has_not_is_nobody_s(pair: tuple[Session, Session]) -> None:
    ours, theirs = pair
    stays: Future[None] = Future()
    first, second = theirs.offers()
    theirs.staying.add(stays, "worker-0", first.address)
    for left in ([1, 1], [2, 1]):
        assert theirs.hold({"worker-1": second}, [Demand("worker-1", 1, 0)])
        assert threads(ours) == left
        stays.cancel()


def test_a_host_that_is_full_with_one_who_stays_keeps_nobody_from_another_host(pair: tuple[Session, Session]) -> None:
    ours, theirs = pair
    first, second = theirs.offers()
    assert ours.hold({"bundle-0": first}, [Demand("bundle-0", 1, 0)])
    assert theirs.hold({"worker-0": first}, [Demand("worker-0", 1, 0)])
    theirs.staying.add(Future(), "worker-0", first.address)
    assert theirs.hold({"worker-0": second}, [Demand("worker-0", 1, 0)])
    assert threads(ours) == [1, 1]


def test_what_is_held_later_takes_the_place_of_what_was_held_before(pair: tuple[Session, Session]) -> None:
    ours, theirs = pair
    first, second = theirs.offers()
    for offer, left in ((first, second), (second, first)):
        demand = Demand("bundle-0", 2, 0)
        assert theirs.hold({"bundle-0": offer}, [demand])
        assert [other.address for other in ours.offers()] == [left.address]


def test_what_an_evaluation_takes_is_held_beside_the_plan(pair: tuple[Session, Session]) -> None:
    ours, theirs = pair
    first, second = theirs.offers()
    assert theirs.hold({"bundle-0": first}, [Demand("bundle-0", 2, 0)])
    assert theirs.hold_also(first.address)
    assert theirs.hold_also(second.address)
    assert [(offer.address, offer.num_threads) for offer in ours.offers()] == [(second.address, 1)]
    assert not ours.hold_also(first.address) and ours.hold_also(second.address)
    assert theirs.offers()[0].num_threads == 2 and theirs.offers()[1].num_threads == 1


def test_an_evaluation_beside_one_who_stays_takes_a_thread_more(pair: tuple[Session, Session]) -> None:
    ours, theirs = pair
    first, second = theirs.offers()
    theirs.staying.add(Future(), "worker-0", first.address)
    assert theirs.hold_also(first.address) and theirs.hold_also(second.address)
    assert [(offer.address, offer.num_threads) for offer in ours.offers()] == [(second.address, 1)]
    assert not ours.hold_also(first.address)


def test_a_host_that_is_gone_is_held_by_nobody_and_stands_in_nobodys_way(pair: tuple[Session, Session]) -> None:
    ours, _ = pair
    gone = replace(ours.offers()[0], address="tcp://127.0.0.1:1")
    demands = [Demand("evaluator", 1, 0), Demand("bundle-0", 1, 0)]
    for session in pair:
        assert session.hold({"evaluator": gone, "bundle-0": session.offers()[0]}, demands)
    assert "tcp://127.0.0.1:1" not in ours.others()


def test_two_roles_that_need_the_same_gpu_are_not_both_held(pair: tuple[Session, Session]) -> None:
    demand = Demand("learner-0", 1, 0, num_gpus=1)
    placement = {"learner-0": pair[0].offers()[0]}
    assert [session.hold(placement, [demand]) for session in pair] == [True, False]


def test_a_command_that_is_gone_holds_nothing(address: str) -> None:
    config = cluster_config("address", address=address)
    with open_session(config, 1, 1) as ours:
        with open_session(config, 1, 1) as theirs:
            assert theirs.hold(place(TWO, theirs.offers()), TWO)
            assert ours.others()
        wait_until(lambda: not ours.others(), "it has left")
        assert threads(ours) == [2, 2]


def test_sweeps_and_runs_see_each_other(pair: tuple[Session, Session], address: str) -> None:
    ours, _ = pair
    sizes = [HostSize(host, 2, 2**40) for host in ours.hosts]
    with Client(address, set_as_default=False) as sweep:
        assert grants.take(sweep, 7, JobNeeds((Part(2),)), sizes) is not None
        assert "job 7 of a sweep (2 threads on " in ours.others()
        assert threads(ours) == [2]
        assert ours.hold(place([Demand("bundle-0", 2, 0)], ours.offers()), [Demand("bundle-0", 2, 0)])
        assert grants.take(sweep, 8, JobNeeds((Part(1),)), sizes) is None


def test_a_run_of_a_sweep_leaves_the_books_to_its_sweep(pair: tuple[Session, Session], address: str) -> None:
    _, theirs = pair
    assert theirs.hold(place(TWO, theirs.offers()), TWO)
    first, second = theirs.hosts
    granted = GrantedHosts({first: 1, second: 1}, {})
    with open_session(cluster_config("address", address=address), 1, 1, granted) as job:
        assert job.others() == "" and threads(job) == [1, 1] and job.open_hosts(1) == {first, second}
        assert job.hold(place(TWO, job.offers()), TWO)


def test_where_the_scheduler_cannot_keep_books_nobody_holds_anything(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(client: Client) -> None:
        raise ModuleNotFoundError("No module named 'dask_jobs'")

    monkeypatch.setattr(grants, "others", fail)
    with open_session(cluster_config("address", address=address), 1, 1) as session:
        assert session.others() == "" and threads(session) == [2, 2]
        assert session.hold(place(TWO, session.offers()), TWO)
        monkeypatch.undo()
        with Client(address, set_as_default=False) as other:
            assert grants.others(other) == []


@pytest.mark.parametrize("error", [TimeoutError(), CommClosedError("closed")])
def test_a_scheduler_that_does_not_answer_is_told_as_that(
    error: OSError, pair: tuple[Session, Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(grants, "others", fail)
    monkeypatch.setattr(grants, "hold", fail)
    with pytest.raises(UnreachableError, match="the scheduler does not answer any more"):
        pair[0].others()
    with pytest.raises(UnreachableError, match="the scheduler does not answer any more"):
        pair[0].hold_also(min(pair[0].hosts))


def test_what_is_asked_for_a_client_that_has_gone_is_held_by_nobody(pair: tuple[Session, Session]) -> None:
    ours, _ = pair
    first = ours.offers()[0]
    taken = ours.client.run_on_scheduler(
        grants._hold, "Client-gone", "a run", {first.address: Part(2)}, [HostSize(first.address, 2, 2**40)]
    )
    assert not taken and ours.others() == "" and threads(ours) == [2, 2]
