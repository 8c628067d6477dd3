"""Who holds what of the hosts that several commands share. What programs that are no jobs hold: tests/cluster."""

from collections.abc import Iterator

import pytest
from distributed import Client

from dask_jobs.allocation import Allocation, HostSize
from dask_jobs.grants import give_back, take
from dask_jobs.needs import JobNeeds, Part
from tests.clusters import wait_until


@pytest.fixture
def two_clients(scheduler_address: str) -> Iterator[tuple[Client, Client]]:
    with (
        Client(scheduler_address, set_as_default=False) as first,
        Client(scheduler_address, set_as_default=False) as second,
    ):
        yield first, second


def test_what_was_taken_for_jobs_that_do_not_run_is_free(two_clients: tuple[Client, Client]) -> None:
    first, _ = two_clients
    hosts, needs = [HostSize("a", 3, 100)], JobNeeds((Part(2),))
    # Its answer was never heard.
    assert take(first, 0, needs, hosts) is not None
    assert take(first, 0, needs, hosts) is None
    assert take(first, 0, needs, hosts, running=()) is not None
    assert take(first, 1, JobNeeds((Part(1),)), hosts, running=(0,)) is not None
    assert take(first, 2, needs, hosts, running=(0, 1)) is None


def test_commands_that_share_a_cluster_share_its_threads_and_who_goes_leaves_them(
    two_clients: tuple[Client, Client],
) -> None:
    first, second = two_clients
    hosts, needs = [HostSize("a", 3, 100)], JobNeeds((Part(2),))
    granted = Allocation({"a": Part(2)}, ("a",))
    assert take(first, 0, needs, hosts) == granted
    assert take(second, 0, needs, hosts) is None
    give_back(first, 0)
    assert take(second, 0, needs, hosts) == granted
    assert take(first, 1, needs, hosts) is None
    second.close()
    wait_until(lambda: take(first, 1, needs, hosts) is not None, "what a command held is free when it is gone")
