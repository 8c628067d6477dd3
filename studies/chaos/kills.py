"""What is known of one kill while its run goes on, and the row that is made of it. Logic without I/O.

Not here: killing (`studies.chaos.watched`).
"""

import math
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from studies.chaos import output
from studies.chaos.draws import Draw
from studies.chaos.judging import AfterKill, outcome
from studies.chaos.rows import DID_NOT_GO_BACK, NEEDLESS, NO, YES, KillRow


@dataclass
class Kill:
    """One of a run; times are seconds since its first start."""

    drawn: Draw
    victim: str
    """What was killed: the kind that was drawn, or another one where there was none of it."""
    address: str
    roles: tuple[str, ...]
    at: float
    update: int
    frames: int
    printed: int
    """Characters of output at that time."""
    rows_at: float | None = None
    """When a new row came; None: none has come yet."""
    has_died: bool = False
    """The command ended by a signal after it, and was typed again."""
    has_reason: bool = False
    """The command ended with a reason after it, and was typed again."""
    has_hung: bool = False


@dataclass(frozen=True)
class EndOfKills:
    """How the run of a kill went on and ended."""

    printed: str
    """All of its output."""
    ended_at: float
    has_result: bool
    checkpoints: Mapping[int, float]
    """Update -> when that checkpoint was seen first."""


def row_of(kill: Kill, after: Kill | None, end: EndOfKills, facts: Mapping[str, Any]) -> KillRow:
    """The row. `after`: the kill that came next; `facts`: the columns that say which run and which kill it is."""
    since = end.printed[kill.printed : None if after is None else after.printed]
    back = output.went_back_to(since)
    seen = AfterKill(
        has_hung=kill.has_hung,
        has_died=kill.has_died,
        has_reason=kill.has_reason,
        has_result=after is None and kill.rows_at is None and end.has_result,
        went_back=back is not None,
        started_again=output.started_again(end.printed[kill.printed :], kill.roles),
    )
    return KillRow(
        **facts,
        victim=kill.victim,
        roles=" ".join(kill.roles),
        signal=kill.drawn.signal.name,
        stop_seconds=kill.drawn.stop_seconds,
        second=kill.at,
        update=kill.update,
        frames=kill.frames,
        went_back_to=DID_NOT_GO_BACK if back is None else back,
        updates_lost=0 if back is None else max(kill.update - back, 0),
        seconds_lost=_seconds_lost(kill, back, end),
        seconds_without_rows=(end.ended_at if kill.rows_at is None else kill.rows_at) - kill.at,
        named=_named(kill, end.printed[kill.printed :], has_result=seen.has_result),
        outcome=outcome(seen),
    )


def _seconds_lost(kill: Kill, back: int | None, end: EndOfKills) -> float:
    if back is None:
        return 0.0
    if (at := end.checkpoints.get(back, math.inf)) <= kill.at:
        return kill.at - at
    # What was kept in memory is written after the kill: nobody has seen when it was taken.
    return 0.0 if back >= kill.update else math.nan


def _named(kill: Kill, since: str, *, has_result: bool) -> str:
    if output.names(since, kill.victim, kill.address, kill.roles):
        return YES
    holds_nothing = kill.victim in ("host", "nanny") and not kill.roles
    # With all rows there, the run had no more use for anybody.
    return NEEDLESS if kill.drawn.signal is signal.SIGSTOP or holds_nothing or has_result else NO
