"""First values of parameters."""

import math

import numpy as np
import pytest
import torch

from pipeline.networks.parameters import Constant, TruncatedNormal, Uniform
from pipeline.networks.replica import PolicyReplica
from tests.networks.configs import actor_critic_config, network_config


def test_first_parameters_are_uniform_within_one_over_root_fan_in_and_first_sigmas_constant() -> None:
    network = network_config(noisy=True, noise_scale=0.4).make(4, (84, 84), 3)
    flat = network.initial_parameters(np.random.default_rng(3))
    assert flat.dtype == np.float32
    start, num_sigmas = 0, 0
    for shape in network.shapes:
        part = flat[start : start + shape.size]
        if shape.name.endswith(".weight"):
            bound = 1 / math.sqrt(math.prod(shape.shape[1:]))
        if shape.name.endswith("_sigma"):
            np.testing.assert_array_equal(part, np.float32(0.4 * bound))
            num_sigmas += 1
        else:
            assert np.abs(part).max() <= bound
            if part.size > 1000:
                assert part.std() == pytest.approx(bound / math.sqrt(3), rel=0.05)
        start += part.size
    assert start == flat.size == network.num_parameters
    assert num_sigmas == 4


@pytest.mark.parametrize("of_kind", [{}, {"noisy": True}, {"dueling": True}, {"layer_norm": True}], ids=str)
def test_he_values_keep_a_signal_s_size_and_leave_no_bias(of_kind: dict[str, bool]) -> None:
    usual, he = (
        network_config(initial_weights=name, hidden_units=512, **of_kind).make(4, (84, 84), 3)
        for name in ("fan_in", "he")
    )
    assert [shape[:2] for shape in he.shapes] == [shape[:2] for shape in usual.shapes]
    starts = np.cumsum([0, *(shape.size for shape in he.shapes)])
    flat, of_usual = (network.initial_parameters(np.random.default_rng(3)) for network in (he, usual))
    for shape, start in zip(he.shapes, starts, strict=False):
        part = flat[start : start + shape.size]
        if shape.name.endswith(".weight"):
            assert np.abs(part).max() <= np.float32(math.sqrt(6 / math.prod(shape.shape[1:])))
            assert part.std() == pytest.approx(math.sqrt(2 / math.prod(shape.shape[1:])), rel=0.05)
        elif shape.name.endswith(".bias"):
            assert not part.any()
        else:
            np.testing.assert_array_equal(part, of_usual[start : start + shape.size])


def test_noise_changes_no_other_first_value() -> None:
    plain, noisy = (
        network_config(noisy=noisy).make(4, (84, 84), 3).initial_parameters(np.random.default_rng(0))
        for noisy in (False, True)
    )
    num_head = 16 * 3 + 3
    np.testing.assert_array_equal(noisy[: plain.size - num_head], plain[:-num_head])
    np.testing.assert_array_equal(noisy[-2 * num_head : -num_head], plain[-num_head:])


def test_a_truncated_normal_ends_at_two_deviations_and_is_a_normal_within() -> None:
    values = TruncatedNormal(0.03).draw(100_000, np.random.default_rng(0)).astype(np.float64)
    assert 0.0599 < np.abs(values).max() <= 0.06 * (1 + 1e-6)
    # Within two deviations a normal has 0.8796 of its deviation, and 0.6827 / 0.9545 of its values within one.
    assert values.mean() == pytest.approx(0.0, abs=3e-4)
    assert values.std() == pytest.approx(0.03 * 0.8796, rel=0.01)
    assert (np.abs(values) < 0.03).mean() == pytest.approx(0.6827 / 0.9545, abs=0.01)


def test_uniform_values_fill_their_bounds_and_constant_ones_are_all_alike() -> None:
    uniform = Uniform(0.2).draw(10_000, np.random.default_rng(0))
    assert 0.199 < np.abs(uniform).max() <= 0.2
    assert Constant(0.5).draw(3, np.random.default_rng(0)).tolist() == [0.5, 0.5, 0.5]


def test_dba3cs_convolutions_start_normal_whatever_their_fan_in_and_its_layers_in_unit_scaling() -> None:
    network = actor_critic_config(hidden_units=128).make(4, (84, 84, 3), 4)
    flat, start, deviations = network.initial_parameters(np.random.default_rng(0)), 0, {}
    for shape in network.shapes:
        deviations[shape.name] = flat[start : start + shape.size].std()
        start += shape.size
    for i in (1, 2, 3, 4):
        assert deviations[f"conv{i}.weight"] == pytest.approx(0.03 * 0.8796, rel=0.05)
    # A uniform's deviation is its bound / sqrt(3): 1.43 / sqrt(fan-in).
    assert deviations["hidden.weight"] == pytest.approx(1.43 / math.sqrt(1600), rel=0.02)
    assert deviations["head.policy.weight"] == pytest.approx(1.43 / math.sqrt(128), rel=0.1)
    assert deviations["head.policy.bias"] == deviations["head.value.bias"] == 0.0


def test_a_nature_torso_under_a_policy_starts_wide_without_biases_and_the_policy_nearly_even() -> None:
    config = actor_critic_config(torso="nature", hidden_units=512, activation="relu", policy_scale=0.01)
    network = config.make(4, (84, 84), 4)
    initial = {shape.name: shape.initial for shape in network.shapes}
    for layer, fan_in in (("conv1", 4 * 8 * 8), ("conv2", 32 * 4 * 4), ("conv3", 64 * 3 * 3)):
        assert initial[f"{layer}.weight"] == Uniform(math.sqrt(6 / fan_in))
        assert initial[f"{layer}.bias"] == Constant(0.0)
    replica = PolicyReplica(network, torch.float32, torch.device("cpu"))
    replica.load(network.initial_parameters(np.random.default_rng(0)))
    seen = np.random.default_rng(1).integers(0, 256, (8, 4, 84, 84), dtype=np.uint8)
    logits, values = replica.policy_and_value(seen)
    assert logits.softmax(dim=1).numpy() == pytest.approx(0.25, abs=0.01)
    assert values.abs().max() > 0.01, "signals do not fade on their way through the layers"
