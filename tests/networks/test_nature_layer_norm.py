"""The normalised Nature network against a plain torch module, and as one."""

import numpy as np
import torch
from torch import nn

from pipeline.networks.replica import QReplica
from pipeline.types import Float32Array, UInt8Array
from tests.networks.configs import network_config
from tests.rounding import assert_equal_but_for_rounding

CPU = torch.device("cpu")
CONFIG = network_config(torso="nature_layer_norm", layer_norm=True)
NUM_TERMS = 8 * 8 * 4 + 4 * 4 * 32 + 3 * 3 * 64 + 7 * 7 * 64 + 16
"""Of the sums on the way from a pixel to a value."""


def observations(count: int) -> UInt8Array:
    return np.random.default_rng(0).integers(0, 256, (count, 4, 84, 84), dtype=np.uint8)


class PlainNetwork(nn.Module):
    """The network as one would write it, with weights out of the flat vector in the order in which layers come."""

    def __init__(self, flat: Float32Array, num_actions: int) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList([nn.Conv2d(4, 32, 8, 4), nn.Conv2d(32, 64, 4, 2), nn.Conv2d(64, 64, 3)])
        self.norms = nn.ModuleList([nn.LayerNorm(size, eps=1e-6) for size in (32, 64, 64, 16)])
        self.linears = nn.ModuleList([nn.Linear(64 * 7 * 7, 16), nn.Linear(16, num_actions)])
        hidden, output = self.linears
        normalised = [layer for pair in zip(self.convolutions, self.norms, strict=False) for layer in pair]
        self.in_order = [p for layer in [*normalised, hidden, self.norms[3], output] for p in layer.parameters()]
        """Weight, or scale, and bias, or shift, of one layer after the other."""
        rest = torch.from_numpy(flat.copy())
        for parameter in self.in_order:
            values, rest = rest.split([parameter.numel(), len(rest) - parameter.numel()])
            if parameter.dim() == 4:
                out, inputs, height, width = parameter.shape
                values = values.view(out, height, width, inputs).permute(0, 3, 1, 2).contiguous()
            parameter.data = values.view(parameter.shape)

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        x = frames.float() / 255
        for convolution, norm in zip(self.convolutions, self.norms, strict=False):
            x = norm(convolution(x).permute(0, 2, 3, 1)).permute(0, 3, 1, 2).relu()
        hidden, output = self.linears
        answered: torch.Tensor = output(self.norms[3](hidden(x.permute(0, 2, 3, 1).flatten(1))).relu())
        return answered

    def gradients(self) -> list[torch.Tensor]:
        """Of each parameter, flat, as the vector has them."""
        found = []
        for parameter in self.in_order:
            assert parameter.grad is not None
            found.append((parameter.grad.permute(0, 2, 3, 1) if parameter.dim() == 4 else parameter.grad).flatten())
        return found


def some_parameters(size: int) -> Float32Array:
    """At random, so that no scale is 1 and no shift 0."""
    return np.random.default_rng(2).normal(scale=0.1, size=size).astype(np.float32)


def test_its_values_and_gradients_equal_those_of_a_plain_module() -> None:
    network = CONFIG.make(4, (84, 84), 6)
    # At random, so that no scale is 1 and no shift 0.
    flat = np.random.default_rng(2).normal(scale=0.1, size=network.num_parameters).astype(np.float32)
    plain, replica = PlainNetwork(flat, 6), QReplica(network, torch.float32, CPU)
    replica.load(flat)
    frames = observations(3)
    expected, values = plain(torch.from_numpy(frames)), replica.outputs(frames)
    assert_equal_but_for_rounding(values, expected, NUM_TERMS)
    expected.square().mean().backward()
    replica.gradient(values.square().mean())
    # Forward, back, and over the 20 x 20 places of three frames.
    back_and_forth = 2 * NUM_TERMS + 3 * 20 * 20
    for mine, other in zip(replica.gradient_tensors, plain.gradients(), strict=True):
        assert_equal_but_for_rounding(mine, other, back_and_forth)


def test_its_gradient_is_autograd_s_also_where_only_the_hidden_layer_is_normalised() -> None:
    for config in (CONFIG, network_config(layer_norm=True), network_config(torso="nature_layer_norm")):
        assert config.make(4, (84, 84), 6).plain_layers is None
