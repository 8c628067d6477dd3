"""The order of jobs, on a clock that the test moves."""

import pytest

from dask_jobs.queue import JobQueue


@pytest.fixture
def queue() -> JobQueue:
    return JobQueue([4, 2, 7], num_retries=2, backoff_seconds=5.0)


def test_jobs_are_started_in_the_order_they_were_given_in(queue: JobQueue) -> None:
    started = []
    while (job := queue.next(0.0)) is not None:
        started.append(job)
        queue.start(job)
    assert started == [4, 2, 7]
    assert not queue.waiting


def test_a_job_that_is_not_started_keeps_the_later_ones_waiting(queue: JobQueue) -> None:
    assert [queue.next(0.0), queue.next(100.0)] == [4, 4]


def test_a_failed_job_pauses_twice_as_long_each_time_and_then_has_failed_for_good(queue: JobQueue) -> None:
    pauses = []
    for _ in range(3):
        queue.start(4)
        pauses.append(queue.fail(4, now=100.0))
    assert pauses == [5.0, 10.0, None]
    assert 4 not in queue.waiting


def test_a_pause_may_have_to_be_longer(queue: JobQueue) -> None:
    queue.start(4)
    assert queue.fail(4, now=100.0, least_pause=30.0) == 30.0
    assert queue.next(129.0) == 2


def test_a_job_may_have_to_wait_before_its_first_start(queue: JobQueue) -> None:
    queue.postpone(4, until=130.0)
    assert [queue.next(129.0), queue.next(130.0)] == [2, 4]


def test_others_pass_a_job_that_pauses_and_after_its_pause_it_is_before_them_again(queue: JobQueue) -> None:
    queue.start(4)
    queue.fail(4, now=100.0)
    assert queue.waiting == (4, 2, 7)
    assert [queue.next(104.9), queue.next(105.0)] == [2, 4]


def test_what_is_dropped_is_not_started(queue: JobQueue) -> None:
    queue.drop(4)
    assert queue.next(0.0) == 2
    queue.start(2)
    queue.drop_waiting()
    assert queue.next(0.0) is None and not queue.waiting
