"""What became of a kill, and what is wrong with a run that has ended. Logic without I/O.

rows doubled    the same line twice in a file, or a row that was made before its forerunner of the same role: it is
                of a time that the run went back behind
rows lost       a line that once was in a file and is neither there nor in discarded/
"""

import csv
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

WENT_ON, STARTED_AGAIN, WENT_BACK = "went on", "role started again", "went back to a checkpoint"
RESULT, RESUMED, REASON, HUNG = "came to its result", "typed again", "ended with a reason, typed again", "hung"
OUTCOMES = (WENT_ON, STARTED_AGAIN, WENT_BACK, RESULT, RESUMED, REASON, HUNG)
"""Of a kill: the run went on as if nothing were, and so on; "typed again" by us, with resume=true."""
ENDED = ("budget", "score")
"""What `run.json` says of a run that has its result."""


class AfterKill(NamedTuple):
    """What was seen from one kill to the next, or to the end."""

    has_hung: bool
    has_died: bool
    """The command has ended without a word: it was killed itself."""
    has_reason: bool
    """The command has ended with a reason that is no result."""
    has_result: bool
    went_back: bool
    started_again: bool


def outcome(seen: AfterKill) -> str:
    """One of OUTCOMES: the first that is true, the worst one first."""
    if seen.has_hung:
        return HUNG
    if seen.has_reason:
        return REASON
    if seen.has_died:
        return RESUMED
    if seen.went_back:
        return WENT_BACK
    if seen.started_again:
        return STARTED_AGAIN
    return RESULT if seen.has_result else WENT_ON


def rows_doubled(header: Sequence[str], lines: Sequence[str]) -> int:
    """Lines of one file that are there twice, and those whose time lies before that of the row above of their role.

    A file without the columns `role` and `wall_seconds` is looked at for lines alone.
    """
    doubled = sum(count - 1 for count in Counter(lines).values())
    if not {"role", "wall_seconds"} <= set(header):
        return doubled
    newest: dict[str, float] = {}
    for row in csv.DictReader(dict.fromkeys(lines), fieldnames=header):
        role, seconds = row["role"], float(row["wall_seconds"])
        doubled += seconds < newest.get(role, 0.0)
        newest[role] = max(seconds, newest.get(role, 0.0))
    return doubled


def rows_lost(seen: AbstractSet[str], kept: Iterable[str], discarded: Iterable[str]) -> int:
    """How many of the lines that were seen are nowhere any more."""
    return len(seen - set(kept) - set(discarded))


class EndOfRun(NamedTuple):
    """What is there when a run has come to its end."""

    end_reason: str | None
    """What `run.json` says; None: nothing."""
    exit_status: int | None
    """Of the last command; None: it hung."""
    has_traceback: bool
    """A traceback stands in the output."""
    counts: Mapping[str, int]
    """"rows doubled" and the like -> how many; all are to be 0."""
    num_starts: int = 0
    """How often the command was typed until it was left as it is; 0: it may be typed again."""


def faults(end: EndOfRun) -> list[str]:
    """What is wrong with it, in words; nothing is."""
    found = []
    if end.exit_status is None:
        found.append("hung")
    elif not end.end_reason:
        found.append("no end reason")
    elif end.end_reason in ENDED and end.exit_status != 0:
        found.append(f"exit status {end.exit_status} with a result")
    if end.exit_status is not None and end.num_starts and end.end_reason not in ENDED:
        # One start may end with a reason after a kill, and not all that are behind the last one.
        found.append(f"no result after {end.num_starts} starts")
    if end.has_traceback:
        found.append("a traceback")
    return found + [f"{count} {what}" for what, count in end.counts.items() if count]
