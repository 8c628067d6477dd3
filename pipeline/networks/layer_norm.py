"""Layer normalisation (Ba et al. 2016). It takes the place of a target network in PQN (Gallici et al. 2025).

Not here: the layers behind which it stands (`pipeline.networks.linear`, `.nature_layer_norm`).
"""

import torch
import torch.nn.functional as F

from pipeline.networks.parameters import Constant, ParameterShape, Tensors

EPSILON = 1e-6
"""Added to the variance (published code of Gallici et al. 2025)."""


def norm_shapes(layer: str, size: int) -> list[ParameterShape]:
    """What is learned of the normalisation behind a layer with so many outputs."""
    return [
        ParameterShape(f"{layer}.scale", (size,), Constant(1.0)),
        ParameterShape(f"{layer}.shift", (size,), Constant(0.0)),
    ]


def normalised(layer: str, parameters: Tensors, x: torch.Tensor) -> torch.Tensor:
    """(..., size) -> the same with mean 0 and deviation 1 along the last axis, scaled and shifted."""
    return F.layer_norm(x, x.shape[-1:], parameters[f"{layer}.scale"], parameters[f"{layer}.shift"], EPSILON)
