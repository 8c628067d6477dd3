"""First values of parameters."""

import math

import numpy as np
import pytest

from pipeline.networks.network import make_network
from tests.networks.configs import network_config


def test_first_parameters_are_uniform_within_one_over_root_fan_in_and_first_sigmas_constant() -> None:
    network = make_network(network_config(noisy=True, noise_scale=0.4), 4, (84, 84), 3)
    flat = network.initial_parameters(np.random.default_rng(3))
    assert flat.dtype == np.float32
    start, num_sigmas = 0, 0
    for shape in network.shapes:
        part = flat[start : start + shape.size]
        bound = 1 / math.sqrt(shape.fan_in)
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


def test_noise_changes_no_other_first_value() -> None:
    plain, noisy = (
        make_network(network_config(noisy=noisy), 4, (84, 84), 3).initial_parameters(np.random.default_rng(0))
        for noisy in (False, True)
    )
    num_head = 16 * 3 + 3
    np.testing.assert_array_equal(noisy[: plain.size - num_head], plain[:-num_head])
    np.testing.assert_array_equal(noisy[-2 * num_head : -num_head], plain[-num_head:])
