"""An ordinary torch module as a network: `network=module network.class=my_package.MyNet`.

    MyNet(stack, frame_shape, num_actions)     how it is made: 4, (84, 84) or (84, 84, 3), 6
    forward(frames)                            (B, C, H, W) in the dtype of its parameters, 0 to 255, channels-last;
                                               C = stack, oldest first, or 3 * stack for RGB
        -> Q-values (B, A)                     with algorithm.kind=q_learning
        -> logits (B, A), value (B,) or (B, 1) with algorithm.kind=actor_critic

Its parameters lie in the flat vector in the order of `named_parameters`. Their first values are the module's own: it is
made anew with torch's generator seeded from the run's stream. Its buffers are constants, in the dtype of the
parameters. All of it computes in the precision of the run, unlike our own output layers; a module that cannot compute
in bfloat16 computes in float32 where precision is "auto".
Not here: networks of our own layers, with noise and atoms (`pipeline.networks.layered`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import torch

from pipeline.errors import ConfigError
from pipeline.kinds import imported
from pipeline.networks.config import ACTOR_CRITIC_NETWORK, Q_NETWORK, NetworkConfig
from pipeline.networks.linear import Noise
from pipeline.networks.network import ActorCriticNetwork, Network, QNetwork
from pipeline.networks.parameters import Tensors
from pipeline.networks.policy_head import PolicyAndValue
from pipeline.networks.trial import NUM_FRAMES, cannot_compute_in, faults, in_words
from pipeline.networks.wrapped import WrappedModule
from pipeline.settings import MISSING
from pipeline.types import Float32Array

ANSWERS: Mapping[str, str] = {"q_learning": Q_NETWORK, "actor_critic": ACTOR_CRITIC_NETWORK}
"""What `forward` answers for each algorithm."""


@dataclass(frozen=True)
class ModuleNetworkConfig(NetworkConfig):
    """A torch module of the user's own."""

    KINDS = ("module",)
    NOT_ITS_OWN = frozenset({"torso", "hidden_units", "centred_pixels"})

    class_: str
    """Where it is, e.g. "my_package.MyNet": a class below `torch.nn.Module`. The setting's name is `network.class`."""
    answers_for: str
    """The kind of algorithm that it is made for, one of ANSWERS."""

    @property
    def answers(self) -> str:
        """See `NetworkConfig`."""
        return ANSWERS[self.answers_for]

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = super().mistakes()
        if self.class_ == MISSING:
            found.append("class is missing: name a torch module of yours, e.g. network.class=my_package.MyNet")
        else:
            try:
                imported(self.class_, torch.nn.Module)
            except ConfigError as error:
                found.append(f"class={self.class_} {error.mistakes[0]}")
        if self.answers_for not in ANSWERS:
            found.append(f"answers_for={self.answers_for} must be one of {', '.join(ANSWERS)}")
        return found

    def unfit_for(self, algorithm: str, wanted: str) -> str | None:
        """See `NetworkConfig`."""
        if self.answers_for not in ANSWERS or self.answers == wanted:
            return None
        made_for = next(kind for kind, answers in ANSWERS.items() if answers == wanted)
        return f"answers_for={self.answers_for} must be {made_for} with algorithm.kind={algorithm}"

    def unfit_for_games(
        self, stack: int, frame_shape: tuple[int, ...], num_actions: Callable[[], int], precision: str
    ) -> list[str]:
        """See `NetworkConfig`. The module is made, and computes a little."""
        size = (stack, frame_shape, num_actions())
        try:
            module = self._wrapped(*size)
        except Exception as error:  # whatever its constructor raises
            return [f"class={self.class_} cannot be made as {self.class_.rpartition('.')[2]}{size}: {in_words(error)}"]
        found = faults(module, *self._wanted(size[2]))
        if not found and precision == "bfloat16" and (why := cannot_compute_in(module, torch.bfloat16)) is not None:
            found = [f"cannot compute in precision=bfloat16: {why}"]
        return [f"class={self.class_} {line}" for line in found]

    def make(self, stack: int, frame_shape: tuple[int, ...], num_actions: int) -> Network:
        """See `NetworkConfig`."""
        made = ModuleQNetwork if self.answers == Q_NETWORK else ModuleActorCriticNetwork
        return made(self._wrapped(stack, frame_shape, num_actions))

    def _wrapped(self, stack: int, frame_shape: tuple[int, ...], num_actions: int) -> WrappedModule:
        return WrappedModule(imported(self.class_, torch.nn.Module), stack, frame_shape, num_actions)

    def _wanted(self, num_actions: int) -> tuple[str, list[list[tuple[int, ...]]]]:
        """What `forward` has to answer to NUM_FRAMES observations: in words, and what each tensor may look like."""
        of_actions = (NUM_FRAMES, num_actions)
        if self.answers == Q_NETWORK:
            return f"Q-values {of_actions}", [[of_actions]]
        values: list[tuple[int, ...]] = [(NUM_FRAMES,), (NUM_FRAMES, 1)]
        return f"logits {of_actions} and values {' or '.join(map(str, values))}", [[of_actions], values]


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
