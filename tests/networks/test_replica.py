"""A replica: what is loaded is what computes, in the asked precision."""

import numpy as np
import pytest
import torch

from pipeline.networks import compute
from pipeline.networks.network import make_network
from pipeline.networks.replica import Replica
from tests.networks.configs import network_config

CPU = torch.device("cpu")
NETWORK = make_network(network_config(), 4, (84, 84), 3)
FRAMES = np.random.default_rng(0).integers(0, 256, (4, 4, 84, 84), dtype=np.uint8)


def test_in_bfloat16_the_torso_is_rounded_and_the_head_is_not() -> None:
    replica = Replica(NETWORK, torch.bfloat16, CPU)
    flat = NETWORK.initial_parameters(np.random.default_rng(1))
    replica.load(flat)
    *torso, head_weight, head_bias = replica.parameters.values()
    assert {p.dtype for p in torso} == {torch.bfloat16}
    assert torch.equal(torch.cat([head_weight.flatten(), head_bias]), torch.from_numpy(flat[-(3 * 16 + 3) :]))


def test_bfloat16_values_lie_near_float32_ones_and_come_as_float32() -> None:
    flat = NETWORK.initial_parameters(np.random.default_rng(1))
    exact, rounded = Replica(NETWORK, torch.float32, CPU), Replica(NETWORK, torch.bfloat16, CPU)
    exact.load(flat)
    rounded.load(flat)
    assert rounded.values(FRAMES).dtype == torch.float32
    torch.testing.assert_close(rounded.values(FRAMES), exact.values(FRAMES), rtol=0.05, atol=0.01)


def test_a_gradient_step_along_the_flat_vector_lowers_the_loss_as_predicted() -> None:
    flat = NETWORK.initial_parameters(np.random.default_rng(1))
    replica = Replica(NETWORK, torch.float32, CPU)
    replica.load(flat)
    loss = replica.outputs(FRAMES).square().mean()
    gradient = replica.gradient(loss).numpy().copy()
    step = 1e-3
    replica.load((flat - step * gradient).astype(np.float32))
    change = replica.values(FRAMES).square().mean().item() - loss.item()
    assert change == pytest.approx(-step * float(gradient @ gradient), rel=0.05)


def test_parameters_of_another_length_are_refused_with_both_shapes() -> None:
    size = NETWORK.num_parameters
    with pytest.raises(ValueError, match=rf"\(3,\), the network has \({size},\)"):
        Replica(NETWORK, torch.float32, CPU).load(np.zeros(3, np.float32))


def test_auto_precision_asks_the_processor() -> None:
    capable = torch.cpu.get_capabilities()
    expected = torch.bfloat16 if capable.get("avx512_bf16") or capable.get("amx_bf16") else torch.float32
    assert compute.resolve_precision("auto", CPU) == expected
    assert compute.resolve_precision("float32", CPU) == torch.float32
