"""What became of a kill, and what is wrong with a run."""

import pytest

from studies.chaos import judging
from studies.chaos.judging import AfterKill, EndOfRun, faults, outcome, rows_doubled, rows_lost

NOTHING = AfterKill(*[False] * 6)


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (NOTHING, judging.WENT_ON),
        (NOTHING._replace(has_result=True), judging.RESULT),
        (NOTHING._replace(started_again=True, has_result=True), judging.STARTED_AGAIN),
        (NOTHING._replace(went_back=True, started_again=True), judging.WENT_BACK),
        (NOTHING._replace(has_died=True, went_back=True), judging.RESUMED),
        (NOTHING._replace(has_reason=True, has_died=True), judging.REASON),
        (NOTHING._replace(has_hung=True, has_reason=True), judging.HUNG),
    ],
)
def test_the_worst_that_was_seen_is_the_outcome(seen: AfterKill, expected: str) -> None:
    assert outcome(seen) == expected


def test_rows_are_doubled_if_a_line_is_there_twice_or_lies_before_the_one_above_of_its_role() -> None:
    header = ["role", "score", "wall_seconds"]
    lines = ["a,1,1.0", "b,1,0.5", "a,2,2.0", "b,2,0.7"]
    assert rows_doubled(header, lines) == 0
    assert rows_doubled(header, [*lines, "a,2,2.0"]) == 1
    assert rows_doubled(header, [*lines, "a,3,1.5", "a,4,1.8", "a,5,2.5"]) == 2
    assert rows_doubled(["score", "wall_seconds"], ["1,2.0", "1,1.0"]) == 0


def test_rows_are_lost_that_are_neither_kept_nor_set_aside() -> None:
    assert rows_lost({"a", "b", "c"}, ["a"], ["c", "d"]) == 1


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (EndOfRun("budget", 0, False, {"rows lost": 0}), []),
        (EndOfRun("error: hosts were lost", 1, False, {}), []),
        (EndOfRun("error: hosts were lost", 1, False, {}, num_starts=6), ["no result after 6 starts"]),
        (EndOfRun(None, 1, False, {}, num_starts=9), ["no end reason", "no result after 9 starts"]),
        (EndOfRun("score", 0, False, {}, num_starts=9), []),
        (EndOfRun("budget", 1, False, {}, num_starts=9), ["exit status 1 with a result"]),
        (EndOfRun("interrupted", None, False, {}, num_starts=2), ["hung"]),
        (EndOfRun(None, 1, False, {}), ["no end reason"]),
        (EndOfRun("budget", 1, False, {}), ["exit status 1 with a result"]),
        (EndOfRun(None, None, True, {"rows lost": 2, "rows doubled": 0}), ["hung", "a traceback", "2 rows lost"]),
    ],
)
def test_what_is_wrong_with_a_run_is_said_in_words(end: EndOfRun, expected: list[str]) -> None:
    assert faults(end) == expected
