"""The row of a kill, of what was seen of it."""

import math
import signal
from dataclasses import replace

import pytest

from studies.chaos import judging
from studies.chaos.draws import Draw
from studies.chaos.kills import EndOfKills, Kill, row_of
from studies.chaos.rows import DID_NOT_GO_BACK, NEEDLESS, NO, YES
from tests.studies.chaos.made_up import OF_RUN

BEFORE = "building bundle-0\n"
BACK = "shard-0 is lost with its host; all roles go back to the checkpoint of update 180, 4 newer rows\n"


def kill(which: signal.Signals = signal.SIGKILL, roles: tuple[str, ...] = ("shard-0",)) -> Kill:
    drawn = Draw("host", which, 0.0, waits=True, delay_seconds=0.0, which=0.0)
    return Kill(drawn, "host", "tcp://127.0.0.1:5", roles, at=40.0, update=200, frames=4000, printed=len(BEFORE))


def test_a_kill_that_sent_the_run_back_has_what_that_cost() -> None:
    killed = kill()
    killed.rows_at = 51.0
    end = EndOfKills(BEFORE + BACK, 90.0, has_result=True, checkpoints={0: 5.0, 180: 34.0})
    row = row_of(killed, None, end, {**OF_RUN, "number": 0})
    assert (row.went_back_to, row.updates_lost, row.seconds_lost, row.seconds_without_rows) == (180, 20, 6.0, 11.0)
    assert (row.named, row.outcome) == (YES, judging.WENT_BACK)


def test_how_old_was_what_lay_in_memory_is_not_known() -> None:
    for seen in ({}, {180: 41.0}):
        end = EndOfKills(BEFORE + BACK, 90.0, has_result=True, checkpoints=seen)
        row = row_of(kill(), None, end, {**OF_RUN, "number": 0})
        assert row.updates_lost == 20 and math.isnan(row.seconds_lost)
    newest = replace(kill(), update=180)
    for seen, seconds in (({180: 34.0}, 6.0), ({180: 41.0}, 0.0)):
        end = EndOfKills(BEFORE + BACK, 90.0, has_result=True, checkpoints=seen)
        row = row_of(newest, None, end, {**OF_RUN, "number": 0})
        assert (row.updates_lost, row.seconds_lost) == (0, seconds)


def test_what_comes_after_the_next_kill_is_the_next_one_s_but_for_the_name() -> None:
    next_one = kill()
    end = EndOfKills(BEFORE + BACK, 90.0, has_result=True, checkpoints={})
    row = row_of(kill(), next_one, end, {**OF_RUN, "number": 0})
    assert (row.went_back_to, row.updates_lost, row.seconds_lost) == (DID_NOT_GO_BACK, 0, 0.0)
    assert (row.named, row.outcome, row.seconds_without_rows) == (YES, judging.WENT_ON, 50.0)


@pytest.mark.parametrize(
    ("which", "roles", "named"),
    [(signal.SIGKILL, ("bundle-1",), NO), (signal.SIGSTOP, ("bundle-1",), NEEDLESS), (signal.SIGKILL, (), NEEDLESS)],
)
def test_what_lost_a_role_has_to_be_named(which: signal.Signals, roles: tuple[str, ...], named: str) -> None:
    end = EndOfKills(BEFORE, 90.0, has_result=False, checkpoints={})
    row = row_of(kill(which, roles), None, end, {**OF_RUN, "number": 0})
    assert (row.named, row.outcome) == (named, judging.WENT_ON)


def test_who_is_killed_when_all_rows_are_there_needs_no_word() -> None:
    end = EndOfKills(BEFORE, 90.0, has_result=True, checkpoints={})
    row = row_of(kill(), None, end, {**OF_RUN, "number": 0})
    assert (row.named, row.outcome) == (NEEDLESS, judging.RESULT)
