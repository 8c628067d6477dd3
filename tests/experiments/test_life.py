"""The decisions of a run's life, case by case; that a run keeps to them: `test_run`, `test_run_of_workers`."""

from typing import Any

import pytest

from pipeline.config.course import BudgetConfig
from pipeline.errors import (
    BrokenQuorumError,
    DivergedError,
    PipelineError,
    PlacementError,
    RemoteLostError,
    RoleFailedError,
    RunFolderError,
    SchedulerLostError,
)
from pipeline.experiments.life import (
    BUDGET,
    INTERRUPTED,
    SCORE,
    Every,
    Fail,
    HostWait,
    Life,
    Look,
    NoRoom,
    Recover,
    Saves,
    Waiting,
)

LIMITS = BudgetConfig(frames=1000, minutes=2.0, score=30.0)
UNDER_WAY = Look(num_frames=999, wall_seconds=119.9, best_mean=29.9)
LOST = RemoteLostError("shard-0 is lost with its host")


def life(budget: BudgetConfig = LIMITS, max_restarts: int = 2, *, evaluates_when_interrupted: bool = True) -> Life:
    return Life(budget, max_restarts, evaluates_when_interrupted=evaluates_when_interrupted)


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        pytest.param({}, None, id="below all limits"),
        pytest.param({"num_frames": 1000}, BUDGET, id="frames"),
        pytest.param({"wall_seconds": 120.0}, BUDGET, id="minutes"),
        pytest.param({"best_mean": 30.0}, SCORE, id="score"),
        pytest.param({"best_mean": None}, None, id="nothing was evaluated yet"),
        pytest.param({"all_left": True}, BUDGET, id="roles have left, their last frames not counted yet"),
        pytest.param({"is_interrupted": True}, INTERRUPTED, id="interrupted"),
        pytest.param({"num_frames": 1000, "best_mean": 30.0}, BUDGET, id="budget before score"),
        pytest.param({"num_frames": 1000, "is_interrupted": True}, INTERRUPTED, id="interrupted before budget"),
    ],
)
def test_a_training_ends_at_the_first_of_its_limits(seen: dict[str, Any], reason: str | None) -> None:
    assert life().end_reason(UNDER_WAY._replace(**seen)) == reason


def test_a_limit_that_is_not_set_is_never_reached() -> None:
    endless = Look(num_frames=10**12, wall_seconds=1e9, best_mean=1e9)
    assert life(BudgetConfig(frames=None, minutes=1e9, score=None)).end_reason(endless) is None


@pytest.mark.parametrize(
    ("limit", "seen", "is_reached"),
    [
        pytest.param(BUDGET, {"num_frames": 1000}, True, id="spent"),
        pytest.param(BUDGET, {}, False, id="raised since"),
        pytest.param(SCORE, {"best_mean": 31.0}, True, id="scored"),
        pytest.param(SCORE, {}, False, id="wanted more since"),
        pytest.param(BUDGET, {"best_mean": 31.0}, False, id="another limit"),
        pytest.param("error: a host", {"num_frames": 1000, "best_mean": 31.0}, False, id="ended with an error"),
        pytest.param("None", {"num_frames": 1000, "best_mean": 31.0}, False, id="was killed"),
    ],
)
def test_a_run_that_is_resumed_has_nothing_to_do_only_at_the_limit_that_it_ended_at(
    limit: str, seen: dict[str, Any], is_reached: bool
) -> None:
    assert life().has_reached(limit, UNDER_WAY._replace(**seen)) is is_reached


def test_generations_are_numbered_upwards_whatever_checkpoint_they_begin_from() -> None:
    run = life()
    assert run.begin_generation(of_checkpoint=4) == 5
    # It was lost before its first checkpoint, and the next one after it, too, whose newest checkpoint is damaged.
    assert run.begin_generation(of_checkpoint=4) == 6
    assert run.begin_generation(of_checkpoint=3) == 7
    assert run.begin_generation(of_checkpoint=7) == 8
    # As another start had, which was killed before its first checkpoint.
    assert Life(LIMITS, 2, num_begun=8).begin_generation(of_checkpoint=7) == 9


@pytest.mark.parametrize("error", [LOST, BrokenQuorumError("the shards no longer agree")])
def test_after_the_loss_of_a_shard_all_roles_go_back_to_the_newest_checkpoint(error: PipelineError) -> None:
    assert life().after_error(error) == Recover()


def test_after_one_loss_too_many_the_run_fails_and_says_how_many_there_were() -> None:
    run = life(max_restarts=2)
    assert [run.after_error(LOST) for _ in range(2)] == [Recover(), Recover()]
    follows = run.after_error(LOST)
    assert isinstance(follows, Fail) and isinstance(follows.error, RoleFailedError)
    assert str(follows.error) == "shards were lost 3 times, the last time because shard-0 is lost with its host"
    assert follows.saves == Saves.KEPT, "without all shards there is nothing newer"


def test_hosts_that_leave_because_their_time_is_over_do_not_count() -> None:
    run = life(max_restarts=1)
    assert [run.after_error(LOST, was_foreseen=True) for _ in range(5)] == [Recover()] * 5
    assert run.after_error(LOST) == Recover()
    follows = run.after_error(LOST)
    assert isinstance(follows, Fail) and "shards were lost 2 times" in str(follows.error)


def test_a_run_that_may_never_go_back_does_not_after_a_foreseen_loss_either() -> None:
    assert isinstance(life(max_restarts=0).after_error(LOST, was_foreseen=True), Fail)


def test_a_run_without_restarts_fails_at_the_first_loss() -> None:
    assert isinstance(life(max_restarts=0).after_error(LOST), Fail)


def test_a_run_that_is_told_to_end_ends_in_order_however_often_it_has_lost_a_shard() -> None:
    run = life(max_restarts=0)
    assert [run.after_error(LOST, is_interrupted=True) for _ in range(3)] == [Recover()] * 3


@pytest.mark.parametrize(
    "error", [RoleFailedError("bundle-0 failed"), RunFolderError("the disk is full"), PlacementError("no host")]
)
def test_a_run_that_fails_keeps_what_it_has_learned_and_its_error(error: PipelineError) -> None:
    assert life().after_error(error) == Fail(error, Saves.ALL)


def test_a_run_that_diverged_keeps_nothing_newer_than_its_checkpoint() -> None:
    error = RoleFailedError("bundle-0 failed")
    error.__cause__ = DivergedError("the loss is nan")
    assert life().after_error(error) == Fail(error, Saves.NOTHING)


def test_without_its_scheduler_a_run_saves_what_the_command_has_in_memory() -> None:
    error = SchedulerLostError("the scheduler does not answer any more")
    assert life(max_restarts=9).after_error(error) == Fail(error, Saves.KEPT)


def test_an_error_that_nobody_foresaw_is_no_reason_to_lose_what_was_learned() -> None:
    error = ZeroDivisionError("a cosmic ray")
    assert life().after_error(error) == Fail(error, Saves.ALL)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RoleFailedError("bundle-0 failed"), "error: bundle-0 failed"),
        (ZeroDivisionError("a cosmic ray"), "error: ZeroDivisionError: a cosmic ray"),
        (KeyboardInterrupt("Ctrl-C"), INTERRUPTED),
        (SystemExit(3), "error: SystemExit: 3"),
    ],
)
def test_every_end_has_a_reason(error: BaseException, reason: str) -> None:
    assert Life.error_reason(error) == reason


def test_an_error_of_another_kind_is_no_loss() -> None:
    run = life(max_restarts=1)
    run.after_error(RoleFailedError("bundle-0 failed"))
    assert run.after_error(LOST) == Recover()


@pytest.mark.parametrize("reason", [BUDGET, SCORE, INTERRUPTED])
@pytest.mark.parametrize("is_interrupted", [False, True])
def test_a_user_s_run_plays_its_final_games_however_its_training_ended(reason: str, is_interrupted: bool) -> None:
    run = life()
    run.begin_generation(0)
    assert run.plays_final_games(reason, is_interrupted=is_interrupted)
    assert run.final_reason(reason, has_all_games=False) == reason, "Ctrl-C has skipped games, not the training"


@pytest.mark.parametrize(
    ("reason", "is_interrupted", "plays"),
    [(BUDGET, False, True), (SCORE, False, True), (INTERRUPTED, False, False), (BUDGET, True, False)],
)
def test_a_job_that_is_to_stop_leaves_its_final_games_to_whoever_resumes_it(
    reason: str, is_interrupted: bool, plays: bool
) -> None:
    job = life(evaluates_when_interrupted=False)
    assert job.plays_final_games(reason, is_interrupted=is_interrupted) is plays


def test_a_run_that_is_told_to_end_before_its_training_begins_ends_at_once() -> None:
    assert not life().plays_final_games(INTERRUPTED, is_interrupted=True)
    assert life().plays_final_games(BUDGET, is_interrupted=False), "resumed for its final games"


def test_a_job_that_is_stopped_in_its_final_games_counts_as_interrupted() -> None:
    job = life(evaluates_when_interrupted=False)
    assert job.final_reason(BUDGET, has_all_games=False) == INTERRUPTED
    assert job.final_reason(BUDGET, has_all_games=True) == BUDGET


def test_a_host_is_waited_for_without_a_word_then_with_one_and_then_no_longer() -> None:
    wait = HostWait(begun=100.0, timeout_seconds=60.0, silent_seconds=5.0)
    looks = [wait.look(now, is_interrupted=False) for now in (100.2, 105.0, 105.3, 120.0, 160.0, 160.2)]
    again, told = NoRoom(Waiting.AGAIN, is_told=False), NoRoom(Waiting.AGAIN, is_told=True)
    assert looks == [again, again, told, again, again, NoRoom(Waiting.WITHOUT, is_told=False)]


def test_where_no_host_will_come_the_first_look_decides() -> None:
    wait = HostWait(begun=100.0, timeout_seconds=0.0, silent_seconds=5.0)
    assert wait.look(100.2, is_interrupted=False) == NoRoom(Waiting.WITHOUT, is_told=False)


@pytest.mark.parametrize("now", [100.2, 160.2], ids=["while it waits", "when it has waited for long enough"])
def test_who_is_interrupted_needs_no_other_plan(now: float) -> None:
    wait = HostWait(begun=100.0, timeout_seconds=60.0, silent_seconds=5.0)
    assert wait.look(now, is_interrupted=True).then == Waiting.KEEP


def test_what_is_due_every_so_often_is_due_at_once_and_then_never_earlier() -> None:
    every = Every(2.0)
    assert [every.is_due(now) for now in (50.0, 51.0, 51.9, 52.0, 53.9, 60.0, 61.0)] == [
        True, False, False, True, False, True, False,
    ]  # fmt: skip
