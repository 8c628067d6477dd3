"""What stands behind the torso of an actor-critic network: a hidden layer that policy and value share, and theirs.

    features -> hidden -> activation -> logits, one per action
                                     -> value, one

As in the published code of Adamski et al. 2018 (Distributed-BA3C, BA3C-CPU), first values included:

    weights   uniform in +-1.43 sqrt(3 / fan-in), TensorFlow's "uniform unit scaling" with a factor of 1.43; those of
              the policy with a factor that is a setting, `policy_scale`
    biases    0
    slope     0.001, of "prelu"

Departures: the authors cut DBA3C's hidden layer into four tensors, to spread it over four servers, and clip each;
here it is one, since servers cut the flat vector. BA3C-CPU's first values could not be seen, DBA3C's serve both.
The hidden layer computes in the dtype of the features, the output layers in float32, as in `pipeline.networks.heads`.
Not here: how an action is drawn from logits (`pipeline.algorithms.actor_critic`).
"""

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F

from pipeline.networks.activations import LINEAR, PRELU, RELU
from pipeline.networks.ordinary import MakeLinear, PolicyAndValueLayers
from pipeline.networks.parameters import HEAD, Constant, ParameterShape, PlainNames, Tensors, Uniform

_UNIT_SCALING = 1.43
_INITIAL_SLOPE = 0.001

_HIDDEN, _POLICY, _VALUE = "hidden", f"{HEAD}policy", f"{HEAD}value"


class PolicyAndValue(NamedTuple):
    """What an actor-critic network says of B observations."""

    logits: torch.Tensor
    """(B, A) float32: the policy is their softmax."""
    value: torch.Tensor
    """(B,) float32: V(s)."""


class ActorCriticHead:
    """A hidden layer and two output layers, as a pure function of their parameters."""

    def __init__(
        self, num_features: int, num_actions: int, hidden_units: int, activation: str, policy_scale: float
    ) -> None:
        self._activation = activation
        hidden = _scaled_layer(_HIDDEN, num_features, hidden_units, _UNIT_SCALING)
        if activation == LINEAR:
            hidden = hidden[:1]
        if activation == PRELU:
            hidden.append(ParameterShape(f"{_HIDDEN}.slope", (1,), Constant(_INITIAL_SLOPE)))
        policy = _scaled_layer(_POLICY, hidden_units, num_actions, policy_scale)
        value = _scaled_layer(_VALUE, hidden_units, 1, _UNIT_SCALING)
        self.shapes = (*hidden, *policy, *value)
        """In vector order, the output layers last."""
        self.plain = PlainNames(_HIDDEN, (_POLICY, _VALUE)) if activation == RELU else None
        """Names of its layers, where the hidden one is rectified."""

    def __call__(self, parameters: Tensors, features: torch.Tensor) -> PolicyAndValue:
        """(B, F) in any dtype -> logits (B, A) and value (B,), float32."""
        x = _linear(_HIDDEN, parameters, features)
        if self._activation == RELU:
            x = F.relu(x, inplace=True)
        elif self._activation == PRELU:
            x = F.prelu(x, parameters[f"{_HIDDEN}.slope"])
        x = x.float()
        return PolicyAndValue(_linear(_POLICY, parameters, x), _linear(_VALUE, parameters, x).squeeze(1))

    def ordinary(self, parameters: Tensors, linear: MakeLinear) -> torch.nn.Module:
        """The same as torch's own layers."""
        hidden = torch.nn.Sequential(linear(_HIDDEN, True))
        if self._activation == RELU:
            hidden.append(torch.nn.ReLU())
        elif self._activation == PRELU:
            slope = torch.nn.PReLU()
            slope.weight.data.copy_(parameters[f"{_HIDDEN}.slope"])
            hidden.append(slope)
        return PolicyAndValueLayers(hidden, linear(_POLICY, False), linear(_VALUE, False))


def _scaled_layer(name: str, num_inputs: int, num_outputs: int, factor: float) -> list[ParameterShape]:
    return [
        ParameterShape(f"{name}.weight", (num_outputs, num_inputs), Uniform(factor * math.sqrt(3 / num_inputs))),
        ParameterShape(f"{name}.bias", (num_outputs,), Constant(0.0)),
    ]


def _linear(name: str, parameters: Tensors, x: torch.Tensor) -> torch.Tensor:
    return F.linear(x, parameters[f"{name}.weight"], parameters.get(f"{name}.bias"))
