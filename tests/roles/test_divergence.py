"""Losses that are no numbers: such gradients are held back, and too many in a row are an error."""

import math

import pytest

from pipeline.errors import DivergedError
from pipeline.roles.divergence import DivergenceGuard


def test_a_finite_loss_is_admitted_and_one_that_is_no_number_is_not() -> None:
    guard = DivergenceGuard()
    assert [guard.admits(loss, version=1) for loss in (0.5, math.nan, 1e30, math.inf, -math.inf, 0.0)] == [
        True,
        False,
        True,
        False,
        False,
        True,
    ]


def test_a_hundred_in_a_row_are_an_error_that_says_when_and_what_to_do() -> None:
    guard = DivergenceGuard()
    assert not any(guard.admits(math.nan, version=7) for _ in range(99))
    with pytest.raises(DivergedError, match=r"nan 100 times in a row at update 7: lower optimizer\.learning_rate"):
        guard.admits(math.nan, version=7)


def test_a_number_between_begins_the_count_again() -> None:
    guard = DivergenceGuard()
    for _ in range(3):
        assert not any(guard.admits(math.inf, version=7) for _ in range(99))
        assert guard.admits(1.0, version=7)
