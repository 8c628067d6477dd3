"""The parameters of a network: their order in one flat vector, and the values that they start with.

Not here: which layers there are (`pipeline.networks.network`), tensors on a device (`pipeline.networks.replica`).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from pipeline.types import Float32Array

Tensors = Mapping[str, torch.Tensor]
"""Parameter tensors by `ParameterShape.name`."""

HEAD = "head."
"""What the names of the output layers' parameters begin with. They come last in the vector."""


@dataclass(frozen=True)
class Constant:
    """All elements start with the same value; nothing is drawn."""

    value: float

    def draw(self, size: int, rng: np.random.Generator) -> Float32Array:
        """(size,) first values."""
        return np.full(size, self.value, np.float32)


@dataclass(frozen=True)
class Uniform:
    """Anything within +-bound, all alike."""

    bound: float

    def draw(self, size: int, rng: np.random.Generator) -> Float32Array:
        """(size,) first values."""
        return rng.uniform(-self.bound, self.bound, size).astype(np.float32)


@dataclass(frozen=True)
class TruncatedNormal:
    """Normal around 0, and drawn again where it lies beyond two deviations (TensorFlow's truncated_normal)."""

    deviation: float
    """Before the cut; behind it about 0.88 of this is left."""

    def draw(self, size: int, rng: np.random.Generator) -> Float32Array:
        """(size,) first values."""
        values = rng.standard_normal(size)
        while (beyond := np.flatnonzero(np.abs(values) > 2)).size:
            values[beyond] = rng.standard_normal(beyond.size)
        return (self.deviation * values).astype(np.float32)


InitialValues = Constant | Uniform | TruncatedNormal


class ParameterShape(NamedTuple):
    """One parameter tensor, its place in the flat vector, and what it starts with."""

    name: str
    shape: tuple[int, ...]
    """As it lies in the vector: convolutions are (out, height, width, in), so that views of it are channels-last."""
    initial: InitialValues

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def in_head(self) -> bool:
        """True in an output layer, which computes in float32 on every device."""
        return self.name.startswith(HEAD)


class PlainNames(NamedTuple):
    """Layers of a head that is no more than a rectified hidden layer and output layers, all with biases."""

    hidden: str
    outputs: tuple[str, ...]


def weight_and_bias(layer: str, weight_shape: tuple[int, ...]) -> list[ParameterShape]:
    """The two parameters of a layer whose weight is (outputs, ...inputs), uniform in +-1/sqrt(fan-in), both alike.

    As in the Torch 7 code of Mnih et al. 2015.
    """
    initial = Uniform(1 / math.sqrt(math.prod(weight_shape[1:])))
    return [
        ParameterShape(f"{layer}.weight", weight_shape, initial),
        ParameterShape(f"{layer}.bias", weight_shape[:1], initial),
    ]


def rectified_weight_and_bias(layer: str, weight_shape: tuple[int, ...]) -> list[ParameterShape]:
    """The same for a layer behind which a rectifier stands: weights uniform in +-sqrt(6 / fan-in), no bias yet.

    Signals then neither fade nor grow from layer to layer (He et al. 2015, "Delving Deep into Rectifiers", 2.2).
    """
    return list(he_values(weight_and_bias(layer, weight_shape)))


def he_values(shapes: Sequence[ParameterShape]) -> tuple[ParameterShape, ...]:
    """`shapes` with first values as of `rectified_weight_and_bias` in all layers of `weight_and_bias`, the output too.

    What is not uniform starts as it did: scales of noise and of norms, convolutions of BA3C.
    """
    return tuple(
        shape._replace(initial=_he_value(shape)) if isinstance(shape.initial, Uniform) else shape for shape in shapes
    )


def _he_value(shape: ParameterShape) -> InitialValues:
    is_weight = len(shape.shape) > 1
    return Uniform(math.sqrt(6 / math.prod(shape.shape[1:]))) if is_weight else Constant(0.0)


LayerShapes = Callable[[str, tuple[int, ...]], list[ParameterShape]]
"""Name and shape (outputs, ...inputs) of a layer's weight -> its parameters, first values included."""


def num_parameters(shapes: Sequence[ParameterShape]) -> int:
    """P: length of the flat vector."""
    return sum(parameter.size for parameter in shapes)


def initial_parameters(shapes: Sequence[ParameterShape], rng: np.random.Generator) -> Float32Array:
    """(P,) fresh parameters, drawn in vector order."""
    return np.concatenate([parameter.initial.draw(parameter.size, rng) for parameter in shapes])
