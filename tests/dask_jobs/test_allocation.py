"""Which hosts a job gets, in numbers small enough to place by hand."""

import pytest

from dask_jobs.allocation import Allocation, HostSize, allocate, free_hosts, refusal
from dask_jobs.needs import JobNeeds, Part


def held(allocation: Allocation | None) -> dict[str, Part] | None:
    """What is held of each host."""
    return None if allocation is None else allocation.hosts


SMALL, LARGE = HostSize("small", 2, 100), HostSize("large", 8, 100)
WITH_GPU = HostSize("gpu", 2, 100, num_gpus=2)


def test_a_job_goes_to_the_smallest_host_that_holds_all_of_it() -> None:
    assert held(allocate(JobNeeds((Part(1), Part(1))), [LARGE, SMALL])) == {"small": Part(2)}
    assert held(allocate(JobNeeds((Part(2), Part(1))), [LARGE, SMALL])) == {"large": Part(3)}


def test_a_job_without_gpus_leaves_hosts_that_have_some_to_others() -> None:
    assert held(allocate(JobNeeds((Part(1),)), [WITH_GPU, LARGE])) == {"large": Part(1)}
    assert held(allocate(JobNeeds((Part(1, num_gpus=1),)), [LARGE, WITH_GPU])) == {"gpu": Part(1, num_gpus=1)}


def test_parts_are_spread_over_few_hosts_and_never_cut_in_two() -> None:
    four = [HostSize(name, 4, 100) for name in "abc"]
    assert held(allocate(JobNeeds((Part(1), Part(3), Part(3), Part(1))), four)) == {"a": Part(4), "b": Part(4)}
    assert allocate(JobNeeds((Part(5),)), four) is None


def test_parts_that_only_fit_side_by_side_where_they_fit_tightly_are_placed_so() -> None:
    hosts = [HostSize("six", 6, 100), HostSize("five", 5, 100)]
    assert held(allocate(JobNeeds((Part(5), Part(3), Part(3))), hosts)) == {"six": Part(6), "five": Part(5)}


def test_every_part_has_its_seat_and_the_host_of_the_first_comes_first() -> None:
    hosts = [HostSize("a", 4, 100), HostSize("b", 4, 100)]
    allocation = allocate(JobNeeds((Part(2, 1), Part(3, 2), Part(2, 4))), hosts)
    assert allocation is not None
    assert list(allocation.hosts.items()) == [("b", Part(4, 5)), ("a", Part(3, 2))]
    assert allocation.seats == ("b", "a", "b")


@pytest.mark.parametrize(
    ("needs", "fits"),
    [
        ((Part(2, 100),), True),
        ((Part(2, 101),), False),
        ((Part(3, 1),), False),
        ((Part(1, 1, num_gpus=3),), False),
        ((Part(2), Part(2)), False),
    ],
)
def test_threads_memory_and_gpus_must_all_be_there(needs: tuple[Part, ...], fits: bool) -> None:
    assert (allocate(JobNeeds(needs), [WITH_GPU]) is not None) is fits


def test_what_others_hold_is_not_free_and_what_they_held_of_lost_hosts_does_not_count() -> None:
    taken = [{"small": Part(1, 40)}, {"large": Part(8, 10), "lost": Part(4)}]
    assert free_hosts([SMALL, LARGE], taken) == [HostSize("small", 1, 60), HostSize("large", 0, 90)]


def test_a_host_that_another_command_believes_to_be_larger_has_nothing_free_and_not_less() -> None:
    assert free_hosts([SMALL], [{"small": Part(1, 140)}]) == [HostSize("small", 1, 0)]


def test_a_refusal_has_the_wanted_and_the_offered_numbers() -> None:
    assert refusal(JobNeeds((Part(4, 2**30, 1),)), [SMALL, WITH_GPU]) == (
        "the job needs 4 threads and 1.00 GiB and 1 GPU; 2 hosts offer 4 threads and 0.00 GiB and 2 GPUs in all, at "
        "most 2 threads and 0.00 GiB and 2 GPUs on one. Lower what it needs, or give the cluster more or larger hosts"
    )
