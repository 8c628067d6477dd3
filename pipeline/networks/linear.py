"""Fully connected layers, with or without learned noise.

    plain   y = w x + b
    normal  y = (u - mean(u)) / sqrt(variance(u) + 1e-6) * scale + shift,   u = w x + b
    noisy   y = (w + w_sigma * (f(e_out) f(e_in)^T)) x + (b + b_sigma * f(e_out)),   f(e) = sign(e) sqrt(|e|)

Fortunato et al. 2018, section 3, "factorised Gaussian noise": e_in and e_out are standard normal, one number per input
and one per output. w and b are parameters as in a plain layer; w_sigma and b_sigma are learned too.
Not here: how large the noise is at first (`QNetworkConfig.noise_scale`), when new noise is drawn (`pipeline.roles`).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F

from pipeline.networks.layer_norm import norm_shapes, normalised
from pipeline.networks.parameters import Constant, ParameterShape, Tensors, weight_and_bias


class LayerNoise(NamedTuple):
    """The random numbers of one layer for one call, float32."""

    inputs: torch.Tensor
    """(num_inputs,): f(e_in)."""
    outputs: torch.Tensor
    """(num_outputs,): f(e_out)."""


Noise = Mapping[str, LayerNoise]
"""By `Linear.name`. A layer that is not in it computes without noise, from w and b alone."""

NO_NOISE: Noise = {}

SIGMA = "_sigma"
"""At the end of the name of a learned noise, which an agent that plays without noise does not have."""


class LayerKinds(NamedTuple):
    """What the fully connected layers of a network are."""

    noise_scale: float | None
    """sigma_0 of them all; None: they are plain."""
    layer_norm: bool
    """Whether the hidden ones are normalised."""


PLAIN_LAYERS = LayerKinds(None, layer_norm=False)


@dataclass(frozen=True)
class Linear:
    """One fully connected layer: where its parameters are, and what it computes."""

    name: str
    num_inputs: int
    num_outputs: int
    noise_scale: float | None
    """sigma_0 of a noisy layer; None: a plain one."""
    layer_norm: bool = False
    """Its outputs for one input are scaled to mean 0 and deviation 1, then by what is learned (Ba et al. 2016)."""

    def shapes(self) -> list[ParameterShape]:
        """Its parameters in vector order. Initial noise is sigma_0 / sqrt(num_inputs) everywhere.

        Fortunato et al. 2018, section 3.2, which has w and b uniform in +-1/sqrt(num_inputs), as all of ours are.
        """
        found = weight_and_bias(self.name, (self.num_outputs, self.num_inputs))
        if self.noise_scale is not None:
            sigma = Constant(self.noise_scale / math.sqrt(self.num_inputs))
            found += [mean._replace(name=f"{mean.name}{SIGMA}", initial=sigma) for mean in found]
        return found + norm_shapes(self.name, self.num_outputs) if self.layer_norm else found

    def draw_noise(self, generator: torch.Generator) -> LayerNoise:
        """Fresh noise, on the CPU whatever the device: runs with one seed then see the same noise on all devices."""
        normal = torch.randn(self.num_inputs + self.num_outputs, dtype=torch.float32, generator=generator)
        scaled = normal.sign() * normal.abs().sqrt()
        return LayerNoise(scaled[: self.num_inputs], scaled[self.num_inputs :])

    def __call__(self, parameters: Tensors, x: torch.Tensor, noise: Noise) -> torch.Tensor:
        """(B, num_inputs) -> (B, num_outputs), both in the dtype of the layer's parameters."""
        y = self._sums(parameters, x, noise)
        return normalised(self.name, parameters, y) if self.layer_norm else y

    def _sums(self, parameters: Tensors, x: torch.Tensor, noise: Noise) -> torch.Tensor:
        y = F.linear(x, parameters[f"{self.name}.weight"], parameters[f"{self.name}.bias"])
        if self.name not in noise:
            return y
        # The noisy weight is never formed: its outer product is applied to x before, and to the sum behind.
        inputs, outputs = (part.to(x) for part in noise[self.name])
        w_sigma = parameters[f"{self.name}.weight{SIGMA}"]
        b_sigma = parameters[f"{self.name}.bias{SIGMA}"]
        return y + outputs * F.linear(inputs * x, w_sigma, b_sigma)
