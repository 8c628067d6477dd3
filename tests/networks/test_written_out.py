"""Gradients that are written out are those of autograd, and only plain networks have them."""

from typing import Any

import numpy as np
import pytest
import torch

from pipeline.algorithms.actor_critic import actor_critic_loss
from pipeline.algorithms.q_learning import minibatch_loss
from pipeline.networks.linear import NO_NOISE
from pipeline.networks.replica import PolicyReplica, QReplica, Replica
from tests.networks.configs import actor_critic_config, network_config
from tests.rounding import assert_equal_but_for_rounding

CPU = torch.device("cpu")
BATCH_SIZE, NUM_ACTIONS, HIDDEN_UNITS = 7, 6, 24
FRAMES = np.random.default_rng(0).integers(0, 256, (BATCH_SIZE, 4, 84, 84), dtype=np.uint8)
A_TM1 = torch.arange(BATCH_SIZE) % NUM_ACTIONS
TARGET_TM1 = torch.linspace(-2.0, 2.0, BATCH_SIZE)
"""Some beyond the reach of a clipped error, some within it."""
WEIGHT = torch.linspace(0.2, 1.0, BATCH_SIZE)
FAN_INS = 8 * 8 * 4 + 4 * 4 * 32 + 3 * 3 * 64 + 7 * 7 * 64 + HIDDEN_UNITS
NUM_TERMS = 2 * FAN_INS + BATCH_SIZE * 20 * 20
"""Forward, back, and over the places of all examples."""


def q_loss(values: torch.Tensor) -> torch.Tensor:
    return minibatch_loss(values, A_TM1, TARGET_TM1, 1.0, WEIGHT).objective


def policy_loss(logits: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    return actor_critic_loss(logits, value, A_TM1, TARGET_TM1, entropy_weight=0.01, value_weight=0.5).objective


def loaded(replica: Any, network: Any) -> Any:
    replica.load(network.initial_parameters(np.random.default_rng(1)))
    return replica


def by_autograd(replica: Replica, loss: torch.Tensor) -> torch.Tensor:
    gradients = torch.autograd.grad(loss, list(replica.parameters.values()))
    lying = [g.permute(0, 2, 3, 1) if g.dim() == 4 else g for g in gradients]
    return torch.cat([g.reshape(-1).float() for g in lying])


def assert_alike(found: torch.Tensor, expected: torch.Tensor, replica: Replica, dtype: torch.dtype) -> None:
    sizes = [parameter.numel() for parameter in replica.parameters.values()]
    for mine, other in zip(found.split(sizes), expected.split(sizes), strict=True):
        assert mine.abs().max() > 0
        assert_equal_but_for_rounding(mine.to(dtype), other.to(dtype), NUM_TERMS)


@pytest.mark.parametrize(("torso", "centred"), [("nature", False), ("nature", True), ("dqn_2013", False)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_of_a_q_network_it_is_autograd_s(dtype: torch.dtype, torso: str, centred: bool) -> None:
    config = network_config(torso=torso, hidden_units=HIDDEN_UNITS, centred_pixels=centred)
    network = config.make(4, (84, 84), NUM_ACTIONS)
    assert network.plain_layers is not None
    replica = loaded(QReplica(network, dtype, CPU), network)
    expected = by_autograd(replica, q_loss(network.outputs(replica.parameters, torch.from_numpy(FRAMES), NO_NOISE)))
    assert_alike(replica.gradient(q_loss(replica.outputs(FRAMES))), expected, replica, dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_of_an_actor_critic_network_it_is_autograd_s(dtype: torch.dtype) -> None:
    config = actor_critic_config(torso="nature", activation="relu", hidden_units=HIDDEN_UNITS)
    network = config.make(4, (84, 84), NUM_ACTIONS)
    assert network.plain_layers is not None
    replica = loaded(PolicyReplica(network, dtype, CPU), network)
    expected = by_autograd(replica, policy_loss(*network.outputs(replica.parameters, torch.from_numpy(FRAMES))))
    assert_alike(replica.gradient(policy_loss(*replica.outputs(FRAMES))), expected, replica, dtype)


@pytest.mark.parametrize(
    "network",
    [
        network_config(dueling=True).make(4, (84, 84), 3),
        network_config(noisy=True).make(4, (84, 84), 3),
        network_config(num_atoms=5).make(4, (84, 84), 3),
        network_config(num_quantiles=5).make(4, (84, 84), 3),
        network_config(torso="ba3c").make(4, (84, 84), 3),
        actor_critic_config(torso="nature", activation="prelu").make(4, (84, 84), 3),
        actor_critic_config(torso="nature", activation="linear").make(4, (84, 84), 3),
    ],
    ids=["dueling", "noisy", "atoms", "quantiles", "another torso", "prelu", "linear"],
)
def test_other_networks_keep_autograd(network: Any) -> None:
    assert network.plain_layers is None


def test_a_loss_of_two_passes_is_refused_and_the_next_of_one_is_not() -> None:
    network = network_config().make(4, (84, 84), NUM_ACTIONS)
    replica = loaded(QReplica(network, torch.float32, CPU), network)
    expected = replica.gradient(q_loss(replica.outputs(FRAMES))).clone()
    with pytest.raises(RuntimeError, match="two passes"):
        replica.gradient(q_loss(replica.outputs(FRAMES)) + q_loss(replica.outputs(FRAMES)))
    assert torch.equal(replica.gradient(q_loss(replica.outputs(FRAMES))), expected)
