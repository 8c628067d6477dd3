"""Networks of a torso and a head.

    uint8 (B, K, H, W[, 3]) -> torso -> features (B, F) -> head -> what the network answers

Not here: torsos (`pipeline.networks.torso`), heads (`pipeline.networks.heads`, `.policy_head`).
"""

import torch

from pipeline.errors import ConfigError
from pipeline.networks.heads import Head
from pipeline.networks.linear import Noise
from pipeline.networks.network import ActorCriticNetwork, QNetwork
from pipeline.networks.ordinary import Expected, MakeLinear, MeanOfQuantiles, OrdinaryTorso, linear_maker
from pipeline.networks.parameters import PlainNames, Tensors
from pipeline.networks.policy_head import ActorCriticHead, PolicyAndValue
from pipeline.networks.torso import DifferentiatedTorso, Torso
from pipeline.networks.written_out import PlainLayers


class LayeredQNetwork(QNetwork):
    """A torso and one or two streams that value actions."""

    def __init__(self, torso: Torso, head: Head, support: torch.Tensor | None, num_quantiles: int = 1) -> None:
        super().__init__([*torso.shapes, *(shape for layer in head.layers for shape in layer.shapes())])
        self.support = support
        self.num_quantiles = num_quantiles
        self._torso = torso
        self._head = head
        self.plain_layers = _plain_layers(torso, head.plain)

    def draw_noise(self, generator: torch.Generator) -> Noise:
        """See `QNetwork`."""
        return {layer.name: layer.draw_noise(generator) for layer in self._head.layers if layer.noise_scale is not None}

    def outputs(self, parameters: Tensors, observations: torch.Tensor, noise: Noise) -> torch.Tensor:
        """See `QNetwork`."""
        return self._head(parameters, self._torso(parameters, observations), noise)

    def ordinary(self, parameters: Tensors) -> torch.nn.Module:
        """See `Network`."""
        torso, linear = _ordinary(self._torso, parameters)
        layers = torch.nn.Sequential(torso, self._head.ordinary(linear))
        if self.support is not None:
            layers.append(Expected(self.support))
        return layers.append(MeanOfQuantiles()) if self.num_quantiles > 1 else layers


class LayeredActorCriticNetwork(ActorCriticNetwork):
    """A torso and a hidden layer that policy and value share."""

    def __init__(self, torso: Torso, head: ActorCriticHead) -> None:
        super().__init__([*torso.shapes, *head.shapes])
        self._torso = torso
        self._head = head
        self.plain_layers = _plain_layers(torso, head.plain)

    def outputs(self, parameters: Tensors, observations: torch.Tensor) -> PolicyAndValue:
        """See `ActorCriticNetwork`."""
        return self._head(parameters, self._torso(parameters, observations))

    def ordinary(self, parameters: Tensors) -> torch.nn.Module:
        """See `Network`."""
        torso, linear = _ordinary(self._torso, parameters)
        return torch.nn.Sequential(torso, self._head.ordinary(parameters, linear))


def _plain_layers(torso: Torso, head: PlainNames | None) -> PlainLayers | None:
    if head is None or not isinstance(torso, DifferentiatedTorso):
        return None
    return PlainLayers(torso, head.hidden, head.outputs)


def _ordinary(torso: Torso, parameters: Tensors) -> tuple[torch.nn.Sequential, MakeLinear]:
    found = ordinary_torso(torso, parameters)
    return found.layers, linear_maker(parameters, found.num_channels)


def ordinary_torso(torso: Torso, parameters: Tensors) -> OrdinaryTorso:
    """The torso as torch's own layers. Raises ConfigError if it does not say which these are."""
    found = torso.ordinary(parameters)
    if found is None:
        kind = type(torso).__qualname__
        raise ConfigError([f"{kind} does not say which of torch's layers it is made of: define `{kind}.ordinary`"])
    return found
