"""The gradient of a plain network written out, layer by layer, straight into the flat vector.

    observations -> torso -> features -> hidden layer, rectified -> output layers, one or several beside each other

Autograd differentiates the loss by the outputs, a few numbers, whatever the loss is. Behind them stand the large
tensors, each of which it would allocate anew and the replica would then copy: here they are written where they belong.
What is written equals autograd's up to rounding, and a test says so.
Not here: the convolutions' part (`pipeline.networks.nature`); which networks have it (`pipeline.networks.layered`): all
others keep autograd.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import torch
import torch.nn.functional as F

from pipeline.networks.parameters import Tensors
from pipeline.networks.torso import DifferentiatedTorso

_threshold_backward = torch.ops.aten.threshold_backward.grad_input


class Activations(NamedTuple):
    """What a forward pass leaves behind for the way back, each of B observations."""

    torso: Sequence[torch.Tensor]
    """The torso's own, features (B, F) last."""
    hidden: torch.Tensor
    """(B, U), rectified."""


def joined(rows: Sequence[tuple[Activations, int]]) -> Activations:
    """Activations of single observations, each given as a row of others', side by side."""
    torso = [
        torch.cat([kept.torso[layer][row : row + 1] for kept, row in rows]) for layer in range(len(rows[0][0].torso))
    ]
    return Activations(torso, torch.cat([kept.hidden[row : row + 1] for kept, row in rows]))


class Factors(NamedTuple):
    """The gradient of a layer's weights as the product that it is, delta^T inputs, of B observations."""

    delta: torch.Tensor
    """(B, U): d loss / d what the layer answers, before it is rectified."""
    inputs: torch.Tensor
    """(B, F)"""


@dataclass
class Gradient:
    """Where a gradient is written to, once."""

    tensors: Tensors
    """float32, by `ParameterShape.name`, in the layout of the parameters."""
    is_written: bool = False
    wants_factors: bool = False
    """Whether the hidden layer's weights are left as they are, and `factors` written in their place."""
    factors: Factors | None = None


@dataclass(frozen=True)
class PlainLayers:
    """A torso, a rectified hidden layer and output layers, by the names of their parameters; all have biases."""

    torso: DifferentiatedTorso
    hidden: str
    outputs: Sequence[str]

    def activations(self, parameters: Tensors, observations: torch.Tensor) -> Activations:
        """Of uint8 (B, K, H, W[, 3]), without a graph."""
        with torch.no_grad():
            *_, features = torso = self.torso.activations(parameters, observations)
            return Activations(torso, F.relu(_linear(self.hidden, parameters, features), inplace=True))

    def answers(self, parameters: Tensors, activations: Activations, gradient: Gradient) -> tuple[torch.Tensor, ...]:
        """(B, N) float32 of each output layer, with a graph whose way back writes `gradient`.

        Raises RuntimeError on the way back where that has been written: a loss may have been made of one pass only.
        """
        apply = cast(Any, _Answers).apply  # torch does not type it
        return cast(tuple[torch.Tensor, ...], apply(self, parameters, activations, gradient, *parameters.values()))

    def backward(
        self, parameters: Tensors, activations: Activations, d_outputs: Sequence[torch.Tensor], gradient: Gradient
    ) -> None:
        """Write d loss / d parameters, given d loss / d outputs (B, N) float32 of each output layer."""
        into, hidden, features = gradient.tensors, activations.hidden, activations.torso[-1]
        as_float32 = hidden.float()
        for name, d in zip(self.outputs, d_outputs, strict=True):
            _linear_backward(name, as_float32, d, into)
        first, *others = (d @ parameters[f"{name}.weight"] for name, d in zip(self.outputs, d_outputs, strict=True))
        for other in others:
            first += other
        d_hidden = rectified_backward(first.to(hidden.dtype), hidden)
        self.torso.backward(parameters, activations.torso, d_hidden @ parameters[f"{self.hidden}.weight"], into)
        # The largest of all comes last: it is read again at once, and is then still in the cache.
        if gradient.wants_factors:
            gradient.factors = Factors(d_hidden, features)
            _bias_backward(self.hidden, d_hidden, into)
        else:
            _linear_backward(self.hidden, features, d_hidden, into)


def rectified_backward(d: torch.Tensor, rectified: torch.Tensor) -> torch.Tensor:
    """`d` by the outputs of a rectifier, which were `rectified`, turned into d by its inputs; overwrites `d`."""
    _threshold_backward(d, rectified, 0, grad_input=d)
    return d


class _Answers(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        layers: PlainLayers,
        parameters: Tensors,
        activations: Activations,
        gradient: Gradient,
        *leaves: torch.Tensor,
    ) -> tuple[torch.Tensor, ...]:
        ctx.way_back = layers, parameters, activations, gradient
        hidden = activations.hidden.float()
        return tuple(_linear(name, parameters, hidden) for name in layers.outputs)

    @staticmethod
    def backward(ctx: Any, *d_outputs: torch.Tensor) -> tuple[None, ...]:
        layers, parameters, activations, gradient = ctx.way_back
        if gradient.is_written:
            raise RuntimeError("a loss of two passes through the network: the gradient of one would be lost")
        layers.backward(parameters, activations, d_outputs, gradient)
        gradient.is_written = True
        return (None,) * (4 + len(parameters))


def _linear(name: str, parameters: Tensors, x: torch.Tensor) -> torch.Tensor:
    return F.linear(x, parameters[f"{name}.weight"], parameters[f"{name}.bias"])


def _linear_backward(name: str, x: torch.Tensor, d: torch.Tensor, into: Tensors) -> None:
    weight = into[f"{name}.weight"]
    if x.dtype == weight.dtype:
        torch.mm(d.t(), x, out=weight)
    else:
        weight.copy_(d.t() @ x)
    _bias_backward(name, d, into)


def _bias_backward(name: str, d: torch.Tensor, into: Tensors) -> None:
    torch.sum(d, 0, dtype=torch.float32, out=into[f"{name}.bias"])
