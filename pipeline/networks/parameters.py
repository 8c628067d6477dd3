"""The parameters of a network: their order in one flat vector, and the values that they start with.

Not here: which layers there are (`pipeline.networks.network`), tensors on a device (`pipeline.networks.replica`).
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch

from pipeline.types import Float32Array

Tensors = Mapping[str, torch.Tensor]
"""Parameter tensors by `ParameterShape.name`."""

HEAD = "head."
"""What the names of the output layers' parameters begin with. They come last in the vector."""


class ParameterShape(NamedTuple):
    """One parameter tensor and its place in the flat vector."""

    name: str
    shape: tuple[int, ...]
    """As it lies in the vector: convolutions are (out, height, width, in), so that views of it are channels-last."""
    fan_in: int
    """Inputs of one unit of its layer."""
    constant: float | None = None
    """What all its elements start with; None: uniform in +-1/sqrt(fan_in)."""

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def in_head(self) -> bool:
        """True in an output layer, which computes in float32 on every device."""
        return self.name.startswith(HEAD)


def weight_and_bias(layer: str, weight_shape: tuple[int, ...]) -> list[ParameterShape]:
    """The two parameters of a layer whose weight is (outputs, ...inputs)."""
    fan_in = math.prod(weight_shape[1:])
    return [
        ParameterShape(f"{layer}.weight", weight_shape, fan_in),
        ParameterShape(f"{layer}.bias", weight_shape[:1], fan_in),
    ]


def num_parameters(shapes: Sequence[ParameterShape]) -> int:
    """P: length of the flat vector."""
    return sum(parameter.size for parameter in shapes)


def initial_parameters(shapes: Sequence[ParameterShape], rng: np.random.Generator) -> Float32Array:
    """(P,) fresh parameters: uniform in +-1/sqrt(fan-in), weights and biases alike, unless a constant is asked for.

    As in the Torch 7 code of Mnih et al. 2015.
    """
    return np.concatenate([_initial_values(parameter, rng) for parameter in shapes])


def _initial_values(parameter: ParameterShape, rng: np.random.Generator) -> Float32Array:
    if parameter.constant is not None:
        return np.full(parameter.size, parameter.constant, np.float32)
    bound = 1 / math.sqrt(parameter.fan_in)
    return rng.uniform(-bound, bound, parameter.size).astype(np.float32)
