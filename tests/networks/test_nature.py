"""The Nature network, torso and plain head, against a plain torch module, and its parameter order."""

import numpy as np
import pytest
import torch
from torch import nn

from pipeline.networks.replica import QReplica
from pipeline.types import Float32Array, UInt8Array
from tests.networks.configs import network_config
from tests.rounding import assert_equal_but_for_rounding

CPU = torch.device("cpu")
NATURE = network_config(hidden_units=512)
SMALL = network_config(hidden_units=16)


def observations(shape: tuple[int, ...]) -> UInt8Array:
    return np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)


class PlainNature(nn.Module):
    """The network as most people write it: NCHW, one module a layer, weights copied in from the flat vector."""

    def __init__(self, flat: Float32Array, channels: int, hidden: int, num_actions: int) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList(
            [nn.Conv2d(channels, 32, 8, 4), nn.Conv2d(32, 64, 4, 2), nn.Conv2d(64, 64, 3)]
        )
        self.linears = nn.ModuleList([nn.Linear(64 * 7 * 7, hidden), nn.Linear(hidden, num_actions)])
        rest = torch.from_numpy(flat)
        for layer in [*self.convolutions, *self.linears]:
            assert isinstance(layer, nn.Conv2d | nn.Linear) and layer.bias is not None
            weight, bias, rest = rest.split(
                [layer.weight.numel(), layer.bias.numel(), rest.numel() - layer.weight.numel() - layer.bias.numel()]
            )
            if isinstance(layer, nn.Conv2d):
                out, inputs, height, width = layer.weight.shape
                layer.weight.data = weight.view(out, height, width, inputs).permute(0, 3, 1, 2).contiguous()
            else:
                layer.weight.data = weight.view(layer.weight.shape).clone()
            layer.bias.data = bias.clone()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.float() / 255
        for convolution in self.convolutions:
            x = convolution(x).relu()
        hidden, head = self.linears
        # The hidden layer's inputs are numbered by place first and channel last.
        result: torch.Tensor = head(hidden(x.permute(0, 2, 3, 1).flatten(1)).relu())
        return result


def num_terms(num_channels: int, hidden_units: int) -> int:
    """Terms of the sums on the way from a pixel to a value: the fan-ins of three convolutions and two layers."""
    return 8 * 8 * num_channels + 4 * 4 * 32 + 3 * 3 * 64 + 7 * 7 * 64 + hidden_units


def test_it_has_as_many_parameters_as_the_paper_s_layers() -> None:
    by_hand = (4 * 64 * 32 + 32) + (32 * 16 * 64 + 64) + (64 * 9 * 64 + 64) + (3136 * 512 + 512) + (512 * 6 + 6)
    assert NATURE.make(4, (84, 84), 6).num_parameters == by_hand == 1_687_206


def test_its_values_and_gradients_equal_those_of_a_plain_module() -> None:
    network = NATURE.make(4, (84, 84), 6)
    flat = network.initial_parameters(np.random.default_rng(1))
    plain, replica = PlainNature(flat, 4, 512, 6), QReplica(network, torch.float32, CPU)
    replica.load(flat)
    frames = observations((5, 4, 84, 84))

    expected = plain(torch.from_numpy(frames))
    values = replica.outputs(frames)
    assert_equal_but_for_rounding(values, expected, num_terms(num_channels=4, hidden_units=512))

    expected.square().mean().backward()
    gradient = replica.gradient(values.square().mean())
    pieces = []
    for layer in [*plain.convolutions, *plain.linears]:
        assert isinstance(layer, nn.Conv2d | nn.Linear) and layer.weight.grad is not None and layer.bias is not None
        weight = layer.weight.grad.permute(0, 2, 3, 1) if isinstance(layer, nn.Conv2d) else layer.weight.grad
        assert layer.bias.grad is not None
        pieces += [weight.flatten(), layer.bias.grad]
    # Forward, back, and over the 20 x 20 places of five frames.
    back_and_forth = 2 * num_terms(num_channels=4, hidden_units=512) + 5 * 20 * 20
    for mine, other in zip(gradient.split([piece.numel() for piece in pieces]), pieces, strict=True):
        assert_equal_but_for_rounding(mine, other, back_and_forth)


def test_rgb_stacks_are_channels_frame_by_frame() -> None:
    network = SMALL.make(4, (84, 84, 3), 3)
    flat = network.initial_parameters(np.random.default_rng(2))
    replica = QReplica(network, torch.float32, CPU)
    replica.load(flat)
    frames = observations((2, 4, 84, 84, 3))
    channels = np.moveaxis(frames, -1, 2).reshape(2, 12, 84, 84)
    expected = PlainNature(flat, 12, 16, 3)(torch.from_numpy(channels))
    assert_equal_but_for_rounding(replica.values(frames), expected, num_terms(num_channels=12, hidden_units=16))


def test_a_frame_that_is_too_small_is_refused_with_its_size() -> None:
    with pytest.raises(ValueError, match=r"\(30, 84\) pixels is too small for convolution 3"):
        SMALL.make(4, (30, 84), 3)
