"""BA3C's convolutions against plain torch modules, and parameter counts against the authors'."""

import numpy as np
import pytest
import torch
from torch import nn

from pipeline.networks.pooled import CONVOLUTIONS, PooledTorso
from pipeline.types import UInt8Array
from tests.networks.configs import actor_critic_config, network_config
from tests.rounding import assert_equal_but_for_rounding


def observations(shape: tuple[int, ...]) -> UInt8Array:
    return np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)


def at_random(torso: PooledTorso) -> dict[str, torch.Tensor]:
    """Parameters as a replica holds them: channels-last views."""
    generator = torch.Generator().manual_seed(0)
    return {
        shape.name: (0.05 * torch.randn(shape.shape, generator=generator)).permute(0, 3, 1, 2).requires_grad_()
        for shape in torso.shapes
    }


def plain_modules(parameters: dict[str, torch.Tensor]) -> nn.Sequential:
    """The same convolutions as most people write them, ReLU before the pool as the authors do."""
    layers: list[nn.Module] = []
    for i, (out, kernel, _) in enumerate(CONVOLUTIONS, start=1):
        weight = parameters[f"conv{i}.weight"]
        convolution = nn.Conv2d(weight.shape[1], out, kernel, bias=False)
        convolution.weight.data = weight.detach().clone().contiguous()
        layers += [convolution, nn.ReLU()]
        if i < len(CONVOLUTIONS):
            layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers)


def num_terms(num_channels: int) -> int:
    """Terms of the sums on the way from a pixel to a feature: the fan-ins of all four convolutions."""
    fan_in, total = num_channels, 0
    for out, kernel, _ in CONVOLUTIONS:
        total += fan_in * kernel * kernel
        fan_in = out
    return total


def test_features_and_gradients_equal_those_of_plain_modules() -> None:
    torso = PooledTorso(4, (84, 84), centred=False)
    parameters, frames = at_random(torso), observations((3, 4, 84, 84))
    modules = plain_modules(parameters)
    ours = torso(parameters, torch.from_numpy(frames))
    # Features are numbered by place first and channel last.
    theirs = modules(torch.from_numpy(frames).float() / 255).permute(0, 2, 3, 1).flatten(1)
    assert ours.shape == (3, torso.num_features) == (3, 5 * 5 * 64)
    assert_equal_but_for_rounding(ours, theirs, num_terms(num_channels=4))
    for mine, other in zip(
        torch.autograd.grad(ours.square().mean(), list(parameters.values())),
        torch.autograd.grad(theirs.square().mean(), list(modules.parameters())),
        strict=True,
    ):
        # Forward, back, and over all places of three frames, of which the first layer has most.
        assert_equal_but_for_rounding(mine, other, 2 * num_terms(num_channels=4) + 3 * 84 * 84)


def test_rgb_stacks_are_channels_frame_by_frame() -> None:
    torso = PooledTorso(4, (84, 84, 3), centred=False)
    parameters, frames = at_random(torso), observations((2, 4, 84, 84, 3))
    channels = np.moveaxis(frames, -1, 2).reshape(2, 12, 84, 84)
    theirs = plain_modules(parameters)(torch.from_numpy(channels).float() / 255).permute(0, 2, 3, 1).flatten(1)
    ours = torso(parameters, torch.from_numpy(frames))
    assert_equal_but_for_rounding(ours, theirs, num_terms(num_channels=12))


def test_dba3cs_network_has_as_many_parameters_as_the_authors_say_but_for_the_channels_of_zeros() -> None:
    dba3c = actor_critic_config(hidden_units=128)
    convolutions = 25 * 32 * 32 + 25 * 32 * 64 + 9 * 64 * 64
    fc, heads = 1600 * 128, (128 * 4 + 4) + (128 + 1)
    rgb = dba3c.make(4, (84, 84, 3), 4).num_parameters
    assert rgb == 25 * 12 * 32 + convolutions + fc + heads == 328_709
    # With 16 channels, as the authors have it: 126 k in convolutions, 205 k in FC, 332 k in all.
    padding = 25 * (16 - 12) * 32
    assert (padding, 25 * 16 * 32 + convolutions, fc, rgb + padding) == (3_200, 126_464, 204_800, 331_909)
    assert dba3c.make(4, (84, 84), 4).num_parameters == rgb - 25 * 8 * 32


def test_ba3cs_network_has_as_many_parameters_as_its_layers_by_hand() -> None:
    ba3c = actor_critic_config(hidden_units=512, activation="prelu")
    convolutions = 25 * 12 * 32 + 25 * 32 * 32 + 25 * 32 * 64 + 9 * 64 * 64
    fc, slope, heads = 1600 * 512 + 512, 1, (512 * 4 + 4) + (512 + 1)
    # About 0.95 million.
    assert ba3c.make(4, (84, 84, 3), 4).num_parameters == convolutions + fc + slope + heads == 945_542
    assert ba3c.make(4, (84, 84), 4).num_parameters == 945_542 - 6_400


def test_a_q_network_may_have_these_convolutions_too() -> None:
    network = network_config(torso="ba3c").make(4, (84, 84), 3)
    assert [shape.name for shape in network.shapes[:5]] == [*(f"conv{i}.weight" for i in (1, 2, 3, 4)), "hidden.weight"]


def test_in_half_precision_features_lie_near_the_float32_ones() -> None:
    torso = PooledTorso(4, (84, 84), centred=False)
    parameters, frames = at_random(torso), torch.from_numpy(observations((3, 4, 84, 84)))
    halves = {name: value.bfloat16() for name, value in parameters.items()}
    found = torso(halves, frames)
    assert found.dtype == torch.bfloat16
    torch.testing.assert_close(found.float(), torso(parameters, frames), rtol=0.05, atol=0.02)


def test_a_frame_that_is_too_small_is_refused_with_its_size() -> None:
    with pytest.raises(ValueError, match=r"\(84, 40\) pixels is too small for convolution 4 \(kernel 3\)"):
        PooledTorso(4, (84, 40), centred=False)
