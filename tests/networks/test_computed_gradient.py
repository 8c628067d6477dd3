"""A gradient with factors is the dense one: its norms, scaled, and multiplied out."""

from typing import Any

import numpy as np
import pytest
import torch

from pipeline.networks.computed_gradient import ComputedGradient, product_norm
from pipeline.networks.replica import PolicyReplica, QReplica
from pipeline.types import FactoredGradient, Float32Array
from tests.networks.configs import actor_critic_config, network_config
from tests.networks.test_written_out import (
    BATCH_SIZE,
    CPU,
    FRAMES,
    HIDDEN_UNITS,
    NUM_ACTIONS,
    assert_alike,
    loaded,
    policy_loss,
    q_loss,
)

POLICY = actor_critic_config(torso="nature", activation="relu", hidden_units=HIDDEN_UNITS)


def q_replica(dtype: torch.dtype, **changes: Any) -> QReplica:
    network = network_config(hidden_units=HIDDEN_UNITS, **changes).make(4, (84, 84), NUM_ACTIONS)
    replica: QReplica = loaded(QReplica(network, dtype, CPU), network)
    return replica


def of_q(dtype: torch.dtype, factored: bool) -> tuple[QReplica, ComputedGradient]:
    replica = q_replica(dtype)
    return replica, replica.computed_gradient(q_loss(replica.outputs(FRAMES)), factored=factored)


def of_policy(dtype: torch.dtype, factored: bool) -> tuple[PolicyReplica, ComputedGradient]:
    network = POLICY.make(4, (84, 84), NUM_ACTIONS)
    replica: PolicyReplica = loaded(PolicyReplica(network, dtype, CPU), network)
    return replica, replica.computed_gradient(policy_loss(*replica.outputs(FRAMES)), factored=factored)


def multiplied_out(gradient: ComputedGradient) -> torch.Tensor:
    sent = gradient.as_sent()
    assert isinstance(sent, FactoredGradient)
    rest, delta, inputs = (torch.from_numpy(part) for part in (sent.rest, sent.delta, sent.inputs))
    product = torch.mm(delta.t(), inputs).flatten()
    return torch.cat([rest[: sent.start], product, rest[sent.start :]])


def flat(gradient: ComputedGradient) -> torch.Tensor:
    sent = gradient.as_sent()
    assert isinstance(sent, np.ndarray)
    return torch.from_numpy(sent)


@pytest.mark.parametrize("made", [of_q, of_policy])
def test_multiplied_out_it_is_the_dense_one_bit_for_bit(made: Any) -> None:
    (_, dense), (_, factored) = made(torch.float32, False), made(torch.float32, True)
    assert torch.equal(multiplied_out(factored), flat(dense))


@pytest.mark.parametrize("made", [of_q, of_policy])
def test_of_bfloat16_factors_the_product_is_the_dense_one_before_it_is_rounded(made: Any) -> None:
    (replica, dense), (_, factored) = made(torch.bfloat16, False), made(torch.bfloat16, True)
    assert_alike(multiplied_out(factored), flat(dense), replica, torch.bfloat16)


@pytest.mark.parametrize("made", [of_q, of_policy])
def test_its_norms_are_those_of_the_dense_one(made: Any) -> None:
    (_, dense), (_, factored) = made(torch.float32, False), made(torch.float32, True)
    torch.testing.assert_close(factored.tensor_norms(), dense.tensor_norms(), rtol=1e-5, atol=0.0)
    assert factored.norm() == pytest.approx(dense.norm(), rel=1e-5)


@pytest.mark.parametrize("made", [of_q, of_policy])
def test_it_is_scaled_as_the_dense_one(made: Any) -> None:
    (replica, dense), (_, factored) = made(torch.float32, False), made(torch.float32, True)
    factors = [1.0 / (2 + index) for index in range(len(dense.tensors))]
    for gradient in (dense, factored):
        gradient.scale(0.3)
        gradient.scale_tensors([1.0, *factors[1:]])
    assert_alike(multiplied_out(factored), flat(dense), replica, torch.float32)


def test_the_factors_outlive_the_next_gradient() -> None:
    replica, first = of_q(torch.float32, True)
    sent = first.as_sent()
    assert isinstance(sent, FactoredGradient)
    before = [np.array(part) for part in sent]
    replica.computed_gradient(q_loss(replica.outputs(FRAMES[::-1].copy())), factored=True)
    for part, as_it_was in zip(sent, before, strict=True):
        np.testing.assert_array_equal(part, as_it_was)
    assert sent.delta.shape == (BATCH_SIZE, HIDDEN_UNITS)


def test_after_a_gradient_with_factors_a_dense_one_is_whole_again() -> None:
    replica, _ = of_q(torch.float32, True)
    again = replica.computed_gradient(q_loss(replica.outputs(FRAMES)), factored=False)
    assert torch.equal(flat(again), flat(of_q(torch.float32, False)[1]))


def test_a_network_whose_gradient_is_autograd_s_has_no_factors() -> None:
    replica = q_replica(torch.float32, dueling=True)
    with pytest.raises(ValueError, match=r"param_server\.wire=dense"):
        replica.computed_gradient(q_loss(replica.outputs(FRAMES)), factored=True)


def drawn(*shape: int) -> Float32Array:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("batch_size", [1, 7, 40])
def test_the_norm_of_a_product_follows_from_its_factors(batch_size: int) -> None:
    delta, inputs = torch.from_numpy(drawn(batch_size, 5)), torch.from_numpy(drawn(batch_size, 9))
    expected = (delta.double().t() @ inputs.double()).norm()
    assert product_norm(delta, inputs).item() == pytest.approx(expected.item(), rel=1e-12)


def test_terms_that_cancel_leave_a_small_norm_and_no_root_of_a_negative_number() -> None:
    row, other = drawn(1, 300), drawn(1, 500)
    delta = torch.from_numpy(np.concatenate([row, -row, row * np.float32(1e-4)]))
    inputs = torch.from_numpy(np.concatenate([other, other, other]))
    expected = (delta.double().t() @ inputs.double()).norm().item()
    assert product_norm(delta, inputs).item() == pytest.approx(expected, rel=1e-6)
    for seed in range(20):
        # All terms cancel: what rounding leaves of their sum has either sign.
        rng = np.random.default_rng(seed)
        row, other = (rng.standard_normal((1, size)).astype(np.float32) for size in (300, 500))
        delta = torch.from_numpy(np.concatenate([row, 2 * row, 4 * row, -7 * row]))
        norm = product_norm(delta, torch.from_numpy(np.concatenate([other] * 4))).item()
        assert norm == pytest.approx(0.0, abs=1e-2)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_factor_that_is_no_number_makes_a_norm_that_is_none(value: float) -> None:
    delta, inputs = torch.from_numpy(drawn(4, 5)), torch.from_numpy(drawn(4, 9))
    delta[1, 2] = value
    assert not np.isfinite(product_norm(delta, inputs).item())
