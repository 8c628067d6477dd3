"""A network as a value: its parameters' order, and what it computes from them, as pure functions.

    uint8 (B, K, H, W[, 3]) -> torso -> features (B, F) -> head -> outputs: float32 (B, A), or (B, A, N)

With one atom an output is Q(s, a) itself. With N > 1 atoms it is the logits of a distribution over N returns, the
`support`, and Q(s, a) is that distribution's mean (C51, Bellemare et al. 2017).
Not here: dtypes, devices and gradients (`pipeline.networks.replica`).
"""

import numpy as np
import torch

from pipeline.networks import nature
from pipeline.networks.config import NetworkConfig
from pipeline.networks.heads import Head, make_head
from pipeline.networks.linear import Noise
from pipeline.networks.parameters import ParameterShape, Tensors, initial_parameters, num_parameters
from pipeline.types import Float32Array


def make_network(config: NetworkConfig, stack: int, frame_shape: tuple[int, ...], num_actions: int) -> "Network":
    """The network that `config` asks for. Raises ValueError when the frame is too small for it."""
    shapes, num_features = nature.convolution_shapes(stack, frame_shape)
    head = make_head(config, num_features, num_actions)
    support = torch.linspace(config.min_return, config.max_return, config.num_atoms) if config.num_atoms > 1 else None
    return Network(shapes, head, support)


class Network:
    """Convolutions of the Nature network with a head. Holds no parameters."""

    def __init__(self, torso_shapes: list[ParameterShape], head: Head, support: torch.Tensor | None) -> None:
        self.shapes: tuple[ParameterShape, ...] = (
            *torso_shapes,
            *(shape for layer in head.layers for shape in layer.shapes()),
        )
        """In vector order, the output layers last."""
        self.num_parameters = num_parameters(self.shapes)
        self.support = support
        """(N,) float32 on the CPU: the returns that atoms stand for; None with one atom."""
        self._head = head

    def initial_parameters(self, rng: np.random.Generator) -> Float32Array:
        """(P,) fresh parameters; see `pipeline.networks.parameters.initial_parameters`."""
        return initial_parameters(self.shapes, rng)

    def draw_noise(self, generator: torch.Generator) -> Noise:
        """Fresh noise for the noisy layers; nothing is drawn for a network without any."""
        return {layer.name: layer.draw_noise(generator) for layer in self._head.layers if layer.noise_scale is not None}

    def outputs(self, parameters: Tensors, observations: torch.Tensor, noise: Noise) -> torch.Tensor:
        """float32 (B, A), or logits (B, A, N), of uint8 observations (B, K, H, W[, 3])."""
        return self._head(parameters, nature.features(parameters, observations), noise)


def expected_values(logits: torch.Tensor, support: torch.Tensor) -> torch.Tensor:
    """Q(s, a) = sum_i support_i * softmax(logits)_i: (B, A, N) and (N,) -> (B, A) float32.

    Bellemare et al. 2017, section 4.
    """
    return (logits.softmax(dim=2) * support).sum(dim=2)
