"""The bound of `tests.rounding` holds for sums in other orders, and not for sums of other terms."""

import pytest
import torch

from tests.rounding import assert_equal_but_for_rounding, rounding_bound


def test_sums_in_another_order_are_equal_and_a_missing_term_is_not() -> None:
    terms = torch.rand(64, 4096, generator=torch.Generator().manual_seed(0))
    expected = terms.sum(1)
    one_by_one = torch.zeros(64)
    for column in terms.T:
        one_by_one += column
    assert not torch.equal(one_by_one, expected), "both orders round alike, which tests nothing"
    assert_equal_but_for_rounding(one_by_one, expected, num_terms=4096)
    with pytest.raises(AssertionError):
        assert_equal_but_for_rounding(expected - terms[:, 0], expected, num_terms=4096)


def test_the_bound_by_hand() -> None:
    # 8 sqrt(4) 2^-23 0.5 = 2^-20.
    assert rounding_bound(torch.tensor([0.25, -0.5]), num_terms=4) == 2.0**-20
