"""How far two results of the same floating-point sums may lie apart when their terms are added in different orders.

Each processor has kernels of its own (AVX2, AVX-512 ...), which split and order a sum as suits them: a bound that fits
one of them by luck is too narrow for the next. Ours follows from the number of terms and the type: rounding errors of
a sum behave like a random walk of as many steps as it has terms, each of about the unit roundoff of the largest value
(Higham and Mary 2019, "A new approach to probabilistic rounding error analysis").
"""

import math

import torch

_DEVIATIONS = 8.0
"""Steps of the random walk are not independent; eight times its width is seldom left and far below any mistake."""


def assert_equal_but_for_rounding(found: torch.Tensor, expected: torch.Tensor, num_terms: int) -> None:
    """The same shape and type, and nowhere further apart than sums of `num_terms` terms may be.

    `num_terms` counts all additions on the longest way from an input to a value: of layers behind each other, the sum
    of their fan-ins; of a gradient, also the positions and examples over which it is summed.
    """
    torch.testing.assert_close(found, expected, rtol=0.0, atol=rounding_bound(expected, num_terms))


def rounding_bound(expected: torch.Tensor, num_terms: int) -> float:
    """The largest difference that `assert_equal_but_for_rounding` lets pass, in units of `expected`."""
    largest = float(expected.detach().abs().max())
    return _DEVIATIONS * math.sqrt(num_terms) * torch.finfo(expected.dtype).eps * largest
