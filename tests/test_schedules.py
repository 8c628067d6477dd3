"""Values that change at given updates."""

import pytest

from pipeline.schedules import changes_mistakes, value_at

CHANGES = ((10, 0.5), (20, 0.1))


@pytest.mark.parametrize(("update", "expected"), [(0, 1.0), (9, 1.0), (10, 0.5), (19, 0.5), (20, 0.1), (2**40, 0.1)])
def test_a_value_holds_from_its_update_until_the_next_one(update: int, expected: float) -> None:
    assert value_at(1.0, CHANGES, update) == expected


def test_without_changes_the_first_value_holds_for_ever() -> None:
    assert value_at(0.25, (), 2**40) == 0.25


def test_changes_that_do_not_rise_or_are_too_small_are_named() -> None:
    assert changes_mistakes("rate", CHANGES, at_least=0.0) == changes_mistakes("rate", (), at_least=0.0) == []
    assert changes_mistakes("rate", ((0, 1.0),), at_least=0.0) == ["rate: updates [0] must be positive and rising"]
    assert changes_mistakes("rate", ((20, 0.1), (10, 0.5)), at_least=0.2) == [
        "rate: updates [20, 10] must be positive and rising",
        "rate: 0.1 at update 20 must be at least 0.2",
    ]
