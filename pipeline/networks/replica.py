"""A role's copy of the network: one flat vector, of which all parameter tensors are views.

Loading parameters is one copy, not one per tensor; a gradient leaves as one float32 vector in the same order.
Not here: where parameters come from (`pipeline.param_server.client`), what a gradient is of (`pipeline.roles.learner`).
"""

from collections.abc import Sequence

import torch
from torch.utils.dlpack import from_dlpack

from pipeline.networks.linear import NO_NOISE
from pipeline.networks.network import Network, expected_values
from pipeline.networks.parameters import ParameterShape, num_parameters
from pipeline.types import Float32Array, UInt8Array


class Replica:
    """Parameters on a device, torso in `dtype`, head in float32.

    `parameters` are leaves that require gradients, by name, in vector order; `support` are the returns of the network's
    atoms (N,) on the device, None with one atom.

    `noise` of a call: the stream that noisy layers draw fresh noise from, as acting and learning do (Fortunato et al.
    2018, section 3.1). A network without noisy layers draws nothing.
    Departure: None, for evaluation, takes the layers' mean weights alone; the paper does not say what to do there.
    """

    def __init__(self, network: Network, dtype: torch.dtype, device: torch.device) -> None:
        self.device = device
        self.support = None if network.support is None else network.support.to(device)
        self._network = network
        self._num_torso = num_parameters([shape for shape in network.shapes if not shape.in_head])
        self._torso = torch.zeros(self._num_torso, dtype=dtype, device=device)
        self._head = torch.zeros(network.num_parameters - self._num_torso, device=device)
        views = _views(network.shapes, self._torso, self._head)
        names = [shape.name for shape in network.shapes]
        self.parameters = {name: view.requires_grad_() for name, view in zip(names, views, strict=True)}
        self._leaves = list(self.parameters.values())
        self._gradient = torch.zeros(network.num_parameters, device=device)
        head = self._gradient[self._num_torso :]
        self._gradient_views = _views(network.shapes, self._gradient[: self._num_torso], head)

    def load(self, flat: Float32Array) -> None:
        """Take over all P parameters. Raises ValueError for another length."""
        if flat.shape != (self._network.num_parameters,):
            raise ValueError(f"got parameters of shape {flat.shape}, the network has ({self._network.num_parameters},)")
        self.load_slice(0, flat)

    def load_slice(self, start: int, values: Float32Array) -> None:
        """Take over the parameters from number `start` on."""
        # Unlike from_numpy, this takes the server's read-only array without a copy and without a warning.
        vector = from_dlpack(values)
        in_torso = min(max(self._num_torso - start, 0), len(vector))
        if in_torso > 0:
            self._torso[start : start + in_torso].copy_(vector[:in_torso])
        if in_torso < len(vector):
            first = start + in_torso - self._num_torso
            self._head[first : first + len(vector) - in_torso].copy_(vector[in_torso:])

    def outputs(self, observations: UInt8Array, noise: torch.Generator | None = None) -> torch.Tensor:
        """What the head says, with a graph: float32 (B, A), or logits (B, A, N), of uint8 (B, K, H, W[, 3])."""
        drawn = NO_NOISE if noise is None else self._network.draw_noise(noise)
        return self._network.outputs(self.parameters, torch.from_numpy(observations).to(self.device), drawn)

    def q_values(self, outputs: torch.Tensor) -> torch.Tensor:
        """Q(s, a), float32 (B, A), that `outputs` mean."""
        return outputs if self.support is None else expected_values(outputs, self.support)

    def values(self, observations: UInt8Array, noise: torch.Generator | None = None) -> torch.Tensor:
        """Q(s, a), float32 (B, A), of uint8 (B, K, H, W[, 3]), without a graph: for acting and for choosing."""
        with torch.no_grad():
            return self.q_values(self.outputs(observations, noise))

    def gradient(self, loss: torch.Tensor) -> torch.Tensor:
        """d loss / d parameters as float32 (P,) on the device; the tensor is overwritten by the next call."""
        gradients = torch.autograd.grad(loss, self._leaves)
        torch._foreach_copy_(self._gradient_views, list(gradients))
        return self._gradient


def _views(shapes: Sequence[ParameterShape], torso: torch.Tensor, head: torch.Tensor) -> list[torch.Tensor]:
    views, offsets = [], {False: 0, True: 0}
    for parameter in shapes:
        start = offsets[parameter.in_head]
        view = (head if parameter.in_head else torso)[start : start + parameter.size].view(parameter.shape)
        # (out, height, width, in) seen as (out, in, height, width): torch calls that layout channels-last.
        views.append(view.permute(0, 3, 1, 2) if len(parameter.shape) == 4 else view)
        offsets[parameter.in_head] = start + parameter.size
    return views
