"""Targets, errors and loss against numbers worked out by hand, and against torch's own Huber loss."""

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from pipeline.algorithms.q_learning import loss, minibatch_loss, taken_values, td_errors, td_targets

Q_TM1 = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def float32(values: object) -> Tensor:
    return torch.tensor(values, dtype=torch.float32)


def test_the_target_is_the_reward_plus_the_discounted_largest_value_and_only_the_reward_at_an_end() -> None:
    targets = td_targets(
        float32([[1.0, 5.0], [-3.0, -2.0], [7.0, 9.0]]), float32([1.0, 0.0, -1.0]), float32([0.5, 0.5, 0.0])
    )
    assert targets.tolist() == [3.5, -1.0, -1.0]


def test_no_gradient_flows_through_the_target() -> None:
    q_t_target = float32([[1.0, 5.0]]).requires_grad_()
    assert not td_targets(q_t_target, float32([0.0]), float32([0.5])).requires_grad


def test_the_taken_values_are_those_of_the_actions() -> None:
    assert taken_values(float32(Q_TM1), torch.tensor([2, 0])).tolist() == [3.0, 4.0]


def test_the_error_is_the_target_minus_the_taken_value() -> None:
    assert td_errors(float32(Q_TM1), torch.tensor([2, 0]), float32([3.5, 1.0])).tolist() == [0.5, -3.0]


@pytest.mark.parametrize(
    ("max_abs_td_error", "expected"),
    [
        (1.0, [0.0, 0.125, 0.125, 0.5, 0.5, 2.5]),
        (2.0, [0.0, 0.125, 0.125, 0.5, 0.5, 4.0]),
        (None, [0.0, 0.125, 0.125, 0.5, 0.5, 4.5]),
    ],
)
def test_the_loss_is_squared_up_to_the_limit_and_linear_beyond(
    max_abs_td_error: float | None, expected: list[float]
) -> None:
    assert loss(float32([0.0, 0.5, -0.5, 1.0, -1.0, -3.0]), max_abs_td_error).tolist() == expected


@pytest.mark.parametrize(("max_abs_td_error", "expected"), [(1.0, [0.25, -1.0, 1.0]), (None, [0.25, -1.0, 7.0])])
def test_the_derivative_of_the_loss_is_the_clipped_error(max_abs_td_error: float | None, expected: list[float]) -> None:
    td_error = float32([0.25, -1.0, 7.0]).requires_grad_()
    (derivative,) = torch.autograd.grad(loss(td_error, max_abs_td_error).sum(), td_error)
    assert derivative.tolist() == expected


@pytest.mark.parametrize("max_abs_td_error", [0.5, 1.0, 3.0])
def test_loss_and_gradient_equal_torchs_huber_loss(max_abs_td_error: float) -> None:
    generator = torch.Generator().manual_seed(0)
    q_tm1 = (3 * torch.randn(200, 4, generator=generator)).requires_grad_()
    a_tm1 = torch.randint(4, (200,), generator=generator)
    target = 3 * torch.randn(200, generator=generator)
    ours = minibatch_loss(q_tm1, a_tm1, target, max_abs_td_error).objective
    # smooth_l1 with beta is Huber's loss divided by beta.
    theirs = max_abs_td_error * functional.smooth_l1_loss(
        q_tm1[torch.arange(200), a_tm1], target, beta=max_abs_td_error
    )
    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(torch.autograd.grad(ours, q_tm1)[0], torch.autograd.grad(theirs, q_tm1)[0])


def test_the_gradient_reaches_only_the_taken_action_and_is_a_mean_over_the_minibatch() -> None:
    q_tm1 = float32(Q_TM1).requires_grad_()
    result = minibatch_loss(q_tm1, torch.tensor([2, 0]), float32([3.5, 1.0]), max_abs_td_error=1.0)
    (gradient,) = torch.autograd.grad(result.objective, q_tm1)
    assert gradient.tolist() == [[0.0, 0.0, -0.25], [0.5, 0.0, 0.0]]
    assert result.mean_loss.item() == (0.125 + 2.5) / 2


def test_the_mean_value_is_that_of_the_taken_actions_and_carries_no_gradient() -> None:
    mean_q = minibatch_loss(float32(Q_TM1).requires_grad_(), torch.tensor([2, 0]), float32([0.0, 0.0]), None).mean_q
    assert mean_q.item() == 3.5
    assert not mean_q.requires_grad


def test_one_update_equals_a_slow_one_in_numpy() -> None:
    rng = np.random.default_rng(0)
    q_tm1, q_t = rng.normal(size=(2, 50, 6)).astype(np.float32)
    a_tm1, r_t = rng.integers(6, size=50), rng.normal(size=50).astype(np.float32)
    discount_t = rng.choice([0.0, 0.99], size=50).astype(np.float32)
    losses = []
    for b in range(50):
        error = abs(r_t[b] + discount_t[b] * max(q_t[b]) - q_tm1[b][a_tm1[b]])
        losses.append(0.5 * error**2 if error <= 1 else error - 0.5)
    targets = td_targets(*map(torch.from_numpy, (q_t, r_t, discount_t)))
    result = minibatch_loss(torch.from_numpy(q_tm1), torch.from_numpy(a_tm1), targets, 1.0)
    assert result.mean_loss.item() == pytest.approx(np.mean(losses), rel=1e-6)


def test_with_a_selector_it_chooses_the_action_and_the_target_network_values_it() -> None:
    q_t_target, q_t_online = float32([[1.0, 5.0], [-3.0, -2.0]]), float32([[9.0, 8.0], [0.0, 1.0]])
    targets = td_targets(q_t_target, float32([1.0, 0.0]), float32([0.5, 0.5]), q_t_selector=q_t_online)
    assert targets.tolist() == [1.5, -1.0]


def test_a_double_target_never_exceeds_the_plain_one_and_equals_it_where_both_networks_agree() -> None:
    q_t, q_t_online = torch.randn(2, 100, 4, generator=torch.Generator().manual_seed(0))
    r_t, discount_t = torch.zeros(100), torch.ones(100)
    plain, double = td_targets(q_t, r_t, discount_t), td_targets(q_t, r_t, discount_t, q_t_online)
    assert (double <= plain).all() and (double < plain).any()
    assert torch.equal(td_targets(q_t, r_t, discount_t, q_t), plain)


def test_weights_change_the_objective_and_not_what_is_reported() -> None:
    q_tm1, a_tm1, target = float32(Q_TM1).requires_grad_(), torch.tensor([2, 0]), float32([3.5, 1.0])
    result = minibatch_loss(q_tm1, a_tm1, target, 1.0, weight=float32([1.0, 0.5]))
    assert result.objective.item() == (1.0 * 0.125 + 0.5 * 2.5) / 2
    assert result.mean_loss.item() == (0.125 + 2.5) / 2
    (gradient,) = torch.autograd.grad(result.objective, q_tm1)
    assert gradient.tolist() == [[0.0, 0.0, -0.25], [0.25, 0.0, 0.0]]


def test_the_absolute_error_is_not_clipped_and_carries_no_gradient() -> None:
    q_tm1 = float32(Q_TM1).requires_grad_()
    abs_error = minibatch_loss(q_tm1, torch.tensor([2, 0]), float32([3.5, 1.0]), 1.0).abs_error
    assert abs_error.tolist() == [0.5, 3.0]
    assert not abs_error.requires_grad


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_values_of_another_precision_are_refused(dtype: torch.dtype) -> None:
    with pytest.raises(TypeError, match=rf"q_t_target is {dtype} of shape \(1, 2\), it must be torch.float32"):
        td_targets(torch.zeros(1, 2, dtype=dtype), float32([0.0]), float32([0.0]))
    with pytest.raises(TypeError, match="q_tm1"):
        td_errors(torch.zeros(1, 2, dtype=dtype), torch.tensor([0]), float32([0.0]))
    with pytest.raises(TypeError, match="td_error"):
        loss(torch.zeros(2, dtype=dtype), 1.0)


def test_a_column_where_a_row_is_due_is_refused_instead_of_broadcast() -> None:
    with pytest.raises(
        TypeError, match=r"r_t is torch.float32 of shape \(2, 1\), it must be torch.float32 with 1 axes"
    ):
        td_targets(float32(Q_TM1), float32([[0.0], [0.0]]), float32([0.0, 0.0]))
    with pytest.raises(TypeError, match=r"weight is torch.float32 of shape \(2, 1\)"):
        minibatch_loss(float32(Q_TM1), torch.tensor([2, 0]), float32([0.0, 0.0]), 1.0, float32([[1.0], [1.0]]))
