"""The Nature DQN network as a pure function of its parameters, and the fixed order in which they lie in one vector.

    uint8 (B, K, H, W) -> conv 32 8x8/4 -> conv 64 4x4/2 -> conv 64 3x3/1 -> 512 ReLU -> one value per action

Mnih et al. 2015, Methods, "Model architecture". Initial values are those of the Torch 7 code of that paper:
uniform in +-1/sqrt(fan-in), weights and biases alike.
Not here: dtypes, devices and gradients (`pipeline.networks.replica`).
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F

from pipeline.networks.config import NetworkConfig
from pipeline.types import Float32Array

CONVOLUTIONS = ((32, 8, 4), (64, 4, 2), (64, 3, 1))
"""(output channels, kernel size, stride) in pixels, first to last."""


class ParameterShape(NamedTuple):
    """One parameter tensor and its place in the flat vector."""

    name: str
    shape: tuple[int, ...]
    """As it lies in the vector: convolutions are (out, height, width, in), so that views of it are channels-last."""
    fan_in: int


def parameter_shapes(
    config: NetworkConfig, stack: int, frame_shape: tuple[int, ...], num_actions: int
) -> list[ParameterShape]:
    """The network's parameters in vector order: torso first, the output layer ("head") last.

    Raises ValueError when the frame is too small for the convolutions.
    """
    height, width = frame_shape[:2]
    channels = stack * (frame_shape[2] if len(frame_shape) == 3 else 1)
    shapes = []
    for i, (out, kernel, stride) in enumerate(CONVOLUTIONS, start=1):
        shapes += _layer(f"conv{i}", (out, kernel, kernel, channels))
        height, width, channels = (height - kernel) // stride + 1, (width - kernel) // stride + 1, out
        if min(height, width) < 1:
            raise ValueError(f"a frame of {frame_shape[:2]} pixels is too small for convolution {i} (kernel {kernel})")
    shapes += _layer("hidden", (config.hidden_units, height * width * channels))
    return shapes + _layer("head", (num_actions, config.hidden_units))


def initial_parameters(shapes: Sequence[ParameterShape], rng: np.random.Generator) -> Float32Array:
    """(P,) fresh parameters, uniform in +-1/sqrt(fan-in)."""
    parts = []
    for parameter in shapes:
        bound = 1 / math.sqrt(parameter.fan_in)
        parts.append(rng.uniform(-bound, bound, math.prod(parameter.shape)).astype(np.float32))
    return np.concatenate(parts)


def num_parameters(shapes: Sequence[ParameterShape]) -> int:
    """P: length of the flat vector."""
    return sum(math.prod(parameter.shape) for parameter in shapes)


def q_values(parameters: Sequence[torch.Tensor], observations: torch.Tensor) -> torch.Tensor:
    """Q(s, a) for all actions: uint8 (B, K, H, W[, 3]) -> float32 (B, A).

    The torso computes in the dtype of its parameters; the head and its sums are float32, because differences between
    actions are often below bfloat16's resolution (about 0.4 % of the value).
    """
    first_weight, *rest, hidden_weight, hidden_bias, head_weight, head_bias = parameters
    # Pixels are scaled to [0, 1] by scaling the 8,192 first weights instead of a million pixels.
    convolutions = [first_weight * (1 / 255), *rest]
    x = _as_image(observations, hidden_weight.dtype)
    for (_, _, stride), weight, bias in zip(CONVOLUTIONS, convolutions[::2], convolutions[1::2], strict=True):
        x = F.relu(F.conv2d(x, weight, bias, stride), inplace=True)
    # Channels-last memory flattened as it lies costs no copy; which feature comes first is a convention only.
    x = F.relu(F.linear(x.permute(0, 2, 3, 1).flatten(1), hidden_weight, hidden_bias), inplace=True)
    return F.linear(x.float(), head_weight, head_bias)


def _layer(name: str, weight_shape: tuple[int, ...]) -> list[ParameterShape]:
    fan_in = math.prod(weight_shape[1:])
    return [
        ParameterShape(f"{name}.weight", weight_shape, fan_in),
        ParameterShape(f"{name}.bias", weight_shape[:1], fan_in),
    ]


def _as_image(observations: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    # (B, K, H, W, 3) -> (B, 3K, H, W). Reordering bytes first and widening to bfloat16 afterwards took half as long as
    # one call.
    if observations.dim() == 5:
        observations = observations.permute(0, 1, 4, 2, 3).flatten(1, 2)
    return observations.contiguous(memory_format=torch.channels_last).to(dtype)
