"""A replica: what is loaded is what computes, in the asked precision."""

import numpy as np
import pytest
import torch

from pipeline.networks import compute
from pipeline.networks.config import QNetworkConfig
from pipeline.networks.replica import PolicyReplica, QReplica
from tests.networks.configs import actor_critic_config, network_config

CPU = torch.device("cpu")
NETWORK = network_config().make(4, (84, 84), 3)
POLICY = actor_critic_config().make(4, (84, 84), 3)
FRAMES = np.random.default_rng(0).integers(0, 256, (4, 4, 84, 84), dtype=np.uint8)


def test_in_bfloat16_the_torso_is_rounded_and_the_head_is_not() -> None:
    replica = QReplica(NETWORK, torch.bfloat16, CPU)
    flat = NETWORK.initial_parameters(np.random.default_rng(1))
    replica.load(flat)
    *torso, head_weight, head_bias = replica.parameters.values()
    assert {p.dtype for p in torso} == {torch.bfloat16}
    assert torch.equal(torch.cat([head_weight.flatten(), head_bias]), torch.from_numpy(flat[-(3 * 16 + 3) :]))


def test_bfloat16_values_lie_near_float32_ones_and_come_as_float32() -> None:
    flat = NETWORK.initial_parameters(np.random.default_rng(1))
    exact, rounded = QReplica(NETWORK, torch.float32, CPU), QReplica(NETWORK, torch.bfloat16, CPU)
    exact.load(flat)
    rounded.load(flat)
    assert rounded.values(FRAMES).dtype == torch.float32
    torch.testing.assert_close(rounded.values(FRAMES), exact.values(FRAMES), rtol=0.05, atol=0.01)


def test_a_gradient_step_along_the_flat_vector_lowers_the_loss_as_predicted() -> None:
    flat = NETWORK.initial_parameters(np.random.default_rng(1))
    replica = QReplica(NETWORK, torch.float32, CPU)
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
        QReplica(NETWORK, torch.float32, CPU).load(np.zeros(3, np.float32))


ONEDNN_LIMITS = ("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA")


@pytest.mark.parametrize("name", ONEDNN_LIMITS)
@pytest.mark.parametrize(
    ("limit", "expected"),
    [("AVX2", torch.float32), ("AVX512_CORE", torch.float32), ("AVX512_CORE_BF16", torch.bfloat16)],
)
def test_auto_precision_minds_what_onednn_is_kept_to(
    monkeypatch: pytest.MonkeyPatch, name: str, limit: str, expected: torch.dtype
) -> None:
    for variable in ONEDNN_LIMITS:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": True})
    monkeypatch.setenv(name, limit)
    assert compute.resolve_precision("auto", CPU) == expected


@pytest.mark.parametrize(
    ("capabilities", "expected"),
    [
        ({"amx_bf16": True}, torch.bfloat16),
        ({"avx512_bf16": True}, torch.bfloat16),
        ({"avx512_f": True, "avx512_bf16": False, "amx_bf16": False}, torch.float32),
        ({}, torch.float32),
    ],
)
def test_auto_precision_asks_the_processor(
    monkeypatch: pytest.MonkeyPatch, capabilities: dict[str, bool], expected: torch.dtype
) -> None:
    for variable in ONEDNN_LIMITS:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities)
    assert compute.resolve_precision("auto", CPU) == expected
    assert compute.resolve_precision("float32", CPU) == torch.float32
    assert compute.resolve_precision("bfloat16", CPU) == torch.bfloat16


def loaded_policy(dtype: torch.dtype = torch.float32) -> PolicyReplica:
    replica = PolicyReplica(POLICY, dtype, CPU)
    replica.load(POLICY.initial_parameters(np.random.default_rng(1)))
    return replica


def test_on_a_gpu_float32_is_all_of_it_and_emulated_bfloat16_is_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", True)
    gpu = torch.device("cuda")
    assert compute.resolve_precision("float32", gpu) == torch.float32
    assert not torch.backends.cudnn.allow_tf32
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation=True: including_emulation)
    assert compute.resolve_precision("auto", gpu) == torch.float32


def test_what_falls_back_to_float32_on_a_gpu_is_all_of_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", True)
    compute.keep_whole(torch.bfloat16, torch.device("cuda"))
    assert torch.backends.cudnn.allow_tf32
    compute.keep_whole(torch.float32, torch.device("cuda"))
    assert not torch.backends.cudnn.allow_tf32
    kept: list[torch.dtype] = []
    monkeypatch.setattr("pipeline.networks.replica.keep_whole", lambda dtype, _: kept.append(dtype))
    monkeypatch.setattr(type(POLICY), "usable_dtype", lambda _, dtype: torch.float32)
    PolicyReplica(POLICY, torch.bfloat16, CPU)
    assert kept == [torch.float32]


def test_a_policy_for_acting_is_the_one_for_learning_without_a_graph() -> None:
    replica = loaded_policy()
    acting, learning = replica.policy_and_value(FRAMES), replica.outputs(FRAMES)
    assert torch.equal(acting.logits, learning.logits) and torch.equal(acting.value, learning.value)
    assert not acting.logits.requires_grad and not acting.value.requires_grad
    assert learning.logits.requires_grad and learning.value.requires_grad


def test_in_bfloat16_policy_and_value_are_float32_and_near_the_exact_ones() -> None:
    exact, rounded = loaded_policy().policy_and_value(FRAMES), loaded_policy(torch.bfloat16).policy_and_value(FRAMES)
    assert rounded.logits.dtype == rounded.value.dtype == torch.float32
    torch.testing.assert_close(rounded.logits, exact.logits, rtol=0.1, atol=0.05)
    torch.testing.assert_close(rounded.value, exact.value, rtol=0.1, atol=0.05)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_gradient_reaches_every_tensor_of_a_policy(dtype: torch.dtype) -> None:
    replica = loaded_policy(dtype)
    outputs = replica.outputs(FRAMES)
    gradient = replica.gradient(outputs.logits.square().mean() + outputs.value.square().mean())
    assert gradient.shape == (POLICY.num_parameters,) and gradient.dtype == torch.float32
    assert all(tensor.abs().max() > 0 for tensor in replica.gradient_tensors)


def test_the_tensors_of_a_gradient_are_parts_of_it_in_vector_order() -> None:
    replica = loaded_policy()
    outputs = replica.outputs(FRAMES)
    gradient = replica.gradient(outputs.logits.square().mean() + outputs.value.square().mean())
    assert [tensor.numel() for tensor in replica.gradient_tensors] == [shape.size for shape in POLICY.shapes]
    assert torch.equal(torch.cat(replica.gradient_tensors), gradient)
    replica.gradient_tensors[-3].fill_(7.0)
    last_but_value = slice(POLICY.num_parameters - 17 - 3, POLICY.num_parameters - 17)
    assert gradient[last_but_value].tolist() == [7.0] * 3


@pytest.mark.parametrize(
    "network",
    [
        network_config(dueling=True, num_atoms=3),
        network_config(num_quantiles=4, drawn_fractions=True),
        network_config(torso="nature_layer_norm", layer_norm=True),
    ],
)
def test_torch_s_default_dtype_is_the_user_s_own_matter(network: QNetworkConfig) -> None:
    def answers() -> list[torch.Tensor]:
        made = network.make(4, (84, 84), 3)
        replica = QReplica(made, torch.float32, CPU)
        replica.load(made.initial_parameters(np.random.default_rng(1)))
        gradient = replica.gradient(replica.outputs(FRAMES).square().mean())
        return [replica.values(FRAMES), gradient, replica.ordinary()(torch.from_numpy(FRAMES).float())]

    expected = answers()
    torch.set_default_dtype(torch.float64)
    try:
        found = answers()
    finally:
        torch.set_default_dtype(torch.float32)
    torch.testing.assert_close(found, expected, rtol=0.0, atol=0.0)
