"""An ordinary torch module as a network: `network=module network.class=my_package.MyNet`.

    MyNet(stack, frame_shape, num_actions)     how it is made: 4, (84, 84) or (84, 84, 3), 6
    forward(frames)                            (B, C, H, W) in the dtype of its parameters, 0 to 255, channels-last;
                                               C = stack, oldest first, or 3 * stack for RGB
        -> Q-values (B, A)                     with algorithm.kind=q_learning
        -> logits (B, A), value (B,) or (B, 1) with algorithm.kind=actor_critic

Its parameters lie in the flat vector in the order of `named_parameters`. Their first values are the module's own: it is
made anew with torch's generator seeded from the run's stream. Its buffers are constants, in the dtype of the
parameters; what it draws for them with torch is the same in every role and every run. All of it computes in the
precision of the run, unlike our own output layers; a module that cannot compute in bfloat16 computes in float32 where
precision is "auto".
Not here: its settings (`pipeline.networks.config`); networks of our own layers, with noise and atoms
(`pipeline.networks.layered`).
"""

from functools import cached_property
from typing import Any, cast

import numpy as np
import torch

from pipeline.networks.linear import Noise
from pipeline.networks.network import ActorCriticNetwork, Network, QNetwork
from pipeline.networks.ordinary import OfFrames
from pipeline.networks.parameters import Tensors
from pipeline.networks.policy_head import PolicyAndValue
from pipeline.networks.trial import cannot_compute_in
from pipeline.networks.wrapped import WrappedModule
from pipeline.types import Float32Array


class _OfModule(Network):
    """What both kinds of network have of their module."""

    def __init__(self, module: WrappedModule) -> None:
        super().__init__(module.shapes)
        self._module = module

    def initial_parameters(self, rng: np.random.Generator) -> Float32Array:
        """(P,) what a new module begins with."""
        return self._module.initial_parameters(rng)

    def usable_dtype(self, dtype: torch.dtype) -> torch.dtype:
        """`dtype` if the module computes in it."""
        return dtype if dtype == torch.float32 or self._has_bfloat16 else torch.float32

    def ordinary(self, parameters: Tensors) -> torch.nn.Module:
        """The user's own module."""
        return OfFrames(self._module.loaded(parameters))

    @cached_property
    def _has_bfloat16(self) -> bool:
        return cannot_compute_in(self._module, torch.bfloat16) is None


class ModuleQNetwork(_OfModule, QNetwork):
    """A module that values actions, each by its mean return."""

    def outputs(self, parameters: Tensors, observations: torch.Tensor, noise: Noise) -> torch.Tensor:
        """See `QNetwork`."""
        return cast(torch.Tensor, self._module(parameters, observations)).float()


class ModuleActorCriticNetwork(_OfModule, ActorCriticNetwork):
    """A module that prefers actions and values states."""

    def outputs(self, parameters: Tensors, observations: torch.Tensor) -> PolicyAndValue:
        """See `ActorCriticNetwork`."""
        logits, value = cast(tuple[Any, Any], self._module(parameters, observations))
        return PolicyAndValue(logits.float(), value.float().reshape(-1))
