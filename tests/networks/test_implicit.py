"""Implicit quantiles: the network against slow NumPy, its fractions, and that it learns a distribution's quantiles."""

import numpy as np
import pytest
import torch

from pipeline.algorithms.quantile import quantile_loss
from pipeline.networks.implicit import NUM_COSINES, ImplicitQNetwork
from pipeline.networks.linear import NO_NOISE
from pipeline.networks.replica import QReplica
from tests.networks.configs import network_config

ACTIONS, QUANTILES = 3, 5
STACKS = np.random.default_rng(0).integers(0, 256, (4, 4, 84, 84), dtype=np.uint8)


def replica(**changes: object) -> QReplica:
    config = network_config(**{"num_quantiles": QUANTILES, "drawn_fractions": True} | changes)
    network = config.make(4, (84, 84), ACTIONS)
    assert isinstance(network, ImplicitQNetwork)
    made = QReplica(network, torch.float32, torch.device("cpu"))
    made.load(network.initial_parameters(np.random.default_rng(1)))
    return made


def slow_outputs(one: QReplica, features: np.ndarray, fraction: float) -> np.ndarray:
    """(A,) of features (F,), layer by layer."""
    parameters = {name: tensor.detach().numpy() for name, tensor in one.parameters.items()}
    cosines = np.array([np.cos(np.pi * i * fraction) for i in range(NUM_COSINES)], np.float32)
    embedded = np.maximum(parameters["embedding.weight"] @ cosines + parameters["embedding.bias"], 0)
    hidden = np.maximum(parameters["hidden.weight"] @ (features * embedded) + parameters["hidden.bias"], 0)
    return np.asarray(parameters["head.output.weight"] @ hidden + parameters["head.output.bias"])


def test_what_it_answers_equals_a_slow_one_at_drawn_fractions_and_at_midpoints() -> None:
    one = replica()
    network = one._network
    assert isinstance(network, ImplicitQNetwork)
    stacks = torch.from_numpy(STACKS)
    features = network._torso(one.parameters, stacks).detach().numpy()
    fractions = network.draw_fractions(torch.Generator().manual_seed(3), len(STACKS))
    found = network.outputs_at(fractions, one.parameters, stacks, NO_NOISE).detach().numpy()
    assert found.shape == (len(STACKS), ACTIONS, QUANTILES)
    for b in range(len(STACKS)):
        for i in range(QUANTILES):
            slow = slow_outputs(one, features[b], float(fractions[b, i]))
            np.testing.assert_allclose(found[b, :, i], slow, atol=1e-5)
    midpoints = one.outputs(STACKS).detach().numpy()
    np.testing.assert_allclose(midpoints[1, :, 2], slow_outputs(one, features[1], 0.5), atol=1e-5)


def test_who_learns_draws_fractions_for_each_observation_and_who_acts_draws_none() -> None:
    one = replica()
    drawn, again = (one.predict(STACKS, torch.Generator().manual_seed(seed)) for seed in (1, 1))
    other = one.predict(STACKS, torch.Generator().manual_seed(2))
    assert drawn.fractions is not None and other.fractions is not None
    assert (
        drawn.fractions.shape == (len(STACKS), QUANTILES) and len(drawn.fractions.unique()) == drawn.fractions.numel()
    )
    assert torch.equal(drawn.outputs, again.outputs) and not torch.equal(drawn.outputs, other.outputs)
    acting = one.predict(STACKS)
    assert acting.fractions is None and torch.equal(acting.outputs, one.predict(STACKS).outputs)
    torch.testing.assert_close(one.values(STACKS), acting.outputs.mean(dim=2).detach())
    # An actor has a stream for noisy layers, of which these are none.
    assert torch.equal(one.values(STACKS, torch.Generator().manual_seed(1)), one.values(STACKS))


def test_noise_is_drawn_beside_fractions() -> None:
    one = replica(noisy=True)
    noise = torch.Generator().manual_seed(1)
    assert not torch.equal(one.outputs(STACKS, noise), one.outputs(STACKS))


def test_the_loss_by_hand_at_drawn_fractions() -> None:
    # tau 0.1 and 0.6. theta 0: u = 1 and 4, huber 0.5 and 3.5, both weigh 0.1: mean 0.2.
    # theta 2: u = -1 and 2, huber 0.5 and 1.5, weights |0.6 - 1| and 0.6: mean (0.2 + 0.9) / 2 = 0.55.
    quantiles = torch.tensor([[[0.0, 0.0], [0.0, 2.0]]])
    fractions = torch.tensor([[0.1, 0.6]])
    target = torch.tensor([[1.0, 4.0]])
    result = quantile_loss(quantiles, torch.tensor([1]), target, 1.0, fractions=fractions)
    assert result.objective.item() == pytest.approx(0.75)


@pytest.mark.slow
def test_it_learns_the_quantiles_of_a_distribution() -> None:
    one = replica(num_quantiles=32)
    optimizer = torch.optim.Adam(list(one.parameters.values()), lr=1e-3)
    noise, rng = torch.Generator().manual_seed(0), np.random.default_rng(0)
    action = torch.zeros(len(STACKS), dtype=torch.int64)
    for _ in range(200):
        returns = torch.from_numpy(rng.uniform(-1.0, 3.0, (len(STACKS), 32)).astype(np.float32))
        outputs, fractions = one.predict(STACKS, noise)
        optimizer.zero_grad()
        # With a small kappa a quantile is one, and not what lies between it and the mean.
        quantile_loss(outputs, action, returns, 0.05, fractions=fractions).objective.backward()
        optimizer.step()
    learned = one.outputs(STACKS)[:, 0].mean(dim=0).tolist()
    # At fractions 0.11, 0.36, 0.61 and 0.86.
    assert learned[3:30:8] == pytest.approx([-0.56, 0.44, 1.44, 2.44], abs=0.4)
