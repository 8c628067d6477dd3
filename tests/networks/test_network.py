"""A network as a value: order, atoms, means of distributions, noise."""

import re

import numpy as np
import pytest
import torch

from pipeline.networks.config import NetworkConfig
from pipeline.networks.network import QNetwork, expected_values
from pipeline.networks.replica import QReplica
from pipeline.networks.torso import TORSOS
from tests.config.runs import mistakes_in
from tests.networks.configs import actor_critic_config, network_config

FRAMES = np.random.default_rng(0).integers(0, 256, (4, 4, 84, 84), dtype=np.uint8)
CPU = torch.device("cpu")
SIDES = ("frame_height", "frame_width")


def network(**changes: object) -> QNetwork:
    return network_config(**changes).make(4, (84, 84), 3)


def loaded(made: QNetwork, dtype: torch.dtype = torch.float32) -> QReplica:
    replica = QReplica(made, dtype, CPU)
    replica.load(made.initial_parameters(np.random.default_rng(1)))
    return replica


@pytest.mark.parametrize("dueling", [False, True])
@pytest.mark.parametrize("noisy", [False, True])
def test_the_output_layers_come_last_and_together(dueling: bool, noisy: bool) -> None:
    in_head = [shape.in_head for shape in network(dueling=dueling, noisy=noisy).shapes]
    assert in_head == sorted(in_head)
    assert sum(in_head) == 2 * (1 + dueling) * (1 + noisy)


@pytest.mark.parametrize("torso", ["nature", "dqn_2013", "ba3c"])
@pytest.mark.parametrize("activation", ["relu", "prelu", "linear"])
def test_the_output_layers_of_a_policy_come_last_and_together(torso: str, activation: str) -> None:
    shapes = actor_critic_config(torso=torso, activation=activation).make(4, (84, 84), 3).shapes
    assert [shape.name for shape in shapes if shape.in_head] == [shape.name for shape in shapes[-4:]]


def test_a_network_of_no_kind_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match="no network for NetworkConfig: use QNetworkConfig or ActorCriticNetworkConfig"):
        NetworkConfig(kind="?").make(4, (84, 84), 3)


def test_settings_out_of_range_are_all_named() -> None:
    assert actor_critic_config(torso="natur", hidden_units=0, activation="tanh").mistakes() == [
        "torso=natur must be one of dqn_2013, nature, nature_layer_norm, ba3c",
        "hidden_units=0 must be at least 1",
        "activation=tanh must be one of relu, prelu, linear",
    ]
    assert actor_critic_config().mistakes() == network_config().mistakes() == []


@pytest.mark.parametrize("torso", list(TORSOS))
@pytest.mark.parametrize("shape", [(0, 99), (99, 0), (0, 99, 3)])
def test_the_smallest_frame_of_each_torso_is_the_one_that_its_mistake_names(torso: str, shape: tuple[int, ...]) -> None:
    config = network_config(torso=torso)
    (line,) = config.unfit_for_games(4, shape, lambda: 6, "auto")
    smallest = int(re.findall(r" of (\d+) or more", line)[0])
    enough, too_small = (tuple(side or least for side in shape) for least in (smallest, smallest - 1))
    assert config.unfit_for_games(4, enough, lambda: 6, "auto") == []
    config.make(4, enough, 6)
    with pytest.raises(ValueError, match="too small"):
        config.make(4, too_small, 6)


def test_frames_that_are_too_small_are_lines_in_the_list_of_mistakes() -> None:
    sides = [f"{group}.{side}=30" for group in ("environment", "evaluation.environment") for side in SIDES]
    assert mistakes_in(["experiment=dqn", "game=Pong", *sides]) == [
        f"network.torso=nature needs environment.{side} of 36 or more, and evaluation's too, not 30" for side in SIDES
    ]


def test_rainbows_network_has_as_many_parameters_as_its_layers_by_hand() -> None:
    rainbow = network_config(hidden_units=512, dueling=True, noisy=True, num_atoms=51)
    convolutions = (4 * 64 * 32 + 32) + (32 * 16 * 64 + 64) + (64 * 9 * 64 + 64)
    streams = 2 * (3136 * 512 + 512) + (512 * 51 + 51) + (512 * 6 * 51 + 6 * 51)
    assert rainbow.make(4, (84, 84), 6).num_parameters == convolutions + 2 * streams


def test_the_atoms_divide_the_range_of_returns_equally() -> None:
    assert network(num_atoms=1).support is None
    support = network(num_atoms=5, min_return=-1.0, max_return=3.0).support
    assert support is not None and support.tolist() == [-1.0, 0.0, 1.0, 2.0, 3.0]


def test_the_value_of_a_distribution_is_its_mean() -> None:
    logits = torch.tensor([[[0.25, 0.25, 0.5], [1.0, 0.0, 0.0]]]).log()
    assert expected_values(logits, torch.tensor([-2.0, 0.0, 4.0])).tolist() == [[1.5, -2.0]]


def test_values_of_a_distribution_lie_within_its_ends() -> None:
    made = network(num_atoms=51)
    replica = loaded(made)
    assert replica.outputs(FRAMES).shape == (4, 3, 51)
    assert replica.values(FRAMES).shape == (4, 3)
    assert replica.values(FRAMES).abs().max() < 10


def test_noise_differs_from_call_to_call_and_follows_from_the_stream() -> None:
    replica = loaded(network(noisy=True))
    stream, same = (torch.Generator().manual_seed(0) for _ in range(2))
    first, second = replica.values(FRAMES, stream), replica.values(FRAMES, stream)
    assert not torch.equal(first, second)
    assert torch.equal(replica.values(FRAMES, same), first)
    assert torch.equal(replica.values(FRAMES), replica.values(FRAMES))


def test_without_noise_a_noisy_network_is_the_plain_one_of_its_means() -> None:
    noisy, plain = network(noisy=True), network()
    flat, start, kept = noisy.initial_parameters(np.random.default_rng(0)), 0, []
    for shape in noisy.shapes:
        if not shape.name.endswith("_sigma"):
            kept.append(flat[start : start + shape.size])
        start += shape.size
    first, second = QReplica(noisy, torch.float32, CPU), QReplica(plain, torch.float32, CPU)
    first.load(flat)
    second.load(np.concatenate(kept))
    assert torch.equal(first.values(FRAMES), second.values(FRAMES))


def test_a_plain_network_draws_nothing_from_the_stream() -> None:
    stream = torch.Generator().manual_seed(0)
    before = stream.get_state()
    loaded(network(dueling=True, num_atoms=51)).values(FRAMES, stream)
    assert torch.equal(stream.get_state(), before)


def test_a_noisy_dueling_distribution_in_bfloat16_lies_near_the_float32_one() -> None:
    made = network(dueling=True, noisy=True, num_atoms=51)
    exact, rounded = (
        loaded(made, dtype).values(FRAMES, torch.Generator()) for dtype in (torch.float32, torch.bfloat16)
    )
    assert rounded.dtype == torch.float32
    torch.testing.assert_close(rounded, exact, rtol=0.05, atol=0.05)
