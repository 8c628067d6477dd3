"""Files of exported agents: each answers as the module that it was written from, for every kind of network."""

import contextlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from pipeline.config.overrides import compose
from pipeline.config.run_config import RunConfig
from pipeline.errors import ExportError
from pipeline.experiments.exports.formats import FORMATS, Answers, write
from pipeline.experiments.plan import first_parameters, network_of
from pipeline.experiments.warm_start import begin_warm
from pipeline.networks.replica import QReplica
from pipeline.roles.evaluator import load_replica
from pipeline.types import Float32Array, UInt8Array

NETWORKS = ["smoke_dqn", "smoke_rainbow", "smoke_dba3c"]


def asked(config: RunConfig, params: Float32Array) -> tuple[UInt8Array, Answers, torch.nn.Module]:
    """Some frames (B, C, H, W), what an agent with `params` (P,) answers to them, and its module."""
    environment = config.environment
    replica = load_replica(config.network, config.game, environment, params, "cpu", "float32")
    stacks = np.random.default_rng(1).integers(0, 256, (4, environment.stack, *environment.frame_shape), np.uint8)
    frames = stacks if environment.grey else np.moveaxis(stacks, 4, 2).reshape(4, -1, *environment.frame_shape[:2])
    found = (replica.values(stacks),) if isinstance(replica, QReplica) else replica.policy_and_value(stacks)
    return frames, tuple(tensor.numpy() for tensor in found), replica.ordinary()


@pytest.mark.slow
@pytest.mark.parametrize("experiment", NETWORKS)
def test_every_format_answers_as_the_module(experiment: str, tmp_path: Path) -> None:
    config = compose([f"experiment={experiment}", "game=Breakout"])
    params = network_of(config).initial_parameters(np.random.default_rng(0))
    frames, answers, module = asked(config, params)
    assert write(module, frames, answers, tmp_path, FORMATS).keys() == FORMATS.keys()
    assert {path.name for path in tmp_path.iterdir()} == {form.file for form in FORMATS.values()}


@pytest.mark.parametrize("noisy", ["false", "true"])
def test_the_tensors_of_an_agent_with_drawn_fractions_hold_all_that_it_learned(noisy: str, tmp_path: Path) -> None:
    network = ["network=implicit_quantile", "network.torso=dqn_2013", "network.hidden_units=16"]
    config = compose(["experiment=smoke_dqn", "game=Breakout", *network, f"network.noisy={noisy}"])
    params = network_of(config).initial_parameters(np.random.default_rng(0))
    frames, answers, module = asked(config, params)
    write(module, frames, answers, tmp_path, ["safetensors"])
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    begun = begin_warm(replace(config, init_from=str(tmp_path)), print).start.server.params
    shapes = network_of(config).shapes
    is_noise = np.concatenate([np.full(shape.size, shape.name.endswith("_sigma")) for shape in shapes])
    np.testing.assert_array_equal(begun, np.where(is_noise, first_parameters(config), params))


def test_a_module_that_answers_otherwise_than_the_agent_leaves_no_file(tmp_path: Path) -> None:
    config = compose(["experiment=smoke_dba3c", "game=Breakout"])
    params = network_of(config).initial_parameters(np.random.default_rng(0))
    frames, (logits, value), module = asked(config, params)
    for wrong in ((logits + 0.1, value), (logits, value + 0.1)):
        with pytest.raises(ExportError, match=r"as_module\(\) of this agent .* answers \[.*, the agent \[.*: nothing"):
            write(module, frames, wrong, tmp_path, ["safetensors"])
    assert list(tmp_path.iterdir()) == []


class Constant(torch.nn.Module):
    """Answers a large number and a small one."""

    def __init__(self) -> None:
        super().__init__()
        self.answer = torch.nn.Parameter(torch.tensor([40.0, 0.02]))

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        return self.answer + torch.zeros(len(frames), 1)


def test_a_small_answer_beside_a_large_one_may_differ_by_the_rounding_of_sums_as_large(tmp_path: Path) -> None:
    frames = np.zeros((3, 1, 4, 4), np.uint8)
    for apart, is_near in ((1e-3, True), (1e-2, False)):
        wanted = np.array([[40.0, 0.02 + apart]] * 3, np.float32)
        with contextlib.nullcontext() if is_near else pytest.raises(ExportError, match="nothing was left"):
            found = write(Constant(), frames, (wanted,), tmp_path, ["safetensors"])
            assert found["safetensors"] == pytest.approx(apart, rel=0.01)


class Moody(torch.nn.Module):
    """Answers otherwise when it is traced than when it is asked."""

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        answer = frames.float().mean(dim=(2, 3))
        return answer + 1 if torch._C._get_tracing_state() else answer


def test_a_file_that_answers_otherwise_is_an_error(tmp_path: Path) -> None:
    frames = np.random.default_rng(1).integers(0, 256, (3, 4, 8, 8), np.uint8)
    with pytest.raises(ExportError, match=r"format=torchscript: what was written answers \[.*the agent"):
        write(Moody(), frames, (frames.astype(np.float32).mean((2, 3)),), tmp_path, ["torchscript"])
