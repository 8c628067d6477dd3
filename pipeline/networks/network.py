"""A network as a value: its parameters' order, and what it computes from them, as pure functions.

    uint8 (B, K, H, W[, 3]) -> torso -> features (B, F) -> head -> Q-network:     float32 (B, A), or (B, A, N)
                                                                   actor-critic:  logits (B, A) and value (B,)

With one atom an output of a Q-network is Q(s, a) itself. With N > 1 atoms it is the logits of a distribution over N
returns, the `support`, and Q(s, a) is that distribution's mean (C51, Bellemare et al. 2017).
Not here: dtypes, devices and gradients (`pipeline.networks.replica`).
"""

from collections.abc import Sequence
from typing import overload

import numpy as np
import torch

from pipeline.networks.config import BA3C, ActorCriticNetworkConfig, NetworkConfig, QNetworkConfig
from pipeline.networks.heads import Head, make_head
from pipeline.networks.linear import Noise
from pipeline.networks.nature import NatureTorso
from pipeline.networks.parameters import (
    ParameterShape,
    Tensors,
    initial_parameters,
    num_parameters,
    rectified_weight_and_bias,
    weight_and_bias,
)
from pipeline.networks.policy_head import ActorCriticHead, PolicyAndValue
from pipeline.networks.pooled import PooledTorso
from pipeline.networks.torso import Torso
from pipeline.types import Float32Array


class Network:
    """A torso and a head. Holds no parameters."""

    def __init__(self, torso: Torso, head_shapes: Sequence[ParameterShape]) -> None:
        self.shapes: tuple[ParameterShape, ...] = (*torso.shapes, *head_shapes)
        """In vector order, the output layers last."""
        self.num_parameters = num_parameters(self.shapes)
        self._torso = torso

    def initial_parameters(self, rng: np.random.Generator) -> Float32Array:
        """(P,) fresh parameters; see `pipeline.networks.parameters.initial_parameters`."""
        return initial_parameters(self.shapes, rng)


class QNetwork(Network):
    """Values actions."""

    def __init__(self, torso: Torso, head: Head, support: torch.Tensor | None) -> None:
        super().__init__(torso, [shape for layer in head.layers for shape in layer.shapes()])
        self.support = support
        """(N,) float32 on the CPU: the returns that atoms stand for; None with one atom."""
        self._head = head

    def draw_noise(self, generator: torch.Generator) -> Noise:
        """Fresh noise for the noisy layers; nothing is drawn for a network without any."""
        return {layer.name: layer.draw_noise(generator) for layer in self._head.layers if layer.noise_scale is not None}

    def outputs(self, parameters: Tensors, observations: torch.Tensor, noise: Noise) -> torch.Tensor:
        """float32 (B, A), or logits (B, A, N), of uint8 observations (B, K, H, W[, 3])."""
        return self._head(parameters, self._torso(parameters, observations), noise)


class ActorCriticNetwork(Network):
    """Prefers actions, and values states."""

    def __init__(self, torso: Torso, head: ActorCriticHead) -> None:
        super().__init__(torso, head.shapes)
        self._head = head

    def outputs(self, parameters: Tensors, observations: torch.Tensor) -> PolicyAndValue:
        """Logits (B, A) and values (B,), float32, of uint8 observations (B, K, H, W[, 3])."""
        return self._head(parameters, self._torso(parameters, observations))


@overload
def make_network(config: QNetworkConfig, stack: int, frame_shape: tuple[int, ...], num_actions: int) -> QNetwork: ...


@overload
def make_network(
    config: ActorCriticNetworkConfig, stack: int, frame_shape: tuple[int, ...], num_actions: int
) -> ActorCriticNetwork: ...


@overload
def make_network(config: NetworkConfig, stack: int, frame_shape: tuple[int, ...], num_actions: int) -> Network: ...


def make_network(config: NetworkConfig, stack: int, frame_shape: tuple[int, ...], num_actions: int) -> Network:
    """The network that `config` asks for. Raises ValueError when the frame is too small for it."""
    torso = _make_torso(config, stack, frame_shape)
    match config:
        case QNetworkConfig():
            return QNetwork(torso, make_head(config, torso.num_features, num_actions), _support(config))
        case ActorCriticNetworkConfig():
            return ActorCriticNetwork(torso, ActorCriticHead(config, torso.num_features, num_actions))
    raise TypeError(f"no network for {type(config).__name__}: use QNetworkConfig or ActorCriticNetworkConfig")


def expected_values(logits: torch.Tensor, support: torch.Tensor) -> torch.Tensor:
    """Q(s, a) = sum_i support_i * softmax(logits)_i: (B, A, N) and (N,) -> (B, A) float32.

    Bellemare et al. 2017, section 4.
    """
    return (logits.softmax(dim=2) * support).sum(dim=2)


def _make_torso(config: NetworkConfig, stack: int, frame_shape: tuple[int, ...]) -> Torso:
    if config.torso == BA3C:
        return PooledTorso(stack, frame_shape, config.centred_pixels)
    # Ours, for actor-critic: a run on Pong that began with the small first values of Mnih et al. 2015 ended with 31 of
    # its 32 first filters dead. These alone mended little, with `centred_pixels` all filters live (docs/papers.md).
    layer_shapes = weight_and_bias if isinstance(config, QNetworkConfig) else rectified_weight_and_bias
    return NatureTorso(stack, frame_shape, config.centred_pixels, layer_shapes)


def _support(config: QNetworkConfig) -> torch.Tensor | None:
    return torch.linspace(config.min_return, config.max_return, config.num_atoms) if config.num_atoms > 1 else None
