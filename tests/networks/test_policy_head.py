"""The actor-critic head against slow NumPy, and what its parameters are and start with."""

import math

import numpy as np
import pytest
import torch

from pipeline.networks.parameters import Constant, Uniform
from pipeline.networks.policy_head import ActorCriticHead
from tests.networks.configs import actor_critic_config

NUM_FEATURES, NUM_ACTIONS, BATCH = 5, 3, 4
FEATURES = torch.randn(BATCH, NUM_FEATURES, generator=torch.Generator().manual_seed(0))
ACTIVATIONS = ["relu", "prelu", "linear"]


def make(activation: str) -> tuple[ActorCriticHead, dict[str, torch.Tensor]]:
    """A head and parameters at random, the slope among them."""
    config = actor_critic_config(activation=activation)
    head = ActorCriticHead(NUM_FEATURES, NUM_ACTIONS, config.hidden_units, config.activation, config.policy_scale)
    generator = torch.Generator().manual_seed(1)
    return head, {shape.name: torch.randn(shape.shape, generator=generator) for shape in head.shapes}


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_policy_and_value_share_a_hidden_layer(activation: str) -> None:
    head, parameters = make(activation)
    found = head(parameters, FEATURES)
    assert found.logits.shape == (BATCH, NUM_ACTIONS) and found.value.shape == (BATCH,)
    p = {name: value.double().numpy() for name, value in parameters.items()}
    for b in range(BATCH):
        x = p["hidden.weight"] @ FEATURES[b].double().numpy()
        if activation != "linear":
            slope = p["hidden.slope"][0] if activation == "prelu" else 0.0
            x += p["hidden.bias"]
            x = np.array([unit if unit > 0 else slope * unit for unit in x])
        logits = p["head.policy.weight"] @ x + p["head.policy.bias"]
        value = p["head.value.weight"][0] @ x + p["head.value.bias"][0]
        np.testing.assert_allclose(found.logits[b].numpy(), logits, rtol=1e-4, atol=1e-5)
        assert found.value[b].item() == pytest.approx(value, rel=1e-4, abs=1e-5)


def test_the_slope_learns_from_the_units_below_zero_alone() -> None:
    head, parameters = make("prelu")
    slope = parameters["hidden.slope"].requires_grad_()
    (gradient,) = torch.autograd.grad(head(parameters, FEATURES).value.sum(), slope)
    units = FEATURES @ parameters["hidden.weight"].T + parameters["hidden.bias"]
    assert gradient.item() == pytest.approx(
        (units.clamp(max=0) @ parameters["head.value.weight"].T).sum().item(), rel=1e-4
    )


@pytest.mark.parametrize(
    ("activation", "hidden"),
    [
        ("relu", ["hidden.weight", "hidden.bias"]),
        ("prelu", ["hidden.weight", "hidden.bias", "hidden.slope"]),
        ("linear", ["hidden.weight"]),
    ],
)
def test_a_linear_hidden_layer_has_no_bias_and_one_with_prelu_one_slope(activation: str, hidden: list[str]) -> None:
    head, _ = make(activation)
    output = ["head.policy.weight", "head.policy.bias", "head.value.weight", "head.value.bias"]
    assert [shape.name for shape in head.shapes] == hidden + output
    assert [shape.in_head for shape in head.shapes] == [False] * len(hidden) + [True] * 4


def test_weights_start_in_unit_scaling_biases_at_zero_and_the_slope_near_it() -> None:
    head, _ = make("prelu")
    initial = {shape.name: shape.initial for shape in head.shapes}
    assert initial == {
        "hidden.weight": Uniform(1.43 * math.sqrt(3 / NUM_FEATURES)),
        "hidden.bias": Constant(0.0),
        "hidden.slope": Constant(0.001),
        "head.policy.weight": Uniform(1.43 * math.sqrt(3 / 16)),
        "head.policy.bias": Constant(0.0),
        "head.value.weight": Uniform(1.43 * math.sqrt(3 / 16)),
        "head.value.bias": Constant(0.0),
    }


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_of_half_precision_features_policy_and_value_are_full_precision(activation: str) -> None:
    head, parameters = make(activation)
    mixed = {name: value if name.startswith("head.") else value.bfloat16() for name, value in parameters.items()}
    found, exact = head(mixed, FEATURES.bfloat16()), head(parameters, FEATURES)
    assert found.logits.dtype == found.value.dtype == torch.float32
    torch.testing.assert_close(found.logits, exact.logits, rtol=0.05, atol=0.3)
    torch.testing.assert_close(found.value, exact.value, rtol=0.05, atol=0.3)
