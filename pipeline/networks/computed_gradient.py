"""A gradient that a replica has just computed: its norms, and scaled where it lies, before it is sent.

    DenseGradient     all P numbers
    PartlyFactored    all but the hidden layer's weights, which are the product of two thin matrices

The squared norm of that product follows from the two Gram matrices, (B, B) each, of the batch:

    |delta^T inputs|^2 = sum((delta delta^T) * (inputs inputs^T))

Not here: how a gradient is computed (`pipeline.networks.written_out`), limits of its norm (`pipeline.algorithms`), how
it travels (`pipeline.param_server.slices`).
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch

from pipeline.networks.written_out import Factors
from pipeline.types import AnyGradient, FactoredGradient


class ComputedGradient(ABC):
    """A whole gradient. Its memory is the replica's, which the next one overwrites."""

    tensors: tuple[torch.Tensor, ...]
    """Float32, one per parameter tensor in vector order: to scale one scales that part of the gradient."""

    @abstractmethod
    def norm(self) -> float:
        """L2 norm of the whole."""

    @abstractmethod
    def tensor_norms(self) -> torch.Tensor:
        """(T,) float32: L2 norms of the gradients of the parameter tensors, in vector order."""

    @abstractmethod
    def scale(self, factor: float) -> None:
        """Multiply all of it."""

    def scale_tensors(self, factors: Sequence[float]) -> None:
        """Multiply each parameter tensor's by a number, 1 at most."""
        for tensor, factor in zip(self.tensors, factors, strict=True):
            if factor < 1.0:
                tensor.mul_(factor)

    @abstractmethod
    def as_sent(self) -> AnyGradient:
        """As it is handed over to be sent."""


class DenseGradient(ComputedGradient):
    """A gradient as one vector."""

    def __init__(self, flat: torch.Tensor, tensors: Sequence[torch.Tensor]) -> None:
        """`flat` (P,) float32, and its parts."""
        self.flat = flat
        self.tensors = tuple(tensors)

    def norm(self) -> float:
        """See `ComputedGradient`."""
        return float(self.flat.norm().item())

    def tensor_norms(self) -> torch.Tensor:
        """See `ComputedGradient`."""
        return torch.stack(torch._foreach_norm(self.tensors))

    def scale(self, factor: float) -> None:
        """See `ComputedGradient`."""
        self.flat.mul_(factor)

    def as_sent(self) -> AnyGradient:
        """(P,) float32, in the same memory if it is on the CPU."""
        flat: AnyGradient = self.flat.cpu().numpy()
        return flat


class PartlyFactored(ComputedGradient):
    """A gradient of which one parameter tensor's is given by its factors. Where `tensors` has that one it has delta."""

    def __init__(self, tensors: Sequence[torch.Tensor], product: int, factors: Factors) -> None:
        """`tensors`: flat, of all parameter tensors; that of number `product` is not read."""
        # Factors of bfloat16 stay exact, and their product becomes float32.
        self._product, self._inputs = product, factors.inputs.float()
        self._start = sum(tensor.numel() for tensor in tensors[:product])
        self.tensors = (*tensors[:product], factors.delta.float(), *tensors[product + 1 :])

    def norm(self) -> float:
        """See `ComputedGradient`."""
        return float(self.tensor_norms().norm().item())

    def tensor_norms(self) -> torch.Tensor:
        """See `ComputedGradient`."""
        norms = torch.stack(torch._foreach_norm(self.tensors))
        norms[self._product] = product_norm(self.tensors[self._product], self._inputs)
        return norms

    def scale(self, factor: float) -> None:
        """See `ComputedGradient`."""
        torch._foreach_mul_(self.tensors, factor)

    def as_sent(self) -> FactoredGradient:
        """In memory of its own, but for the factors, which no later gradient overwrites."""
        others = [*self.tensors[: self._product], *self.tensors[self._product + 1 :]]
        rest, delta, inputs = (
            part.cpu().numpy() for part in (torch.cat(others), self.tensors[self._product], self._inputs.contiguous())
        )
        return FactoredGradient(rest, self._start, delta, inputs)


def product_norm(delta: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
    """L2 norm () of delta^T inputs, given (B, U) and (B, F), in float64.

    The terms of the sum have both signs. In float32 those that nearly cancel could leave a number below 0.
    """
    grams = [factor @ factor.t() for factor in (delta.double(), inputs.double())]
    return (grams[0] * grams[1]).sum().clamp(min=0.0).sqrt()
