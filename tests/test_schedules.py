"""Values that change at given updates, and shares of a budget."""

import pytest

from pipeline.schedules import Extent, changes_mistakes, share_spent, value_at

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


@pytest.mark.parametrize(
    ("extent", "share"),
    [
        (Extent(200.0, None), 0.25),
        (Extent(None, 120.0), 0.5),
        (Extent(200.0, 120.0), 0.5),  # the minutes are nearer
        (Extent(80.0, 120.0), 0.625),  # the steps are
        (Extent(40.0, None), 1.0),
        (Extent(None, None), 0.0),
    ],
)
def test_the_limit_that_is_nearest_tells_how_much_of_a_run_is_over(extent: Extent, share: float) -> None:
    assert extent.share(num_steps=50, wall_seconds=60.0) == share


def test_where_no_minutes_are_given_the_clock_says_nothing() -> None:
    assert Extent(200.0, None).share(50, wall_seconds=1e9) == Extent(200.0, None).share(50, wall_seconds=0.0) == 0.25
    assert share_spent() == 0.0
