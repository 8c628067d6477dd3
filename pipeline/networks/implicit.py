"""A Q-network that is asked for returns at given fractions: implicit quantiles (IQN).

    fractions (B, N) -> cosines (B, N, 64) -> embedding, rectified (B, N, F)
    observations     -> torso -> features (B, F) --------- times ---------> hidden -> one value per action (B, A, N)

Dabney et al. 2018, "Implicit Quantile Networks for Distributional Reinforcement Learning" (arXiv 1806.06923), section 3
and equation 4. A learner draws fractions anew for every observation. Departure: whoever acts, evaluates or chooses the
next action of a target asks at the N midpoints (i + 0.5) / N, where the paper draws 32 fractions: a policy then has no
dice of its own.
The hidden layer, most of the network's numbers, is passed N times: N is small here (`conf/network/`).
Not here: the loss (`pipeline.algorithms.quantile`).
"""

import math

import torch
import torch.nn.functional as F

from pipeline.networks.layered import ordinary_torso
from pipeline.networks.linear import LayerKinds, Linear, Noise
from pipeline.networks.network import QNetwork
from pipeline.networks.ordinary import AtFractions, MeanOfQuantiles, in_channels_first, linear_maker
from pipeline.networks.parameters import HEAD, Tensors
from pipeline.networks.torso import Torso

NUM_COSINES = 64
"""Of the embedding: cos(pi i fraction), i from 0 on (Dabney et al. 2018, IQN, equation 4 and figure 5)."""


class ImplicitQNetwork(QNetwork):
    """A torso, an embedding of fractions, and one stream that values actions."""

    def __init__(
        self, torso: Torso, num_actions: int, hidden_units: int, num_quantiles: int, layers: LayerKinds
    ) -> None:
        """`num_quantiles`: N, fractions that are asked for at once; `layers`: those behind the torso."""
        self._embedding = Linear("embedding", NUM_COSINES, torso.num_features, layers.noise_scale)
        self._hidden = Linear("hidden", torso.num_features, hidden_units, *layers)
        self._output = Linear(f"{HEAD}output", hidden_units, num_actions, layers.noise_scale)
        self._layers = self._embedding, self._hidden, self._output
        super().__init__([*torso.shapes, *(shape for layer in self._layers for shape in layer.shapes())])
        self.num_quantiles = num_quantiles
        self._torso = torso

    def draw_noise(self, generator: torch.Generator) -> Noise:
        """See `QNetwork`."""
        return {layer.name: layer.draw_noise(generator) for layer in self._layers if layer.noise_scale is not None}

    def draw_fractions(self, generator: torch.Generator, num_observations: int) -> torch.Tensor:
        """(B, N) uniform in [0, 1), on the CPU whatever the device: with one seed they are the same on all devices."""
        return torch.rand(num_observations, self.num_quantiles, dtype=torch.float32, generator=generator)

    def outputs(self, parameters: Tensors, observations: torch.Tensor, noise: Noise) -> torch.Tensor:
        """See `QNetwork`; at the midpoints."""
        return self.outputs_at(self._midpoints(observations.device), parameters, observations, noise)

    def outputs_at(
        self, fractions: torch.Tensor, parameters: Tensors, observations: torch.Tensor, noise: Noise
    ) -> torch.Tensor:
        """float32 (B, A, N) of uint8 (B, K, H, W[, 3]) at float32 fractions (B, N); or (1, N), the same for all."""
        features = self._torso(parameters, observations)
        joined = features[:, None] * self._embedded(fractions, parameters, features.dtype, noise)
        x = F.relu(self._hidden(parameters, joined.flatten(0, 1), noise), inplace=True)
        values: torch.Tensor = self._output(parameters, x.float(), noise).unflatten(0, joined.shape[:2])
        return values.transpose(1, 2)

    def ordinary(self, parameters: Tensors) -> torch.nn.Module:
        """See `Network`."""
        torso = ordinary_torso(self._torso, parameters)
        linear = linear_maker(parameters, torso.num_channels)
        # Features are multiplied by what the embedding answers, which lies as they do.
        weight, bias = f"{self._embedding.name}.weight", f"{self._embedding.name}.bias"
        in_order = {
            weight: in_channels_first(parameters[weight].T, torso.num_channels).T,
            bias: in_channels_first(parameters[bias][None], torso.num_channels)[0],
        }
        at_midpoints = AtFractions(
            _cosines(self._midpoints(None))[0],
            linear_maker(in_order, torso.num_channels)(self._embedding.name, False),
            torch.nn.Sequential(linear(self._hidden.name, True), torch.nn.ReLU(), linear(self._output.name, False)),
        )
        return torch.nn.Sequential(torso.layers, at_midpoints, MeanOfQuantiles())

    def _midpoints(self, device: torch.device | None) -> torch.Tensor:
        """(1, N)."""
        steps = torch.arange(self.num_quantiles, dtype=torch.float32, device=device)
        return ((steps + 0.5) / self.num_quantiles)[None]

    def _embedded(self, fractions: torch.Tensor, parameters: Tensors, dtype: torch.dtype, noise: Noise) -> torch.Tensor:
        """(B, N) -> (B, N, F)."""
        cosines = _cosines(fractions).to(dtype)
        embedded = F.relu(self._embedding(parameters, cosines.flatten(0, 1), noise), inplace=True)
        unflattened: torch.Tensor = embedded.unflatten(0, fractions.shape)
        return unflattened


def _cosines(fractions: torch.Tensor) -> torch.Tensor:
    """(B, N) -> float32 (B, N, 64)."""
    frequencies = math.pi * torch.arange(NUM_COSINES, dtype=torch.float32, device=fractions.device)
    return torch.cos(fractions[:, :, None] * frequencies)
