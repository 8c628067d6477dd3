"""Projection and loss of distributions, by hand and against the loop of the paper in slow NumPy."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from pipeline.algorithms.categorical import categorical_loss, categorical_targets

SUPPORT = torch.tensor([-1.0, 0.0, 1.0])
HALF_AND_HALF = [0.0, 0.5, 0.5]
"""Of returns 0 and 1."""


def logits_of(probabilities: list[float]) -> Tensor:
    """(1, 2, N): these probabilities for action 1, the first atom for action 0."""
    other = [1.0] + [0.0] * (len(probabilities) - 1)
    return torch.tensor([[other, probabilities]]).log()


def projected(probabilities: list[float], r_t: float, discount_t: float) -> list[float]:
    target = categorical_targets(
        logits_of(probabilities), torch.tensor([1]), torch.tensor([r_t]), torch.tensor([discount_t]), SUPPORT
    )
    found: list[float] = target[0].tolist()
    return found


@pytest.mark.parametrize(
    ("r_t", "discount_t", "expected"),
    [
        pytest.param(0.0, 1.0, [0.0, 0.5, 0.5], id="every atom falls on itself"),
        pytest.param(-1.0, 1.0, [0.5, 0.5, 0.0], id="every atom falls on its neighbour"),
        pytest.param(0.25, 0.5, [0.0, 0.5 * 0.75 + 0.5 * 0.25, 0.5 * 0.25 + 0.5 * 0.75], id="between atoms"),
        pytest.param(5.0, 1.0, [0.0, 0.0, 1.0], id="above the highest"),
        pytest.param(-5.0, 1.0, [1.0, 0.0, 0.0], id="below the lowest"),
        pytest.param(0.0, 0.0, [0.0, 1.0, 0.0], id="an end, on an atom"),
        pytest.param(-0.25, 0.0, [0.25, 0.75, 0.0], id="an end, between atoms"),
        pytest.param(1.0, 0.0, [0.0, 0.0, 1.0], id="an end, on the highest"),
    ],
)
def test_projection_by_hand(r_t: float, discount_t: float, expected: list[float]) -> None:
    assert projected(HALF_AND_HALF, r_t, discount_t) == pytest.approx(expected, abs=1e-7)


def slow_projection(probabilities: list[float], r_t: float, discount_t: float, support: list[float]) -> list[float]:
    """Bellemare et al. 2017, algorithm 1, atom by atom, with the case that it leaves out: z exactly on an atom."""
    lowest, highest, distance = support[0], support[-1], support[1] - support[0]
    shares = [0.0] * len(support)
    for probability, atom in zip(probabilities, support, strict=True):
        place = (min(max(r_t + discount_t * atom, lowest), highest) - lowest) / distance
        below, above = math.floor(place), math.ceil(place)
        if below == above:
            shares[below] += probability
        else:
            shares[below] += probability * (above - place)
            shares[above] += probability * (place - below)
    return shares


def test_projection_equals_the_loop_of_the_paper() -> None:
    rng = np.random.default_rng(0)
    support = np.linspace(-10, 10, 51)
    logits = rng.normal(scale=3, size=(200, 3, 51)).astype(np.float32)
    a_t = rng.integers(3, size=200)
    r_t = rng.choice([-30.0, -1.0, 0.0, 0.4, 1.0, 2.97, 30.0], size=200).astype(np.float32)
    discount_t = rng.choice([0.0, 0.99, 0.99**3, 1.0], size=200).astype(np.float32)
    found = categorical_targets(
        *map(torch.from_numpy, (logits, a_t, r_t, discount_t, support.astype(np.float32)))
    ).numpy()
    for b in range(200):
        weights = np.exp(logits[b, a_t[b]].astype(np.float64))
        expected = slow_projection(
            (weights / weights.sum()).tolist(), float(r_t[b]), float(discount_t[b]), support.tolist()
        )
        np.testing.assert_allclose(found[b], expected, atol=2e-5)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-5)
    assert (found >= 0).all()


def test_within_the_support_the_projection_keeps_the_mean() -> None:
    target = torch.tensor(projected([0.2, 0.5, 0.3], 0.1, 0.5))
    assert (target * SUPPORT).sum().item() == pytest.approx(0.1 + 0.5 * (0.3 - 0.2))


def test_no_gradient_flows_through_the_target() -> None:
    logits = torch.zeros(1, 2, 3, requires_grad=True)
    assert not categorical_targets(logits, torch.tensor([0]), torch.zeros(1), torch.ones(1), SUPPORT).requires_grad


def test_the_loss_is_the_cross_entropy_and_the_error_what_of_it_can_be_learned() -> None:
    logits = torch.tensor([[[0.0, 0.0], [5.0, -5.0]], [[0.0, 0.0], [0.0, math.log(3.0)]]])
    target = torch.tensor([[0.5, 0.5], [1.0, 0.0]])
    result = categorical_loss(logits, torch.tensor([0, 1]), target, torch.tensor([1.0, 3.0]), torch.tensor([0.0, 2.0]))
    # Predictions (1/2, 1/2) and (1/4, 3/4): the first is perfect and still has the entropy of its target as loss.
    assert result.mean_loss.item() == pytest.approx((math.log(2) + math.log(4)) / 2)
    assert result.abs_error.tolist() == pytest.approx([0.0, math.log(4)], abs=1e-6)
    assert result.mean_q.item() == 2.0
    assert result.reward_error.tolist() == [0.0, 3.0], "the targets' means are 1 and 0"


def test_the_gradient_is_prediction_minus_target_of_the_taken_action_times_its_weight() -> None:
    logits = torch.tensor([[[1.0, 2.0, 3.0], [0.0, math.log(3.0), -math.inf]]]).clamp(min=-50).requires_grad_()
    target, weight = torch.tensor([[1.0, 0.0, 0.0]]), torch.tensor([0.5])
    result = categorical_loss(logits, torch.tensor([1]), target, torch.tensor([0.0]), torch.arange(3.0), weight)
    (gradient,) = torch.autograd.grad(result.objective, logits)
    assert gradient[0, 0].tolist() == [0.0, 0.0, 0.0]
    assert gradient[0, 1].tolist() == pytest.approx([0.5 * (0.25 - 1), 0.5 * 0.75, 0.0])
    assert result.mean_loss.item() == pytest.approx(math.log(4))
    assert result.objective.item() == pytest.approx(0.5 * math.log(4))


def test_the_loss_stays_finite_where_a_prediction_is_all_but_certain_and_wrong() -> None:
    logits = torch.tensor([[[1000.0, -1000.0]]])
    result = categorical_loss(
        logits, torch.tensor([0]), torch.tensor([[0.0, 1.0]]), torch.tensor([0.0]), torch.arange(2.0)
    )
    assert result.mean_loss.item() == result.abs_error.item() == 2000.0


def test_the_error_is_never_negative() -> None:
    logits = torch.randn(1000, 1, 51, generator=torch.Generator().manual_seed(0))
    target = logits[:, 0].softmax(dim=1)
    result = categorical_loss(
        logits, torch.zeros(1000, dtype=torch.int64), target, torch.zeros(1000), torch.arange(51.0)
    )
    assert (result.abs_error >= 0).all()
    assert result.abs_error.max() < 1e-5


def test_wrong_shapes_and_precisions_are_refused() -> None:
    with pytest.raises(TypeError, match=r"logits_t is torch.float32 of shape \(2, 3\)"):
        categorical_targets(torch.zeros(2, 3), torch.zeros(2), torch.zeros(2), torch.zeros(2), SUPPORT)
    with pytest.raises(TypeError, match=r"r_t is torch.float32 of shape \(2, 1\)"):
        categorical_targets(torch.zeros(2, 1, 3), torch.zeros(2), torch.zeros(2, 1), torch.zeros(2), SUPPORT)
    with pytest.raises(TypeError, match=r"logits is torch.bfloat16"):
        categorical_loss(
            torch.zeros(2, 1, 3, dtype=torch.bfloat16), torch.tensor([0, 0]), torch.zeros(2, 3), torch.zeros(2), SUPPORT
        )
