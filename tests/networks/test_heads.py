"""Heads against slow NumPy: one stream and two, values and distributions."""

import numpy as np
import numpy.typing as npt
import pytest
import torch

from pipeline.networks.config import QNetworkConfig
from pipeline.networks.heads import DuelingHead, Head, PlainHead
from pipeline.networks.linear import NO_NOISE, LayerKinds
from tests.networks.configs import network_config

NUM_FEATURES, NUM_ACTIONS, BATCH = 5, 3, 4
FEATURES = torch.randn(BATCH, NUM_FEATURES, generator=torch.Generator().manual_seed(0))

FloatArray = npt.NDArray[np.float64]


def make(config: QNetworkConfig) -> tuple[Head, dict[str, torch.Tensor]]:
    """A head and parameters at random."""
    num_outcomes = max(config.num_atoms, config.num_quantiles)
    layers = LayerKinds(config.noise_scale if config.noisy else None, config.layer_norm)
    kind = DuelingHead if config.dueling else PlainHead
    head = kind(NUM_FEATURES, NUM_ACTIONS, config.hidden_units, num_outcomes, layers)
    generator = torch.Generator().manual_seed(1)
    shapes = [shape for layer in head.layers for shape in layer.shapes()]
    return head, {shape.name: torch.randn(shape.shape, generator=generator) for shape in shapes}


def slow_stream(parameters: dict[str, torch.Tensor], hidden: str, output: str, b: int) -> FloatArray:
    p = {name: value.double().numpy() for name, value in parameters.items()}
    x = np.maximum(p[f"{hidden}.weight"] @ FEATURES[b].double().numpy() + p[f"{hidden}.bias"], 0)
    return np.asarray(p[f"{output}.weight"] @ x + p[f"{output}.bias"])


@pytest.mark.parametrize("num_atoms", [1, 4])
def test_a_plain_head_has_one_stream(num_atoms: int) -> None:
    head, parameters = make(network_config(num_atoms=num_atoms))
    found = head(parameters, FEATURES, NO_NOISE).numpy()
    for b in range(BATCH):
        expected = slow_stream(parameters, "hidden", "head.output", b)
        np.testing.assert_allclose(found[b].ravel(), expected, rtol=1e-4, atol=1e-5)
    assert found.shape == ((BATCH, NUM_ACTIONS) if num_atoms == 1 else (BATCH, NUM_ACTIONS, num_atoms))


@pytest.mark.parametrize("num_atoms", [1, 4])
def test_a_dueling_head_adds_to_the_value_what_an_action_is_better_than_the_mean_of_all(num_atoms: int) -> None:
    head, parameters = make(network_config(dueling=True, num_atoms=num_atoms))
    found = head(parameters, FEATURES, NO_NOISE).numpy()
    for b in range(BATCH):
        value = slow_stream(parameters, "hidden_value", "head.value", b)
        advantage = slow_stream(parameters, "hidden_advantage", "head.advantage", b).reshape(NUM_ACTIONS, num_atoms)
        for a in range(NUM_ACTIONS):
            for i in range(num_atoms):
                mean = sum(advantage[other, i] for other in range(NUM_ACTIONS)) / NUM_ACTIONS
                expected = value[i] + advantage[a, i] - mean
                assert found[b, a].reshape(-1)[i] == pytest.approx(expected, rel=1e-4, abs=1e-5)
    assert found.shape == ((BATCH, NUM_ACTIONS) if num_atoms == 1 else (BATCH, NUM_ACTIONS, num_atoms))


@pytest.mark.parametrize("dueling", [False, True])
@pytest.mark.parametrize("num_atoms", [1, 4])
def test_of_half_precision_features_the_outputs_are_full_precision(dueling: bool, num_atoms: int) -> None:
    head, parameters = make(network_config(dueling=dueling, num_atoms=num_atoms))
    mixed = {name: value if name.startswith("head.") else value.bfloat16() for name, value in parameters.items()}
    found = head(mixed, FEATURES.bfloat16(), NO_NOISE)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, head(parameters, FEATURES, NO_NOISE), rtol=0.05, atol=0.2)


def test_all_fully_connected_layers_of_a_noisy_head_are_noisy() -> None:
    for dueling, num_layers in ((False, 2), (True, 4)):
        head, _ = make(network_config(dueling=dueling, noisy=True, noise_scale=0.3))
        assert [layer.noise_scale for layer in head.layers] == [0.3] * num_layers
