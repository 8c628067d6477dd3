"""A torso of anybody's is tried before any work: what goes wrong with one's own is told in a sentence."""

import itertools
from collections.abc import Callable, Sequence
from importlib import import_module

import pytest
import torch

from pipeline.networks.nature import NatureTorso
from pipeline.networks.parameters import Tensors, weight_and_bias
from pipeline.networks.torso import TORSOS, Torso
from pipeline.networks.torso_trial import faults
from tests.config.runs import mistakes_in
from tests.conftest import OWN

_NUMBERS = itertools.count()
GREY, RGB = (4, 84, 84), (4, 84, 84, 3)


class Toy(Torso):
    """The means of the frames in a linear layer."""

    num_features = 7

    def __init__(self, *_: object) -> None:
        self.shapes = weight_and_bias("linear", (7, 4))

    def __call__(self, parameters: Tensors, observations: torch.Tensor) -> torch.Tensor:
        """See `Torso`."""
        means = observations.to(parameters["linear.weight"].dtype).mean((2, 3))
        return means @ parameters["linear.weight"].T + parameters["linear.bias"]


class TooMany(Toy):
    num_features = 8


class Float32(Toy):
    def __call__(self, parameters: Tensors, observations: torch.Tensor) -> torch.Tensor:
        return super().__call__({name: p.float() for name, p in parameters.items()}, observations)


class WithoutBias(Toy):
    def __call__(self, parameters: Tensors, observations: torch.Tensor) -> torch.Tensor:
        return super().__call__({**parameters, "linear.bias": torch.zeros(7)}, observations)


class ByZero(Toy):
    def __call__(self, parameters: Tensors, observations: torch.Tensor) -> torch.Tensor:
        return super().__call__(parameters, observations) / 0


class OfTheBatch(Toy):
    def __call__(self, parameters: Tensors, observations: torch.Tensor) -> torch.Tensor:
        features = super().__call__(parameters, observations)
        return features - features.mean(0)


class Squeezed(Toy):
    def __call__(self, parameters: Tensors, observations: torch.Tensor) -> torch.Tensor:
        return super().__call__(parameters, observations).squeeze()


class Misspelt(Toy):
    def __call__(self, parameters: Tensors, observations: torch.Tensor) -> torch.Tensor:
        return parameters["liner.weight"]


class Redrawn(Toy):
    """With constants of its own."""

    def __init__(self, *words: object) -> None:
        super().__init__(*words)
        self._scales = torch.rand(7)

    def __call__(self, parameters: Tensors, observations: torch.Tensor) -> torch.Tensor:
        features = super().__call__(parameters, observations)
        return features * self._scales.to(features)


class Renamed(Toy):
    """With parameters of its own."""

    def __init__(self, *_: object) -> None:
        self._name = f"linear_{next(_NUMBERS)}"
        self.shapes = weight_and_bias(self._name, (7, 4))

    def __call__(self, parameters: Tensors, observations: torch.Tensor) -> torch.Tensor:
        return super().__call__(
            {f"linear.{part}": parameters[f"{self._name}.{part}"] for part in ("weight", "bias")}, observations
        )


class HalfWayBack(NatureTorso):
    def backward(
        self, parameters: Tensors, activations: Sequence[torch.Tensor], d_features: torch.Tensor, into: Tensors
    ) -> None:
        super().backward(parameters, activations, d_features, into)
        into["conv1.weight"].div_(2)


class AnotherOrder(NatureTorso):
    def backward(
        self, parameters: Tensors, activations: Sequence[torch.Tensor], d_features: torch.Tensor, into: Tensors
    ) -> None:
        super().backward(parameters, activations, d_features.flip(1), into)


def faults_of(torso: Callable[..., Torso], shape: tuple[int, ...], dtype: torch.dtype = torch.float32) -> list[str]:
    return faults(lambda: torso(shape[0], shape[1:], False, weight_and_bias), shape, dtype)


@pytest.mark.parametrize("name", list(TORSOS))
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", [GREY, RGB])
def test_ours_have_no_faults(name: str, dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    assert faults_of(TORSOS[name], shape, dtype) == []


@pytest.mark.parametrize(
    ("torso", "dtype", "told"),
    [
        (TooMany, torch.float32, "answers (3, 7) in float32 to 3 observations, and must answer (B, num_features)=(3, "
                                 "8) in float32, as its parameters are"),
        (Float32, torch.bfloat16, "answers (3, 7) in float32 to 3 observations, and must answer (B, num_features)=(3, "
                                  "7) in bfloat16, as its parameters are"),
        (WithoutBias, torch.float32, "has parameters that its features do not depend on: linear.bias"),
        (ByZero, torch.float32, "answers what is no finite number with the first values of its parameters: does it "
                                "divide by 0?"),
        (OfTheBatch, torch.float32, "answers otherwise for one observation than for several, as BatchNorm does: each "
                                    "has to be answered by itself; use LayerNorm or GroupNorm"),
        (Squeezed, torch.float32, "answers otherwise for one observation than for several: (7,), and must answer (1, "
                                  "7); a squeeze() needs its axis"),
        (Squeezed, torch.bfloat16, "answers otherwise for one observation than for several: (7,), and must answer (1, "
                                   "7); a squeeze() needs its axis"),
        (Misspelt, torch.float32, "cannot compute with frames (3, 4, 84, 84) in float32: KeyError: 'liner.weight'"),
        (Redrawn, torch.float32, "has other constants each time that it is made: each role would have others; draw "
                                 "them with a seed of theirs"),
        (Renamed, torch.float32, "has other parameters each time that it is made: each role would have others; draw "
                                 "them with a seed of theirs"),
        (HalfWayBack, torch.float32, "writes a gradient that is not autograd's: conv1.weight"),
        (AnotherOrder, torch.float32, "writes a gradient that is not autograd's: conv1.weight, conv1.bias, "
                                      "conv2.weight, conv2.bias, conv3.weight, conv3.bias"),
    ],
)  # fmt: skip
def test_each_fault_is_told_with_what_is_wanted(torso: type[Torso], dtype: torch.dtype, told: str) -> None:
    assert faults_of(Toy, GREY, dtype) == [] and faults_of(torso, GREY, dtype) == [told]


def test_a_torso_that_cannot_compute_in_bfloat16_is_told_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["experiment=smoke_gorila", "game=Pong", f"network.torso={__name__}.Float32"]
    assert mistakes_in([*words, "precision=float32"]) == []
    (line,) = mistakes_in([*words, "precision=bfloat16"])
    assert line.endswith("in bfloat16, as its parameters are; precision=float32 leaves out bfloat16")
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "AVX2")
    assert mistakes_in([*words, "precision=auto"]) == []


def test_a_constructor_that_raises_is_told() -> None:
    (line,) = faults_of(NatureTorso, (4, 20, 20))
    assert line.startswith("cannot be made for observations (4, 20, 20): ValueError: ")


def test_ones_own_is_tried_with_the_other_mistakes(own_package: None, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["experiment=mine", "game=Pong"]
    assert mistakes_in(words, config_dir=OWN / "conf") == []
    monkeypatch.setattr(import_module("mylab.torsos").OneConvolution, "__call__", Misspelt.__call__)
    (line,) = mistakes_in(words, config_dir=OWN / "conf")
    assert line.startswith("network.torso=mylab.torsos.OneConvolution cannot compute with frames")
