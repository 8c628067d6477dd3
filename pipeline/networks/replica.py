"""A role's copy of the network: one flat vector, of which all parameter tensors are views.

Loading parameters is one copy, not one per tensor; a gradient leaves as one float32 vector in the same order.
Not here: where parameters come from (`pipeline.param_server.client`), what a gradient is of (`pipeline.roles.learner`).
"""

import math
from collections.abc import Sequence

import torch
from torch.utils.dlpack import from_dlpack

from pipeline.networks.nature import ParameterShape, num_parameters, q_values
from pipeline.types import Float32Array, UInt8Array

HEAD = "head."


class Replica:
    """Parameters on a device, torso in `dtype`, head in float32.

    `parameters` are leaves that require gradients, in vector order.
    """

    def __init__(self, shapes: Sequence[ParameterShape], dtype: torch.dtype, device: torch.device) -> None:
        self.device = device
        self._num_parameters = num_parameters(shapes)
        self._num_torso = num_parameters([p for p in shapes if not p.name.startswith(HEAD)])
        self._torso = torch.zeros(self._num_torso, dtype=dtype, device=device)
        self._head = torch.zeros(self._num_parameters - self._num_torso, device=device)
        self.parameters = [view.requires_grad_() for view in _views(shapes, self._torso, self._head)]
        self._gradient = torch.zeros(self._num_parameters, device=device)
        head = self._gradient[self._num_torso :]
        self._gradient_views = _views(shapes, self._gradient[: self._num_torso], head)

    def load(self, flat: Float32Array) -> None:
        """Take over all P parameters. Raises ValueError for another length."""
        if flat.shape != (self._num_parameters,):
            raise ValueError(f"got parameters of shape {flat.shape}, the network has ({self._num_parameters},)")
        # Unlike from_numpy, this takes the server's read-only array without a copy and without a warning.
        vector = from_dlpack(flat)
        self._torso.copy_(vector[: self._num_torso])
        self._head.copy_(vector[self._num_torso :])

    def q_values(self, observations: UInt8Array) -> torch.Tensor:
        """Q(s, a), float32 (B, A), of uint8 observations (B, K, H, W[, 3])."""
        return q_values(self.parameters, torch.from_numpy(observations).to(self.device))

    def values(self, observations: UInt8Array) -> torch.Tensor:
        """The same without a graph: for acting and for targets."""
        with torch.no_grad():
            return self.q_values(observations)

    def gradient(self, loss: torch.Tensor) -> torch.Tensor:
        """d loss / d parameters as float32 (P,) on the device; the tensor is overwritten by the next call."""
        gradients = torch.autograd.grad(loss, self.parameters)
        torch._foreach_copy_(self._gradient_views, list(gradients))
        return self._gradient


def _views(shapes: Sequence[ParameterShape], torso: torch.Tensor, head: torch.Tensor) -> list[torch.Tensor]:
    views, offsets = [], {False: 0, True: 0}
    for parameter in shapes:
        in_head = parameter.name.startswith(HEAD)
        start, size = offsets[in_head], math.prod(parameter.shape)
        view = (head if in_head else torso)[start : start + size].view(parameter.shape)
        # (out, height, width, in) seen as (out, in, height, width): torch calls that layout channels-last.
        views.append(view.permute(0, 3, 1, 2) if len(parameter.shape) == 4 else view)
        offsets[in_head] = start + size
    return views
