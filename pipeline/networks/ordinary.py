"""A trained network as an ordinary torch module, for programs that know nothing of ours.

    pixels 0 to 255, uint8 or float (B, C, H, W)  ->  Q-values (B, A), or logits (B, A) and value (B,), float32

C is the stack, oldest frame first, or 3 * stack for RGB. Scaling is part of the module. Its layers are torch's own, and
so is their order: features are flattened as (C, H, W), where ours lie as (H, W, C), and the columns of the layer behind
them are put in that order. Noisy layers are their means, as in evaluation.
Not here: which layers a network has (`Torso.ordinary`, `Head.ordinary`), our own way to compute
(`pipeline.networks.replica`).
"""

from collections.abc import Callable
from typing import NamedTuple, TypeVar, cast

import torch
from torch import nn

from pipeline.networks.layer_norm import EPSILON
from pipeline.networks.parameters import Tensors

LayerT = TypeVar("LayerT", nn.Conv2d, nn.Linear, nn.LayerNorm)

MakeLinear = Callable[[str, bool], nn.Module]
"""Name of a layer, and whether features are its inputs -> the layer with its weights, and its normalisation if any."""


class OrdinaryTorso(NamedTuple):
    """Convolutions as torch's own layers."""

    layers: nn.Sequential
    """Pixels (B, C, H, W) to features (B, F)."""
    num_channels: int
    """By which `layers` order features, (channels, places), where the torso has (places, channels); 1: alike."""


class Pixels(nn.Module):
    """Pixels 0 to 255 -> 0 to 1; `centred`: less the mean of each observation."""

    def __init__(self, centred: bool) -> None:
        super().__init__()
        self.centred = centred

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        """(B, C, H, W) -> the same in float32."""
        image = frames.float()
        if self.centred:
            image = image - image.mean(dim=(1, 2, 3), keepdim=True)
        return image / 255


class ChannelNorm(nn.Module):
    """The channels of each place, normalised (`pipeline.networks.nature_layer_norm`)."""

    def __init__(self, parameters: Tensors, layer: str) -> None:
        super().__init__()
        self.norm = _layer_norm(parameters, layer)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """(B, C, H, W) -> the same."""
        return cast(torch.Tensor, self.norm(image.permute(0, 2, 3, 1))).permute(0, 3, 1, 2)


class Dueling(nn.Module):
    """Two streams, joined as in `pipeline.networks.heads.DuelingHead`."""

    def __init__(self, value: nn.Module, advantage: nn.Module, num_outcomes: int) -> None:
        super().__init__()
        self.value, self.advantage, self.num_outcomes = value, advantage, num_outcomes

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """(B, F) -> (B, A), or (B, A, N) with N > 1 outcomes."""
        advantage = self.advantage(features).unflatten(1, (-1, self.num_outcomes))
        joined = self.value(features)[:, None] + advantage - advantage.mean(dim=1, keepdim=True)
        return cast(torch.Tensor, joined.squeeze(2) if self.num_outcomes == 1 else joined)


class Expected(nn.Module):
    """Logits of a return's distribution -> its mean (Bellemare et al. 2017, section 4)."""

    support: torch.Tensor

    def __init__(self, support: torch.Tensor) -> None:
        super().__init__()
        self.register_buffer("support", support.clone())

    def forward(self, logits: torch.Tensor) -> torch.Tensor:
        """(B, A, N) -> (B, A)."""
        return (logits.softmax(dim=2) * self.support).sum(dim=2)


class MeanOfQuantiles(nn.Module):
    """Equally likely returns -> their mean (Dabney et al. 2018, algorithm 1)."""

    def forward(self, quantiles: torch.Tensor) -> torch.Tensor:
        """(B, A, N) -> (B, A)."""
        return quantiles.mean(dim=2)


class AtFractions(nn.Module):
    """Implicit quantiles at fractions that are always the same (`pipeline.networks.implicit`)."""

    cosines: torch.Tensor

    def __init__(self, cosines: torch.Tensor, embedding: nn.Module, stream: nn.Module) -> None:
        """`cosines` (N, 64) of the fractions; `embedding`, rectified: (N, F), by which features are multiplied."""
        super().__init__()
        self.register_buffer("cosines", cosines.clone())
        self.embedding, self.stream = embedding, stream

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """(B, F) -> (B, A, N)."""
        joined = features[:, None] * self.embedding(self.cosines).relu()
        values = self.stream(joined.flatten(0, 1))
        return cast(torch.Tensor, values.unflatten(0, (-1, len(self.cosines))).transpose(1, 2))


class PolicyAndValueLayers(nn.Module):
    """A hidden layer that policy and value share."""

    def __init__(self, hidden: nn.Module, policy: nn.Module, value: nn.Module) -> None:
        super().__init__()
        self.hidden, self.policy, self.value = hidden, policy, value

    def forward(self, features: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """(B, F) -> logits (B, A) and value (B,)."""
        x = self.hidden(features)
        return self.policy(x), self.value(x).squeeze(1)


class OfFrames(nn.Module):
    """A module of a user's own, whose value may be (B, 1), asked with frames of any dtype."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, frames: torch.Tensor) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
        """(B, C, H, W) -> (B, A), or logits (B, A) and value (B,)."""
        answer = self.module(frames.float())
        if isinstance(answer, torch.Tensor):
            return answer
        logits, value = answer
        return logits, value.reshape(-1)


def convolution(parameters: Tensors, name: str, stride: int) -> nn.Conv2d:
    """A layer with the weights (O, C, H, W) of this name, and its bias if there is one."""
    weight, bias = parameters[f"{name}.weight"], parameters.get(f"{name}.bias")
    outputs, inputs, height, width = weight.shape
    layer = nn.Conv2d(inputs, outputs, (height, width), stride, bias=bias is not None, dtype=torch.float32)
    return _loaded(layer, weight, bias)


def linear_maker(parameters: Tensors, num_channels: int) -> MakeLinear:
    """Makes layers with these weights; `num_channels` as in `OrdinaryTorso`."""

    def make(name: str, of_features: bool) -> nn.Module:
        weight, bias = parameters[f"{name}.weight"], parameters.get(f"{name}.bias")
        if of_features:
            weight = in_channels_first(weight, num_channels)
        outputs, inputs = weight.shape
        layer = _loaded(nn.Linear(inputs, outputs, bias=bias is not None, dtype=torch.float32), weight, bias)
        return nn.Sequential(layer, _layer_norm(parameters, name)) if f"{name}.scale" in parameters else layer

    return make


def in_channels_first(columns: torch.Tensor, num_channels: int) -> torch.Tensor:
    """(O, F) whose columns belong to features as our torsos order them -> the same in torch's order."""
    by_place: torch.Tensor = columns.unflatten(1, (-1, num_channels))
    return by_place.transpose(1, 2).flatten(1)


def _layer_norm(parameters: Tensors, layer: str) -> nn.LayerNorm:
    scale, shift = parameters[f"{layer}.scale"], parameters[f"{layer}.shift"]
    return _loaded(nn.LayerNorm(len(scale), EPSILON, dtype=torch.float32), scale, shift)


def _loaded(layer: LayerT, weight: torch.Tensor, bias: torch.Tensor | None) -> LayerT:
    with torch.no_grad():
        layer.weight.copy_(weight)
        if bias is not None and layer.bias is not None:
            layer.bias.copy_(bias)
    return layer
