"""What stands behind the torso of a Q-network: hidden layer and output layer, in one stream or two.

    one stream    features -> hidden -> one output per action
    dueling       features -> hidden_value -> v,  features -> hidden_advantage -> a per action,  v + a - mean of all a

An output is one value, or of N > 1 outcomes of a return the logits of N atoms, or N quantiles.
Hidden layers compute in the dtype of the features. Output layers and their sums are float32, because differences
between actions are often below bfloat16's resolution (about 0.4 % of the value).
Not here: what the outputs mean (`pipeline.networks.network`), noise (`pipeline.networks.linear`), policies
(`pipeline.networks.policy_head`).
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
import torch.nn.functional as F

from pipeline.networks.linear import PLAIN_LAYERS, LayerKinds, Linear, Noise
from pipeline.networks.ordinary import Dueling, MakeLinear
from pipeline.networks.parameters import HEAD, PlainNames, Tensors


class Head(ABC):
    """Some fully connected layers, hidden ones first, and the way they are joined."""

    layers: Sequence[Linear]
    """In vector order."""
    plain: PlainNames | None = None
    """Names of its layers, where they are plain ones in one stream, with one outcome."""

    @abstractmethod
    def __init__(
        self, num_features: int, num_actions: int, hidden_units: int, num_outcomes: int, layers: LayerKinds
    ) -> None:
        """`hidden_units` in each stream."""

    @abstractmethod
    def __call__(self, parameters: Tensors, features: torch.Tensor, noise: Noise) -> torch.Tensor:
        """(B, F) in any dtype -> float32 (B, A), or (B, A, N) with N > 1 outcomes."""

    @abstractmethod
    def ordinary(self, linear: MakeLinear) -> torch.nn.Module:
        """The same as torch's own layers, without noise."""


class PlainHead(Head):
    """One stream (Mnih et al. 2015, Methods, "Model architecture")."""

    def __init__(
        self, num_features: int, num_actions: int, hidden_units: int, num_outcomes: int, layers: LayerKinds
    ) -> None:
        self._num_outcomes = num_outcomes
        self._hidden = Linear("hidden", num_features, hidden_units, *layers)
        self._output = Linear(f"{HEAD}output", hidden_units, num_actions * num_outcomes, layers.noise_scale)
        self.layers = (self._hidden, self._output)
        if num_outcomes == 1 and layers == PLAIN_LAYERS:
            self.plain = PlainNames(self._hidden.name, (self._output.name,))

    def __call__(self, parameters: Tensors, features: torch.Tensor, noise: Noise) -> torch.Tensor:
        """See `Head`."""
        outputs = _stream(self._hidden, self._output, parameters, features, noise)
        return outputs if self._num_outcomes == 1 else outputs.unflatten(1, (-1, self._num_outcomes))

    def ordinary(self, linear: MakeLinear) -> torch.nn.Module:
        """See `Head`."""
        stream = _ordinary_stream(self._hidden, self._output, linear)
        return stream if self._num_outcomes == 1 else stream.append(torch.nn.Unflatten(1, (-1, self._num_outcomes)))


class DuelingHead(Head):
    """Two streams: output = v + a - mean over actions of a (Wang et al. 2016, equation 9).

    With several outcomes the sum is taken for each apart (Hessel et al. 2018, "The Integrated Agent").
    Departure: Wang et al. 2016 (section 4.2) scale the gradient that enters the torso by 1/sqrt(2); here it is whole.
    """

    def __init__(
        self, num_features: int, num_actions: int, hidden_units: int, num_outcomes: int, layers: LayerKinds
    ) -> None:
        self._num_outcomes = num_outcomes
        self._hidden_value = Linear("hidden_value", num_features, hidden_units, *layers)
        self._hidden_advantage = Linear("hidden_advantage", num_features, hidden_units, *layers)
        self._value = Linear(f"{HEAD}value", hidden_units, num_outcomes, layers.noise_scale)
        self._advantage = Linear(f"{HEAD}advantage", hidden_units, num_actions * num_outcomes, layers.noise_scale)
        self.layers = (self._hidden_value, self._hidden_advantage, self._value, self._advantage)

    def __call__(self, parameters: Tensors, features: torch.Tensor, noise: Noise) -> torch.Tensor:
        """See `Head`."""
        value = _stream(self._hidden_value, self._value, parameters, features, noise)
        advantage = _stream(self._hidden_advantage, self._advantage, parameters, features, noise)
        advantage = advantage.unflatten(1, (-1, self._num_outcomes))
        outputs: torch.Tensor = value[:, None] + advantage - advantage.mean(dim=1, keepdim=True)
        return outputs.squeeze(2) if self._num_outcomes == 1 else outputs

    def ordinary(self, linear: MakeLinear) -> torch.nn.Module:
        """See `Head`."""
        value = _ordinary_stream(self._hidden_value, self._value, linear)
        return Dueling(value, _ordinary_stream(self._hidden_advantage, self._advantage, linear), self._num_outcomes)


def _stream(hidden: Linear, output: Linear, parameters: Tensors, features: torch.Tensor, noise: Noise) -> torch.Tensor:
    x = F.relu(hidden(parameters, features, noise), inplace=True)
    return output(parameters, x.float(), noise)


def _ordinary_stream(hidden: Linear, output: Linear, linear: MakeLinear) -> torch.nn.Sequential:
    return torch.nn.Sequential(linear(hidden.name, True), torch.nn.ReLU(), linear(output.name, False))
