"""A torch module of anybody's as a pure function of parameters in our vector, by `torch.func.functional_call`.

Not here: what it is asked to answer (`pipeline.networks.module`), whether it can (`pipeline.networks.trial`).
"""

import threading
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from torch.func import functional_call

from pipeline.networks.parameters import Constant, ParameterShape, Tensors
from pipeline.networks.torso import as_image
from pipeline.types import Float32Array

_PREFIX = "module."
"""Before the names of parameters: none of them may be taken for one of our own output layers."""

_CONSTANTS_SEED = 0
"""Of torch's generator while a module is made: what it draws besides parameters, all have alike, whoever makes it."""

_MAKING = threading.Lock()
"""Roles of one process make theirs at once, and torch has one generator for them all."""

Buffers = dict[str, torch.Tensor]


class WrappedModule:
    """A module made for stacks of frames (H, W[, 3]). Not safe for two threads at once.

    Raises whatever the module's constructor raises.
    """

    def __init__(
        self, module_class: type[torch.nn.Module], stack: int, frame_shape: tuple[int, ...], num_actions: int
    ) -> None:
        self._construct: Callable[[], torch.nn.Module] = partial(module_class, stack, frame_shape, num_actions)
        self._module = self._make()
        self._buffers: dict[tuple[torch.dtype, torch.device], Buffers] = {}
        self.observation_shape = (stack, *frame_shape)
        """(K, H, W[, 3])."""
        self.frozen = [name for name, parameter in self._module.named_parameters() if not parameter.requires_grad]
        """Names of parameters that want no gradient."""
        self.shapes = [
            # The module's own first values, which it draws all at once: `initial_parameters`.
            ParameterShape(f"{_PREFIX}{name}", tuple(_lying(parameter).shape), Constant(0.0))
            for name, parameter in self._module.named_parameters()
        ]
        """In the order of `named_parameters`."""

    def __call__(self, parameters: Tensors, observations: torch.Tensor, buffers: Buffers | None = None) -> object:
        """What `forward` answers to uint8 (B, K, H, W[, 3]). `buffers`: in place of the module's constants."""
        anyone = next(iter(parameters.values()))
        place = (anyone.dtype, anyone.device)
        if buffers is None:
            buffers = self._buffers.get(place) or self._buffers.setdefault(place, self.copied_buffers(*place))
        given = {name.removeprefix(_PREFIX): parameter for name, parameter in parameters.items()}
        return functional_call(self._module, (given, buffers), (as_image(observations, anyone.dtype, centred=False),))

    def initial_parameters(self, rng: np.random.Generator) -> Float32Array:
        """(P,) what a new module begins with, which follows from one number of `rng`."""
        fresh = self._make(int(rng.integers(2**63)))
        flat = [_lying(parameter.detach()).reshape(-1).float().numpy() for parameter in fresh.parameters()]
        return np.concatenate(flat)

    def loaded(self, parameters: Tensors) -> torch.nn.Module:
        """A new module with these parameters, by `ParameterShape.name`."""
        fresh = self._make()
        given = {name.removeprefix(_PREFIX): parameter for name, parameter in parameters.items()}
        fresh.load_state_dict(given | dict(self._module.named_buffers()), strict=False)
        return fresh

    def copied_parameters(self, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        """Leaves with the values that the module was made with, on the CPU, by `ParameterShape.name`."""
        return {
            f"{_PREFIX}{name}": parameter.detach().to(dtype, copy=True).requires_grad_()
            for name, parameter in self._module.named_parameters()
        }

    def copied_buffers(self, dtype: torch.dtype, device: torch.device) -> Buffers:
        """The module's constants by their names in it, floats in `dtype`."""
        return {
            name: buffer.detach().to(device, dtype if buffer.is_floating_point() else buffer.dtype, copy=True)
            for name, buffer in self._module.named_buffers()
        }

    def _make(self, seed: int = _CONSTANTS_SEED) -> torch.nn.Module:
        with _MAKING, torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return self._construct()


def _lying(parameter: torch.Tensor) -> torch.Tensor:
    # As it lies in the vector: (out, in, height, width) as (out, height, width, in), see `ParameterShape.shape`.
    return parameter.permute(0, 2, 3, 1) if parameter.dim() == 4 else parameter
