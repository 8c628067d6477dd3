"""What a sweep does next, on a clock that the test moves and hosts that are values: no Dask, no process, no file."""

from collections.abc import Callable, Sequence

import pytest

from dask_jobs.allocation import HostSize
from dask_jobs.decisions import Adopt, Again, Decisions, Forget, Instruction, Over, Refused, Say, Stop, Try
from dask_jobs.ledger import DONE, FAILED, INTERRUPTED
from dask_jobs.needs import JobNeeds, Part
from dask_jobs.outcome import HOST_LOST, Outcome
from dask_jobs.settings import LauncherSettings

ONE, FOUR = JobNeeds((Part(1),)), JobNeeds((Part(4),))
HOSTS = [HostSize("a", 2, 0), HostSize("b", 2, 0)]
BOTH = {"a", "b"}
FINE, WRONG, STOPPED = Outcome(DONE), Outcome(FAILED, "ValueError: 7"), Outcome(INTERRUPTED, "stopped by Ctrl-C")


def sweep(jobs: range | tuple[int, ...] = range(3), **settings: float) -> Decisions:
    """Retries once after 5 s, stops with 30 s of patience, waits a minute for hosts, if nothing else is said."""
    return Decisions(jobs, LauncherSettings(**settings))  # type: ignore[arg-type]


def started(decisions: Decisions, **hosts: str) -> Decisions:
    """With these jobs started: `job_0="a"`."""
    for name, host in hosts.items():
        decisions.started(int(name.removeprefix("job_")), host)
    return decisions


def judged(
    decisions: Decisions, job: int, needs: JobNeeds, hosts: Sequence[HostSize], num_seen: int
) -> list[Instruction]:
    """Where all hosts take jobs."""
    return decisions.judge(job, needs, hosts, hosts, num_seen)


def test_a_job_that_fits_is_tried_and_stays_next_until_it_was_started() -> None:
    decisions = sweep()
    for _ in range(2):  # others held what it needs
        assert decisions.next(0.0) == 0
        assert judged(decisions, 0, ONE, HOSTS, 2) == [Try(0, ONE)]
    decisions.started(0, "a")
    assert decisions.next(0.0) == 1


def test_a_job_that_never_fits_is_refused_with_the_numbers_and_the_next_one_is_next() -> None:
    decisions = sweep()
    (refused,) = judged(decisions, 0, FOUR, HOSTS, 2)
    assert isinstance(refused, Refused)
    assert refused.reason.startswith(
        "the job needs 4 threads; 2 hosts offer 4 threads in all, at most 2 threads on one"
    )
    assert decisions.outcomes == {0: Outcome(FAILED, refused.reason)} and decisions.next(0.0) == 1


def test_a_job_that_would_fit_the_hosts_that_were_lost_waits_for_them_and_says_so_once() -> None:
    decisions = sweep()
    (said,) = judged(decisions, 0, FOUR, HOSTS[:1], 2)
    assert isinstance(said, Say)
    assert said.text.startswith(
        "job 0 does not fit the 1 of 2 hosts that take jobs now: it waits for paused ones, and 60 s"
    )
    assert judged(decisions, 0, FOUR, HOSTS[:1], 2) == []
    assert decisions.next(1000.0) == 0, "it keeps later ones waiting"
    assert judged(decisions, 0, FOUR, [HostSize("c", 4, 0)], 2) == [Try(0, FOUR)]


def test_where_there_is_no_host_at_all_none_is_refused() -> None:
    decisions = sweep()
    (said,) = judged(decisions, 0, ONE, [], 0)
    assert isinstance(said, Say) and said.text.startswith("job 0 does not fit the 0 of 0 hosts that take jobs now")
    assert judged(decisions, 0, ONE, [], 0) == [] and decisions.outcomes == {}


def test_a_job_that_would_fit_with_the_paused_hosts_waits_for_them_and_one_that_never_will_is_refused() -> None:
    decisions = sweep()
    two = JobNeeds((Part(2), Part(2)))
    (said,) = decisions.judge(0, two, HOSTS[:1], HOSTS, 2)
    assert isinstance(said, Say)
    (refused,) = decisions.judge(1, FOUR, HOSTS[:1], HOSTS, 2)
    assert isinstance(refused, Refused) and "2 hosts offer 4 threads in all" in refused.reason


def test_where_the_lost_hosts_are_given_up_a_job_that_waited_for_them_is_refused() -> None:
    decisions = sweep()
    judged(decisions, 0, FOUR, HOSTS[:1], 2)
    (refused,) = judged(decisions, 0, FOUR, HOSTS[:1], 1)
    assert isinstance(refused, Refused)


def test_a_job_that_is_done_is_over() -> None:
    decisions = started(sweep(range(1)), job_0="a")
    assert not decisions.is_over
    assert decisions.ended(0, FINE, 107.0) == [Over(0, FINE)]
    assert decisions.is_over and decisions.outcomes == {0: FINE}


def test_a_failed_job_starts_again_after_its_pause_and_others_pass_it() -> None:
    decisions = started(sweep(), job_0="a")
    assert decisions.ended(0, WRONG, 103.0) == [Again(0, "ValueError: 7; again in 5 s")]
    assert decisions.outcomes == {}
    assert [decisions.next(107.9), decisions.next(108.0)] == [1, 0]


def test_each_pause_is_twice_as_long_until_the_job_is_given_up() -> None:
    decisions = sweep(range(1), retries=2, backoff_seconds=4.0)
    for pause in (4, 8):
        decisions.started(0, "a")
        assert decisions.ended(0, WRONG, 1.0) == [Again(0, f"ValueError: 7; again in {pause} s")]
    decisions.started(0, "a")
    assert decisions.ended(0, WRONG, 1.0) == [Over(0, WRONG)]
    assert decisions.is_over and decisions.outcomes == {0: WRONG}


def test_a_job_that_would_fail_again_is_not_tried_again() -> None:
    decisions = started(sweep(range(1)), job_0="a")
    for_good = Outcome(FAILED, "no such game", again=False)
    assert decisions.ended(0, for_good, 101.0) == [Over(0, for_good)]
    assert decisions.is_over and decisions.outcomes == {0: for_good}


def test_a_job_whose_host_was_lost_waits_for_as_long_as_its_process_may_outlive_the_host() -> None:
    decisions = started(sweep(), job_0="a")
    assert decisions.ended(0, HOST_LOST, 101.0) == [Forget(0, "a"), Again(0, "its host was lost; again in 30 s")]
    assert [decisions.next(130.9), decisions.next(131.0)] == [1, 0]


def test_jobs_on_a_host_that_is_not_there_any_more_have_lost_it_and_no_others() -> None:
    decisions = started(sweep(), job_0="a", job_1="b", job_2="a")
    assert decisions.look(101.0, BOTH) == []
    assert decisions.look(102.0, {"b"}) == [
        Forget(0, "a"),
        Again(0, "its host was lost; again in 30 s"),
        Forget(2, "a"),
        Again(2, "its host was lost; again in 30 s"),
    ]
    assert decisions.look(103.0, {"b"}) == []


def test_a_host_that_is_lost_once_too_often_ends_its_job() -> None:
    decisions = started(sweep(range(1), retries=0), job_0="a")
    assert decisions.look(104.0, set()) == [Forget(0, "a"), Over(0, HOST_LOST)]
    assert decisions.is_over


def test_what_has_not_ended_for_good_is_unfinished() -> None:
    decisions = started(sweep(range(4), retries=1), job_0="a", job_1="b")
    decisions.ended(0, FINE, 101.0)
    decisions.ended(1, WRONG, 101.0)
    decisions.started(2, "a")
    assert decisions.unfinished == {1, 2, 3}


def test_without_fail_fast_a_failure_stops_nobody() -> None:
    decisions = started(sweep(retries=0), job_0="a", job_1="b")
    decisions.ended(0, WRONG, 101.0)
    assert decisions.look(102.0, BOTH) == [] and decisions.next(102.0) == 2


@pytest.mark.parametrize(
    "fail",
    [
        lambda decisions: decisions.ended(0, WRONG, 101.0),
        lambda decisions: decisions.ended(0, HOST_LOST, 101.0),
        lambda decisions: decisions.look(101.0, {"b"}),
    ],
    ids=["it fails", "its host is lost", "its host is missed"],
)
def test_with_fail_fast_the_first_job_that_is_given_up_stops_the_others(
    fail: Callable[[Decisions], list[Instruction]],
) -> None:
    decisions = started(sweep(retries=0, fail_fast=True), job_0="a", job_1="b")
    fail(decisions)
    assert decisions.next(1000.0) is None and not decisions.is_over
    assert decisions.look(102.0, BOTH) == [Stop(("b",), "job 0 failed, and fail_fast=true", 30.0)]
    assert not decisions.was_interrupted


def test_with_fail_fast_a_job_that_will_be_tried_again_stops_nobody() -> None:
    decisions = started(sweep(fail_fast=True), job_0="a", job_1="b")
    decisions.ended(0, WRONG, 101.0)
    assert decisions.look(102.0, BOTH) == [] and decisions.next(102.0) == 2


def test_with_fail_fast_a_job_that_cannot_be_started_stops_the_others() -> None:
    decisions = started(sweep(fail_fast=True), job_0="a")
    assert decisions.refuse(1, "no such luck") == [Refused(1, "no such luck")]
    assert decisions.look(101.0, BOTH) == [Stop(("a",), "job 1 failed, and fail_fast=true", 30.0)]
    assert not decisions.has_waiting


def test_of_two_failures_with_fail_fast_the_first_is_the_reason() -> None:
    decisions = started(sweep(retries=0, fail_fast=True), job_0="a", job_1="b", job_2="b")
    decisions.ended(1, WRONG, 101.0)
    decisions.ended(0, WRONG, 101.0)
    assert decisions.look(102.0, BOTH) == [Stop(("b",), "job 1 failed, and fail_fast=true", 30.0)]


def test_the_first_interrupt_gives_what_runs_time_and_starts_nothing_more() -> None:
    decisions = started(sweep(), job_0="a", job_1="b")
    assert decisions.interrupted() == [Say("stopping 2 running jobs, for at most 30 s; Ctrl-C again kills them")]
    assert decisions.was_interrupted and decisions.next(1000.0) is None
    stop = Stop(("a", "b"), "stopped by Ctrl-C", 30.0)
    assert [decisions.look(now, BOTH) for now in (101.0, 101.5)] == [[stop], [stop]], "it is said until all have ended"
    decisions.ended(0, STOPPED, 103.0)
    assert decisions.look(103.0, BOTH) == [stop._replace(hosts=("b",))]
    decisions.ended(1, STOPPED, 104.0)
    assert decisions.is_over and decisions.outcomes == {0: STOPPED, 1: STOPPED}


def test_the_second_interrupt_kills_what_runs() -> None:
    decisions = started(sweep(), job_0="a")
    decisions.interrupted()
    assert decisions.interrupted() == []
    assert decisions.look(101.0, BOTH) == [Stop(("a",), "killed by Ctrl-C", 0.0)]


def test_an_interrupt_stays_what_it_is_when_a_job_fails_of_it() -> None:
    decisions = started(sweep(fail_fast=True), job_0="a", job_1="b")
    decisions.interrupted()
    decisions.interrupted()
    assert decisions.ended(0, WRONG, 101.0) == [Over(0, WRONG)], "it is not tried again"
    assert decisions.look(101.0, BOTH) == [Stop(("b",), "killed by Ctrl-C", 0.0)]


def test_an_interrupt_while_nothing_runs_ends_the_sweep_at_once() -> None:
    decisions = sweep()
    decisions.interrupted()
    assert decisions.is_over and decisions.look(0.0, BOTH) == []


def test_orphans_start_when_what_is_left_of_them_has_had_time_to_end_and_others_at_once() -> None:
    decisions = sweep(stop_seconds=10.0)
    decisions.postpone([0, 2], 100.0)
    assert decisions.next(100.0) == 1
    decisions.started(1, "a")
    assert [decisions.next(109.9), decisions.next(110.0)] == [None, 0]


def test_orphans_that_were_not_started_are_adopted_once_nothing_of_them_can_run() -> None:
    decisions = sweep((4, 7, 9, 11), stop_seconds=10.0)
    decisions.postpone([9, 4, 7], 100.0)
    assert decisions.look(109.9, BOTH) == []
    decisions.started(7, "a")
    assert decisions.look(110.0, BOTH) == [Adopt((4, 9))]
    assert decisions.look(111.0, BOTH) == []


def test_spare_processes_are_of_use_while_jobs_wait() -> None:
    decisions = started(sweep(range(1)), job_0="a")
    assert not decisions.has_waiting
    decisions.ended(0, WRONG, 101.0)
    assert decisions.has_waiting
