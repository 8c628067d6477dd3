"""A network as a value: its parameters' order, and what it computes from them, as pure functions.

    uint8 (B, K, H, W[, 3]) -> Q-network:     float32 (B, A), or (B, A, N)
                               actor-critic:  logits (B, A) and value (B,)

With one outcome an output of a Q-network is Q(s, a) itself. With N > 1 atoms it is the logits of a distribution over N
returns, the `support` (C51, Bellemare et al. 2017); with N > 1 quantiles it is N equally likely returns (QR-DQN, Dabney
et al. 2018). Q(s, a) is that distribution's mean.
Not here: networks of a torso and a head (`pipeline.networks.layered`), of torch modules (`pipeline.networks.module`);
which one settings ask for (`pipeline.networks.config`); dtypes, devices and gradients (`pipeline.networks.replica`).
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
import torch

from pipeline.errors import ConfigError
from pipeline.networks.linear import NO_NOISE, Noise
from pipeline.networks.parameters import ParameterShape, Tensors, initial_parameters, num_parameters
from pipeline.networks.policy_head import PolicyAndValue
from pipeline.networks.written_out import PlainLayers
from pipeline.types import Float32Array


class Network(ABC):  # noqa: B024  # its kinds answer differently
    """What all networks have. Holds no parameters."""

    def __init__(self, shapes: Sequence[ParameterShape]) -> None:
        self.shapes = tuple(shapes)
        """In vector order, the output layers last."""
        self.num_parameters = num_parameters(self.shapes)
        self.plain_layers: PlainLayers | None = None
        """Its layers, where its gradient is written out; None: autograd's."""

    def initial_parameters(self, rng: np.random.Generator) -> Float32Array:
        """(P,) fresh parameters; see `pipeline.networks.parameters.initial_parameters`."""
        return initial_parameters(self.shapes, rng)

    @property
    def num_filters(self) -> int:
        """Outputs of the first layer, whose weights come first in the vector."""
        return next(iter(self.shapes[0].shape), 1)

    def ordinary(self, parameters: Tensors) -> torch.nn.Module:
        """An ordinary torch module with these float32 parameters (`pipeline.networks.ordinary`).

        Raises ConfigError if the network has a torso that does not say which layers it is made of.
        """
        raise ConfigError([f"{type(self).__name__} is not made of torch's own layers: define `ordinary`"])

    def usable_dtype(self, dtype: torch.dtype) -> torch.dtype:
        """`dtype` if this network can compute in it, else float32."""
        return dtype


class QNetwork(Network):
    """Values actions."""

    support: torch.Tensor | None = None
    """(N,) float32 on the CPU: the returns that atoms stand for; None without atoms."""
    num_quantiles: int = 1
    """Equally likely returns of each action; 1: there are none."""

    def draw_noise(self, generator: torch.Generator) -> Noise:
        """Fresh noise for the noisy layers; nothing is drawn for a network without any."""
        return NO_NOISE

    @abstractmethod
    def outputs(self, parameters: Tensors, observations: torch.Tensor, noise: Noise) -> torch.Tensor:
        """float32 (B, A), or logits or quantiles (B, A, N), of uint8 observations (B, K, H, W[, 3])."""


class ActorCriticNetwork(Network):
    """Prefers actions, and values states."""

    @abstractmethod
    def outputs(self, parameters: Tensors, observations: torch.Tensor) -> PolicyAndValue:
        """Logits (B, A) and values (B,), float32, of uint8 observations (B, K, H, W[, 3])."""


def expected_values(logits: torch.Tensor, support: torch.Tensor) -> torch.Tensor:
    """Q(s, a) = sum_i support_i * softmax(logits)_i: (B, A, N) and (N,) -> (B, A) float32.

    Bellemare et al. 2017, section 4.
    """
    return (logits.softmax(dim=2) * support).sum(dim=2)
