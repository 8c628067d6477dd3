"""What networks of either kind say of an observation, beside what they would play."""

import math

import numpy as np
import pytest

from pipeline.networks.config import NetworkConfig
from pipeline.rendering.overlay import POLICY, Opinion, Q
from pipeline.roles.opinions import opinions
from pipeline.types import Float32Array
from tests.networks.configs import actor_critic_config, network_config
from tests.protocols import nature_protocol
from tests.roles.test_evaluator import evaluator_spec, params_that_prefer

LEFT = 3
"""Of Breakout."""


def opinion_of_network(network: NetworkConfig, bias_name: str) -> Opinion:
    """Of a network that is all zero, but for the bias of one action."""
    spec = evaluator_spec(network)
    params: Float32Array = params_that_prefer(LEFT, spec, bias_name)
    environment = nature_protocol(frame_height=52, frame_width=52, stack=1)
    return opinions(network, "Breakout", environment, params, "cpu", "float32")(np.zeros((1, 52, 52), np.uint8))


def test_a_q_network_tells_its_q_values_and_their_maximum() -> None:
    opinion = opinion_of_network(network_config(), "head.output.bias")
    assert (opinion.kind, opinion.value, opinion.of_actions.tolist()) == (Q, 1.0, [0.0, 0.0, 0.0, 1.0])


def test_an_actor_critic_network_tells_its_policy_and_the_value_of_the_state() -> None:
    opinion = opinion_of_network(actor_critic_config(), "head.policy.bias")
    assert (opinion.kind, opinion.value) == (POLICY, 0.0)
    total = 3 + math.e
    assert opinion.of_actions.tolist() == pytest.approx([1 / total] * 3 + [math.e / total])
