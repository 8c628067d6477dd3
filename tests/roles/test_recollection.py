"""What is recalled is what would be computed, of the present parameters only, and nothing of it is computed again."""

import numpy as np
import pytest
import torch

from pipeline.networks.network import ActorCriticNetwork
from pipeline.networks.replica import PolicyReplica
from pipeline.networks.written_out import Activations
from pipeline.roles.recollection import Recollection, num_activations
from pipeline.types import Float32Array, RolloutBatch, UInt8Array
from tests.networks.configs import actor_critic_config
from tests.rounding import assert_equal_but_for_rounding

STACK = (2, 52, 52)
NUM_ACTIONS = 6
FRAMES = np.random.default_rng(0).integers(0, 256, (9, *STACK), dtype=np.uint8)
NUM_TERMS = 2 * (8 * 8 * 2 + 4 * 4 * 32 + 3 * 3 * 64 + 3 * 3 * 64 + 16) + 9 * 12 * 12


def network_of(torso: str = "nature") -> ActorCriticNetwork:
    made = actor_critic_config(torso=torso, activation="relu").make(STACK[0], STACK[1:], NUM_ACTIONS)
    assert isinstance(made, ActorCriticNetwork)
    return made


def params(network: ActorCriticNetwork, seed: int) -> Float32Array:
    return network.initial_parameters(np.random.default_rng(seed))


class CountingReplica(PolicyReplica):
    """Counts the observations that pass through the network."""

    def __init__(self, network: ActorCriticNetwork) -> None:
        super().__init__(network, torch.float32, torch.device("cpu"))
        self.load(params(network, seed=0))
        self.num_seen = 0

    def activations(self, observations: UInt8Array) -> Activations | None:
        self.num_seen += len(observations)
        return super().activations(observations)


def batch_of(*rows: tuple[int, tuple[int, int]]) -> RolloutBatch:
    """Steps, each by the number of its frames and its origin."""
    frames, origins = zip(*rows, strict=True)
    size = len(rows)
    zeros = np.zeros(size, np.float32)
    return RolloutBatch(
        FRAMES[list(frames)], np.zeros(size, np.int64), zeros, zeros, zeros, np.array(origins, np.int64)
    )


def gradient_of(replica: PolicyReplica, recollection: Recollection | None, batch: RolloutBatch) -> torch.Tensor:
    outputs = replica.outputs(batch.s_tm1) if recollection is None else recollection.outputs(batch)
    weights = torch.linspace(-1.0, 1.0, outputs.logits.numel()).view_as(outputs.logits)
    return replica.gradient((outputs.logits * weights).sum() + outputs.value.sum()).clone()


def assert_as_computed(replica: CountingReplica, recollection: Recollection, batch: RolloutBatch) -> None:
    assert_equal_but_for_rounding(
        gradient_of(replica, recollection, batch), gradient_of(replica, None, batch), NUM_TERMS
    )


def test_a_gradient_of_what_was_seen_in_several_calls_computes_only_what_was_not() -> None:
    replica = CountingReplica(network_of())
    recollection = Recollection(replica)
    for frames in (FRAMES[:3], FRAMES[3:5]):
        logits, values = recollection.policy(frames)
        expected = replica.policy_and_value(frames)
        np.testing.assert_array_equal(logits, expected.logits.numpy())
        np.testing.assert_array_equal(values, expected.value.numpy())
    replica.num_seen = 0
    batch = batch_of((2, (0, 2)), (7, (9, 0)), (3, (1, 0)), (0, (0, 0)), (8, (9, 1)))
    recollection.outputs(batch)
    assert replica.num_seen == 2
    assert_as_computed(replica, recollection, batch)


def test_nothing_is_recalled_of_parameters_that_are_gone_and_calls_are_counted_on() -> None:
    replica = CountingReplica(network_of())
    recollection = Recollection(replica)
    recollection.policy(FRAMES[:3])
    recollection.forget()
    replica.load(params(network_of(), seed=1))
    recollection.policy(FRAMES[3:5])
    replica.num_seen = 0
    batch = batch_of((2, (0, 2)), (4, (1, 1)))
    recollection.outputs(batch)
    assert replica.num_seen == 1
    assert_as_computed(replica, recollection, batch)


@pytest.mark.parametrize("torso", ["nature", "ba3c"])
def test_a_batch_of_which_nothing_is_known_is_computed_as_a_whole(torso: str) -> None:
    replica = CountingReplica(network_of(torso))
    recollection = Recollection(replica)
    recollection.policy(FRAMES[:3])
    if torso == "nature":
        recollection.forget()
    assert_as_computed(replica, recollection, batch_of((2, (0, 2)), (4, (1, 1))))


def test_what_is_kept_of_an_observation_is_counted() -> None:
    image, first, second, third = 2 * 52 * 52, 32 * 12 * 12, 64 * 5 * 5, 64 * 3 * 3
    assert num_activations(network_of(), STACK) == image + first + second + 2 * third + 16
    assert num_activations(network_of("ba3c"), STACK) == 0
