"""Importance weights and their exponent's schedule."""

import numpy as np
import pytest
import torch

from pipeline.algorithms.importance import importance_exponent, importance_weights


def test_weights_by_hand() -> None:
    # Chances 2/4, 1/4, 1/8 and 1/8 of four transitions.
    relative_chance = torch.tensor([2.0, 1.0, 0.5, 0.5])
    assert importance_weights(relative_chance, 1.0).tolist() == [0.25, 0.5, 1.0, 1.0]
    assert importance_weights(relative_chance, 0.5).tolist() == pytest.approx([0.5, 0.5**0.5, 1.0, 1.0])
    assert importance_weights(relative_chance, 0.0).tolist() == [1.0] * 4


def test_weights_equal_the_formula_of_the_paper_in_numpy() -> None:
    rng = np.random.default_rng(0)
    num_transitions, exponent = 1000, 0.4
    chances = rng.dirichlet(np.ones(num_transitions))
    drawn = rng.choice(num_transitions, size=32, p=chances)
    weights = (1 / num_transitions / chances[drawn]) ** exponent
    relative_chance = torch.from_numpy((chances[drawn] * num_transitions).astype(np.float32))
    np.testing.assert_allclose(
        importance_weights(relative_chance, exponent).numpy(), weights / weights.max(), rtol=1e-5
    )


def test_weights_of_tiny_chances_are_finite() -> None:
    weights = importance_weights(torch.tensor([1e-38, 1e3]), 1.0)
    assert weights.tolist() == [1.0, 0.0]


def test_with_full_weights_an_unequal_sample_has_the_mean_of_an_equal_one() -> None:
    # Expectation under the chances p, of values weighted by 1/(N p): no sampling, exact.
    chances, values = torch.tensor([0.5, 0.25, 0.25]), torch.tensor([1.0, 2.0, 6.0])
    weights = importance_weights(3 * chances, 1.0)
    scale = weights[0] * 3 * chances[0]
    assert (chances * weights * values).sum() / scale == pytest.approx(values.mean().item())


@pytest.mark.parametrize(("version", "expected"), [(0, 0.4), (50, 0.7), (100, 1.0), (2**40, 1.0)])
def test_the_exponent_grows_on_a_line_and_stays_at_one(version: int, expected: float) -> None:
    assert importance_exponent(0.4, 100, version) == pytest.approx(expected)


def test_chances_of_another_shape_are_refused() -> None:
    with pytest.raises(TypeError, match=r"relative_chance is torch.float32 of shape \(2, 1\)"):
        importance_weights(torch.ones(2, 1), 1.0)
