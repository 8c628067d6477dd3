"""A role's copy of the network: one flat vector, of which all parameter tensors are views.

Loading parameters is one copy, not one per tensor; a gradient leaves as one float32 vector in the same order.
Not here: where parameters come from (`pipeline.param_server.client`), what a gradient is of (`pipeline.roles.learner`,
`pipeline.roles.worker`).
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch.utils.dlpack import from_dlpack

from pipeline.networks.compute import keep_whole
from pipeline.networks.computed_gradient import ComputedGradient, DenseGradient, PartlyFactored
from pipeline.networks.implicit import ImplicitQNetwork
from pipeline.networks.linear import NO_NOISE
from pipeline.networks.network import ActorCriticNetwork, Network, QNetwork, expected_values
from pipeline.networks.parameters import ParameterShape, num_parameters
from pipeline.networks.policy_head import PolicyAndValue
from pipeline.networks.written_out import Activations, Gradient
from pipeline.types import Float32Array, UInt8Array


class Replica(ABC):
    """Parameters on a device, torso in `dtype` if the network can compute in it, head in float32.

    `parameters` are leaves that require gradients, by name, in vector order.
    """

    def __init__(self, network: Network, dtype: torch.dtype, device: torch.device) -> None:
        dtype = network.usable_dtype(dtype)
        keep_whole(dtype, device)
        self._network: Network = network
        self.device = device
        self._num_parameters = network.num_parameters
        self._num_torso = num_parameters([shape for shape in network.shapes if not shape.in_head])
        self._torso = torch.zeros(self._num_torso, dtype=dtype, device=device)
        self._head = torch.zeros(network.num_parameters - self._num_torso, dtype=torch.float32, device=device)
        views = _views(network.shapes, self._torso, self._head)
        names = [shape.name for shape in network.shapes]
        self.parameters = {name: view.requires_grad_() for name, view in zip(names, views, strict=True)}
        self._leaves = list(self.parameters.values())
        self._gradient = torch.zeros(network.num_parameters, dtype=torch.float32, device=device)
        head = self._gradient[self._num_torso :]
        self._gradient_views = _views(network.shapes, self._gradient[: self._num_torso], head)
        self._plain_layers = network.plain_layers
        self._written = Gradient(dict(zip(names, self._gradient_views, strict=True)))
        self.gradient_tensors = self._gradient.split([shape.size for shape in network.shapes])
        """What `gradient` answers, one flat float32 view per parameter tensor: to change one changes the whole."""

    def load(self, flat: Float32Array) -> None:
        """Take over all P parameters. Raises ValueError for another length."""
        if flat.shape != (self._num_parameters,):
            raise ValueError(f"got parameters of shape {flat.shape}, the network has ({self._num_parameters},)")
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

    def flat(self) -> Float32Array:
        """A copy of all P parameters, as `load` takes them."""
        flat: Float32Array = torch.cat([self._torso.detach().float(), self._head.detach()]).cpu().numpy()
        return flat

    @abstractmethod
    def preferences(self, observations: UInt8Array) -> torch.Tensor:
        """A number for each action, the larger the better, without a graph: Q-values, or logits, float32 (B, A)."""

    def ordinary(self) -> torch.nn.Module:
        """An ordinary torch module with these parameters, float32 on the CPU (`pipeline.networks.ordinary`)."""
        with torch.random.fork_rng(devices=[]):  # layers draw first values, which nobody keeps
            return self._network.ordinary(
                {name: p.detach().float().cpu() for name, p in self.parameters.items()}
            ).eval()

    def gradient(self, loss: torch.Tensor) -> torch.Tensor:
        """d loss / d parameters as float32 (P,) on the device; the tensor is overwritten by the next call."""
        self._written.is_written, self._written.factors = False, None
        gradients = torch.autograd.grad(loss, self._leaves, allow_unused=self._plain_layers is not None)
        if not self._written.is_written:
            torch._foreach_copy_(self._gradient_views, list(gradients))
        return self._gradient

    def computed_gradient(self, loss: torch.Tensor, *, factored: bool) -> ComputedGradient:
        """The same, to be clipped and sent; `factored`: without the hidden layer's product, which is never made.

        Only a network whose gradient is written out can do that: others raise ValueError.
        """
        if not factored:
            return DenseGradient(self.gradient(loss), self.gradient_tensors)
        self._written.wants_factors = True
        try:
            self.gradient(loss)
        finally:
            self._written.wants_factors = False
        if self._plain_layers is None or self._written.factors is None:
            raise ValueError("the gradient of this network is autograd's and has no factors: param_server.wire=dense")
        product = list(self.parameters).index(f"{self._plain_layers.hidden}.weight")
        return PartlyFactored(self.gradient_tensors, product, self._written.factors)

    def activations(self, observations: UInt8Array) -> Activations | None:
        """What a pass through the network leaves for the way back, if its gradient is written out; else None."""
        if self._plain_layers is None:
            return None
        return self._plain_layers.activations(self.parameters, torch.from_numpy(observations).to(self.device))

    def _plain_answers(self, observations: UInt8Array) -> tuple[torch.Tensor, ...] | None:
        """What each output layer answers, with a graph, if the network's gradient is written out."""
        if not torch.is_grad_enabled() or (activations := self.activations(observations)) is None:
            return None
        return self._answers(activations)

    def _answers(self, activations: Activations) -> tuple[torch.Tensor, ...]:
        assert self._plain_layers is not None, "others leave no activations"
        return self._plain_layers.answers(self.parameters, activations, self._written)


class Prediction(NamedTuple):
    """What a Q-network says of a minibatch."""

    outputs: torch.Tensor
    """float32 (B, A), or (B, A, N)."""
    fractions: torch.Tensor | None
    """(B, N) at which they are quantiles; None: they are none, or those of the midpoints (i + 0.5) / N."""


class QReplica(Replica):
    """A replica that values actions. `support`: the returns of the network's atoms (N,) on the device, None without.

    `has_quantiles`: its outputs are equally likely returns.

    `noise` of a call: the stream that noisy layers draw fresh noise from, as acting and learning do (Fortunato et al.
    2018, section 3.1). A network without noisy layers draws nothing.
    Departure: None, for evaluation, takes the layers' mean weights alone; the paper does not say what to do there.
    """

    _network: QNetwork

    def __init__(self, network: QNetwork, dtype: torch.dtype, device: torch.device) -> None:
        super().__init__(network, dtype, device)
        self.support = None if network.support is None else network.support.to(device)
        self.has_quantiles = network.num_quantiles > 1

    def outputs(self, observations: UInt8Array, noise: torch.Generator | None = None) -> torch.Tensor:
        """What the head says, with a graph: float32 (B, A), or (B, A, N), of uint8 (B, K, H, W[, 3])."""
        return self.predict(observations, noise).outputs

    def predict(self, observations: UInt8Array, noise: torch.Generator | None = None) -> Prediction:
        """`outputs`, and at which fractions they are quantiles, if these were drawn."""
        if (plain := self._plain_answers(observations)) is not None:
            return Prediction(plain[0], None)
        network = self._network
        if noise is None or not isinstance(network, ImplicitQNetwork):
            return Prediction(self._settled_outputs(observations, noise), None)
        stacks, drawn = torch.from_numpy(observations).to(self.device), network.draw_noise(noise)
        fractions = network.draw_fractions(noise, len(stacks)).to(self.device)
        return Prediction(network.outputs_at(fractions, self.parameters, stacks, drawn), fractions)

    def q_values(self, outputs: torch.Tensor) -> torch.Tensor:
        """Q(s, a), float32 (B, A), that `outputs` mean."""
        if self.has_quantiles:
            return outputs.mean(dim=2)
        return outputs if self.support is None else expected_values(outputs, self.support)

    def values(self, observations: UInt8Array, noise: torch.Generator | None = None) -> torch.Tensor:
        """Q(s, a), float32 (B, A), of uint8 (B, K, H, W[, 3]), without a graph: for acting and for choosing.

        Quantiles at the midpoints, whatever `noise` is: to choose draws no fractions.
        """
        with torch.no_grad():
            return self.q_values(self._settled_outputs(observations, noise))

    def preferences(self, observations: UInt8Array) -> torch.Tensor:
        """See `Replica`."""
        return self.values(observations)

    def _settled_outputs(self, observations: UInt8Array, noise: torch.Generator | None) -> torch.Tensor:
        drawn = NO_NOISE if noise is None else self._network.draw_noise(noise)
        return self._network.outputs(self.parameters, torch.from_numpy(observations).to(self.device), drawn)


class PolicyReplica(Replica):
    """A replica that prefers actions and values states."""

    _network: ActorCriticNetwork

    def __init__(self, network: ActorCriticNetwork, dtype: torch.dtype, device: torch.device) -> None:
        super().__init__(network, dtype, device)

    def outputs(self, observations: UInt8Array) -> PolicyAndValue:
        """Logits (B, A) and values (B,), float32, of uint8 (B, K, H, W[, 3]), with a graph: for learning."""
        if (plain := self._plain_answers(observations)) is not None:
            return _policy_and_value(*plain)
        return self._network.outputs(self.parameters, torch.from_numpy(observations).to(self.device))

    def answers(self, activations: Activations) -> PolicyAndValue:
        """The same of observations that left these activations at the parameters that are still here."""
        return _policy_and_value(*self._answers(activations))

    def policy_and_value(self, observations: UInt8Array) -> PolicyAndValue:
        """The same without a graph: for acting."""
        with torch.no_grad():
            return self.outputs(observations)

    def preferences(self, observations: UInt8Array) -> torch.Tensor:
        """See `Replica`."""
        return self.policy_and_value(observations).logits


def _policy_and_value(logits: torch.Tensor, value: torch.Tensor) -> PolicyAndValue:
    return PolicyAndValue(logits, value.squeeze(1))


def _views(shapes: Sequence[ParameterShape], torso: torch.Tensor, head: torch.Tensor) -> list[torch.Tensor]:
    views, offsets = [], {False: 0, True: 0}
    for parameter in shapes:
        start = offsets[parameter.in_head]
        view = (head if parameter.in_head else torso)[start : start + parameter.size].view(parameter.shape)
        # (out, height, width, in) seen as (out, in, height, width): torch calls that layout channels-last.
        views.append(view.permute(0, 3, 1, 2) if len(parameter.shape) == 4 else view)
        offsets[parameter.in_head] = start + parameter.size
    return views
