"""Fully connected layers: plain ones against torch, noisy ones against the formula with a noisy weight."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from pipeline.networks.linear import NO_NOISE, LayerNoise, Linear
from pipeline.networks.parameters import Constant, Tensors, Uniform
from tests.rounding import assert_equal_but_for_rounding

PLAIN = Linear("layer", num_inputs=3, num_outputs=2, noise_scale=None)
NOISY = Linear("layer", num_inputs=3, num_outputs=2, noise_scale=0.5)
X = torch.tensor([[1.0, 2.0, 3.0], [0.0, -1.0, 1.0]])


def by_hand() -> dict[str, torch.Tensor]:
    return {
        "layer.weight": torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]]),
        "layer.bias": torch.tensor([10.0, 20.0]),
        "layer.weight_sigma": torch.tensor([[1.0, 1.0, 1.0], [2.0, 0.0, 0.0]]),
        "layer.bias_sigma": torch.tensor([1.0, 3.0]),
    }


def at_random(layer: Linear) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return {shape.name: torch.randn(shape.shape, generator=generator) for shape in layer.shapes()}


def noisy_weight_output(parameters: Tensors, x: torch.Tensor, noise: LayerNoise) -> torch.Tensor:
    """Fortunato et al. 2018, equation 9, with the noise of equations 10 and 11 written out."""
    weight = parameters["layer.weight"] + parameters["layer.weight_sigma"] * torch.outer(noise.outputs, noise.inputs)
    bias = parameters["layer.bias"] + parameters["layer.bias_sigma"] * noise.outputs
    return x @ weight.T + bias


def test_a_plain_layer_is_torchs_linear() -> None:
    layer = nn.Linear(3, 2)
    ours = PLAIN({"layer.weight": layer.weight, "layer.bias": layer.bias}, X, NO_NOISE)
    assert torch.equal(ours, layer(X))


def test_without_noise_a_noisy_layer_is_its_mean() -> None:
    assert NOISY(by_hand(), X, NO_NOISE).tolist() == [[11.0, 25.0], [10.0, 20.0]]


def test_noise_by_hand() -> None:
    noise = {"layer": LayerNoise(inputs=torch.tensor([1.0, 0.0, -1.0]), outputs=torch.tensor([2.0, -1.0]))}
    # First row of x: the noise adds 2 (1 (1 - 3) + 1) = -2 to the first output and -1 (2 + 3) = -5 to the second.
    assert NOISY(by_hand(), X, noise).tolist() == [[11.0 - 2.0, 25.0 - 5.0], [10.0 + 0.0, 20.0 - 3.0]]


def test_values_and_gradients_equal_those_of_a_noisy_weight() -> None:
    layer = Linear("layer", num_inputs=20, num_outputs=7, noise_scale=0.5)
    noise = layer.draw_noise(torch.Generator().manual_seed(1))
    x = torch.randn(5, 20, generator=torch.Generator().manual_seed(2))
    parameters = {name: value.requires_grad_() for name, value in at_random(layer).items()}
    ours, theirs = layer(parameters, x, {"layer": noise}), noisy_weight_output(parameters, x, noise)
    assert_equal_but_for_rounding(ours, theirs, num_terms=20)
    for mine, other in zip(
        torch.autograd.grad(ours.square().sum(), list(parameters.values())),
        torch.autograd.grad(theirs.square().sum(), list(parameters.values())),
        strict=True,
    ):
        assert_equal_but_for_rounding(mine, other, num_terms=20 + 5 * 7)


def test_noise_is_a_signed_root_of_normal_numbers() -> None:
    noise = Linear("layer", 50_000, 50_000, 0.5).draw_noise(torch.Generator().manual_seed(0))
    for part in noise:
        squared = (part.sign() * part.square()).numpy()
        assert squared.mean() == pytest.approx(0.0, abs=0.02)
        assert squared.std() == pytest.approx(1.0, abs=0.02)
        assert (np.abs(squared) < 1.0).mean() == pytest.approx(0.683, abs=0.01)
    assert abs(np.corrcoef(noise.inputs.numpy(), noise.outputs.numpy())[0, 1]) < 0.02


def test_noise_follows_from_its_stream_and_is_new_each_time() -> None:
    streams = [torch.Generator().manual_seed(seed) for seed in (0, 0, 1)]
    first, again, other = (NOISY.draw_noise(stream) for stream in streams)
    assert torch.equal(first.inputs, again.inputs) and torch.equal(first.outputs, again.outputs)
    assert not torch.equal(first.inputs, other.inputs)
    assert not torch.equal(first.inputs, NOISY.draw_noise(streams[0]).inputs)


def test_a_noisy_layer_has_as_many_sigmas_as_means_all_alike_at_first() -> None:
    shapes = NOISY.shapes()
    assert [shape.name for shape in shapes] == [
        "layer.weight",
        "layer.bias",
        "layer.weight_sigma",
        "layer.bias_sigma",
    ]
    assert [shape.shape for shape in shapes] == [(2, 3), (2,), (2, 3), (2,)]
    mean, sigma = Uniform(1 / math.sqrt(3)), Constant(0.5 / math.sqrt(3))
    assert [shape.initial for shape in shapes] == [mean, mean, sigma, sigma]


def test_a_half_precision_layer_answers_in_half_precision() -> None:
    parameters = {name: value.bfloat16() for name, value in at_random(NOISY).items()}
    noise = {"layer": NOISY.draw_noise(torch.Generator())}
    assert NOISY(parameters, X.bfloat16(), noise).dtype == torch.bfloat16
