"""Returns, loss, actions and clipping against numbers worked out by hand, and against slow NumPy in float64."""

import math

import numpy as np
import numpy.typing as npt
import pytest
import torch
from scipy import stats
from torch import Tensor

from pipeline.algorithms.actor_critic import (
    actor_critic_loss,
    clipping_factors,
    lambda_returns,
    log_probabilities,
    sample_actions,
)

FloatArray = npt.NDArray[np.float64]

ENTROPY_WEIGHT, VALUE_WEIGHT = 0.3, 0.7
BATCH, NUM_ACTIONS = 6, 4


def float32(values: object) -> Tensor:
    return torch.tensor(values, dtype=torch.float32)


def batch() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Logits, values, actions and returns at random; one action is so unlikely that the 1e-6 counts."""
    generator = torch.Generator().manual_seed(0)
    logits = 2 * torch.randn(BATCH, NUM_ACTIONS, generator=generator)
    a_tm1 = torch.randint(NUM_ACTIONS, (BATCH,), generator=generator)
    logits[0, a_tm1[0]] = -13.0
    values, return_tm1 = torch.randn(2, BATCH, generator=generator)
    return logits, values, a_tm1, return_tm1


def slow_objective(
    logits: FloatArray, values: FloatArray, advantage: FloatArray, a_tm1: list[int], returns: FloatArray
) -> float:
    """The objective step by step. `advantage` comes in apart, so that it stays when the values are moved."""
    total = 0.0
    for b in range(BATCH):
        weights = [math.exp(logit) for logit in logits[b]]
        pi = [weight / sum(weights) for weight in weights]
        policy_loss = -math.log(pi[a_tm1[b]] + 1e-6) * advantage[b]
        negative_entropy = sum(p * math.log(p + 1e-6) for p in pi)
        value_loss = (returns[b] - values[b]) ** 2 / 2
        total += policy_loss + ENTROPY_WEIGHT * negative_entropy + VALUE_WEIGHT * value_loss
    return total / BATCH


def returns_of(rewards: list[float], values: list[float], gae_lambda: float, bootstrap: float) -> list[float]:
    found = lambda_returns(np.array(rewards, np.float32), np.array(values, np.float32), 0.5, gae_lambda, bootstrap)
    assert found.dtype == np.float32
    as_list: list[float] = found.tolist()
    return as_list


def test_returns_are_discounted_rewards_and_the_value_behind_them() -> None:
    # -1 + 0.5 * 8 = 3;  0 + 0.5 * 3 = 1.5;  1 + 0.5 * 1.5 = 1.75
    assert returns_of([1.0, 0.0, -1.0], [7.0, 7.0, 7.0], 1.0, bootstrap=8.0) == [1.75, 1.5, 3.0]


def test_with_lambda_0_a_return_is_one_reward_and_the_next_value() -> None:
    assert returns_of([1.0, 0.0, -1.0], [7.0, 2.0, 4.0], 0.0, bootstrap=8.0) == [2.0, 2.0, 3.0]


def test_between_them_it_is_a_mixture() -> None:
    # 3;  0 + 0.5 * (4 / 2 + 3 / 2) = 1.75;  1 + 0.5 * (2 / 2 + 1.75 / 2) = 1.9375
    assert returns_of([1.0, 0.0, -1.0], [7.0, 2.0, 4.0], 0.5, bootstrap=8.0) == [1.9375, 1.75, 3.0]


def test_returns_less_values_are_discounted_sums_of_one_step_errors() -> None:
    # Schulman et al. 2016, equation 16, as it is written there.
    rng = np.random.default_rng(0)
    rewards, values = rng.normal(size=(2, 9)).astype(np.float32)
    behind = [*values[1:].tolist(), 0.7]
    errors = [rewards[i] + 0.9 * behind[i] - values[i] for i in range(9)]
    advantages = [sum((0.9 * 0.95) ** k * errors[i + k] for k in range(9 - i)) for i in range(9)]
    found = lambda_returns(rewards, values, 0.9, 0.95, 0.7) - values
    np.testing.assert_allclose(found, advantages, atol=1e-5)


def test_nothing_follows_the_end_of_a_game() -> None:
    assert returns_of([0.0, 2.0], [5.0, 5.0], 1.0, bootstrap=0.0) == [1.0, 2.0]
    assert returns_of([0.0, 2.0], [5.0, 4.0], 0.5, bootstrap=0.0) == [1.5, 2.0]
    assert returns_of([], [], 0.5, bootstrap=3.0) == []


def test_the_logarithm_of_an_action_s_chance_by_hand() -> None:
    logits = np.array([[0.0, math.log(3.0)], [500.0, -500.0]], np.float32)
    found = log_probabilities(logits, np.array([1, 1]))
    assert found.dtype == np.float32
    assert found.tolist() == pytest.approx([math.log(0.75), -1000.0])


def test_a_loss_by_hand() -> None:
    # Two equally likely actions; advantages 1 and -3.
    loss = actor_critic_loss(
        float32([[0.0, 0.0], [5.0, 5.0]]), float32([1.0, 2.0]), torch.tensor([0, 1]), float32([2.0, -1.0]), 0.1, 0.5
    )
    assert loss.policy_loss.item() == pytest.approx((math.log(2) * 1 + math.log(2) * -3) / 2, rel=1e-5)
    assert loss.value_loss.item() == (0.5 * 1 + 0.5 * 9) / 2
    assert loss.entropy.item() == pytest.approx(math.log(2), rel=1e-5)
    assert loss.mean_value.item() == 1.5
    assert loss.objective.item() == pytest.approx(-math.log(2) - 0.1 * math.log(2) + 0.5 * 2.5, rel=1e-5)


def test_the_objective_equals_a_slow_one_in_float64() -> None:
    logits, values, a_tm1, return_tm1 = batch()
    found = actor_critic_loss(logits, values, a_tm1, return_tm1, ENTROPY_WEIGHT, VALUE_WEIGHT).objective
    at, at_values, returns = (part.double().numpy() for part in (logits, values, return_tm1))
    expected = slow_objective(at, at_values, returns - at_values, a_tm1.tolist(), returns)
    assert found.item() == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_the_gradient_equals_finite_differences_in_float64_with_the_advantage_held_fast() -> None:
    logits, values, a_tm1, return_tm1 = batch()
    logits.requires_grad_()
    values.requires_grad_()
    loss = actor_critic_loss(logits, values, a_tm1, return_tm1, ENTROPY_WEIGHT, VALUE_WEIGHT)
    by_logits, by_values = torch.autograd.grad(loss.objective, (logits, values))

    at, at_values = logits.detach().double().numpy(), values.detach().double().numpy()
    returns, step = return_tm1.double().numpy(), 1e-6
    advantage = returns - at_values
    for index in np.ndindex(at.shape):
        sides = []
        for sign in (1, -1):
            moved = at.copy()
            moved[index] += sign * step
            sides.append(slow_objective(moved, at_values, advantage, a_tm1.tolist(), returns))
        assert by_logits[index].item() == pytest.approx((sides[0] - sides[1]) / (2 * step), rel=1e-3, abs=1e-6)
    for b in range(BATCH):
        sides = []
        for sign in (1, -1):
            moved = at_values.copy()
            moved[b] += sign * step
            sides.append(slow_objective(at, moved, advantage, a_tm1.tolist(), returns))
        assert by_values[b].item() == pytest.approx((sides[0] - sides[1]) / (2 * step), rel=1e-3, abs=1e-6)


def test_only_the_objective_carries_a_gradient() -> None:
    logits, values, a_tm1, return_tm1 = batch()
    loss = actor_critic_loss(logits.requires_grad_(), values.requires_grad_(), a_tm1, return_tm1, 0.01, 1.0)
    assert [part.requires_grad for part in loss] == [True, False, False, False, False, False]


def test_a_step_down_the_policy_loss_makes_a_good_action_likelier_and_a_bad_one_less_likely() -> None:
    logits = torch.zeros(2, 3, requires_grad=True)
    loss = actor_critic_loss(logits, torch.zeros(2), torch.tensor([1, 1]), float32([1.0, -1.0]), 0.0, 1.0)
    (gradient,) = torch.autograd.grad(loss.objective, logits)
    assert gradient[0, 1] < 0 < gradient[1, 1]


def test_entropy_draws_the_policy_towards_equal_chances() -> None:
    logits = float32([[2.0, 0.0, 0.0]]).requires_grad_()
    loss = actor_critic_loss(logits, torch.zeros(1), torch.tensor([0]), torch.zeros(1), 1.0, 1.0)
    (gradient,) = torch.autograd.grad(loss.objective, logits)
    assert gradient[0, 0] > 0 > gradient[0, 1]


def test_an_action_that_was_all_but_impossible_gives_a_bounded_loss() -> None:
    loss = actor_critic_loss(float32([[0.0, -200.0]]), torch.zeros(1), torch.tensor([1]), torch.ones(1), 0.01, 1.0)
    assert loss.policy_loss.item() == pytest.approx(-math.log(1e-6), rel=1e-4)
    assert loss.entropy.item() == pytest.approx(0.0, abs=1e-5)


@pytest.mark.parametrize(
    ("values", "returns", "expected"),
    [
        ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], 1.0),
        # A constant error explains all but the mean.
        ([2.0, 3.0, 4.0], [1.0, 2.0, 3.0], 1.0),
        ([7.0, 7.0, 7.0], [1.0, 2.0, 3.0], 0.0),
        # Errors 2, 0, -2: four times the variance of the returns.
        ([-1.0, 0.0, 1.0], [1.0, 0.0, -1.0], -3.0),
        ([1.0, 2.0, 3.0], [4.0, 4.0, 4.0], 0.0),
    ],
)
def test_the_explained_variance_is_one_where_values_foresee_returns_and_zero_where_there_is_nothing_to_foresee(
    values: list[float], returns: list[float], expected: float
) -> None:
    loss = actor_critic_loss(
        torch.zeros(3, 2), float32(values), torch.zeros(3, dtype=torch.int64), float32(returns), 0.01, 1.0
    )
    assert loss.explained_variance.item() == pytest.approx(expected, abs=1e-6)


def test_tensors_of_another_precision_or_shape_are_refused() -> None:
    actions = torch.tensor([0, 1])
    with pytest.raises(TypeError, match=r"logits is torch.bfloat16 of shape \(2, 3\)"):
        actor_critic_loss(torch.zeros(2, 3).bfloat16(), torch.zeros(2), actions, torch.zeros(2), 0.01, 1.0)
    with pytest.raises(TypeError, match=r"values is torch.float32 of shape \(2, 1\)"):
        actor_critic_loss(torch.zeros(2, 3), torch.zeros(2, 1), actions, torch.zeros(2), 0.01, 1.0)
    with pytest.raises(TypeError, match=r"return_tm1 is torch.float32 of shape \(2, 1\)"):
        actor_critic_loss(torch.zeros(2, 3), torch.zeros(2), actions, torch.zeros(2, 1), 0.01, 1.0)


def test_actions_are_drawn_as_often_as_their_probability_says() -> None:
    num_draws = 100_000
    for logits in ([0.0, 1.0, -1.0, 2.5], [3.0, 3.0, -4.0, -4.0]):  # down to 50 in 100,000
        rows = np.tile(np.array(logits, np.float32), (num_draws, 1))
        counts = np.bincount(sample_actions(rows, np.random.default_rng(0)), minlength=4)
        expected = num_draws * np.exp(logits) / np.exp(logits).sum()
        assert stats.chisquare(counts, expected).pvalue > 0.01


def test_each_lane_draws_by_its_own_logits_and_independently() -> None:
    certain = np.array([[0.0, 99.0, 0.0], [99.0, 0.0, 0.0]], np.float32)
    actions = sample_actions(certain, np.random.default_rng(0))
    assert actions.dtype == np.int64 and actions.tolist() == [1, 0]
    alike = np.zeros((1000, 2), np.float32)
    assert 400 < sample_actions(alike, np.random.default_rng(0)).sum() < 600


def test_every_call_draws_the_same_amount_from_its_stream() -> None:
    left, right = (np.random.default_rng(0) for _ in range(2))
    sample_actions(np.zeros((3, 4), np.float32), left)
    sample_actions(np.array([[9.0, 0.0, 0.0, -9.0]] * 3, np.float32), right)
    assert left.random() == right.random()


# L2 norms of tensors of 2, 4 and 1 elements: their averages are 2.5, 0.25 and 0.
NORMS, SIZES = [5.0, 1.0, 0.0], [2, 4, 1]


def test_each_tensor_is_scaled_to_its_average_norm_and_small_ones_are_left_alone() -> None:
    assert clipping_factors(float32(NORMS), SIZES, 0.5, None) == pytest.approx([0.2, 1.0, 1.0])


@pytest.mark.parametrize(
    ("max_average_norm", "norms_then"), [(None, NORMS), (0.5, [1.0, 1.0, 0.0])], ids=["by itself", "after the averages"]
)
def test_the_whole_is_scaled_to_its_norm(max_average_norm: float | None, norms_then: list[float]) -> None:
    factors = clipping_factors(float32(NORMS), SIZES, max_average_norm, max_norm=0.1)
    scale = 0.1 / math.hypot(*norms_then)
    np.testing.assert_allclose(np.multiply(factors, NORMS), np.multiply(scale, norms_then), rtol=1e-6)


def test_a_gradient_within_its_limits_is_left_alone() -> None:
    assert clipping_factors(float32(NORMS), SIZES, 2.5, 5.1) == [1.0] * 3
    assert clipping_factors(float32([0.0] * 3), SIZES, 0.1, 0.1) == [1.0] * 3
    assert clipping_factors(float32(NORMS), SIZES, None, None) == [1.0] * 3
