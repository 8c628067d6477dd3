"""The first DQN network: its size, its features, and that it is chosen by name."""

import numpy as np
import torch

from pipeline.config.overrides import compose
from pipeline.experiments.plan import network_of
from pipeline.networks.dqn_2013 import Dqn2013Torso
from tests.rounding import assert_equal_but_for_rounding


def test_it_has_as_many_parameters_as_the_paper_s_layers() -> None:
    run = compose(["experiment=dqn", "game=Breakout", "network=dqn_2013"])
    by_hand = (4 * 64 * 16 + 16) + (16 * 16 * 32 + 32) + (9 * 9 * 32 * 256 + 256) + (256 * 4 + 4)
    assert network_of(run).num_parameters == by_hand == 677_172


def test_features_equal_those_of_plain_convolutions() -> None:
    torso, generator = Dqn2013Torso(4, (84, 84), centred=False), torch.Generator().manual_seed(0)
    held = {shape.name: 0.05 * torch.randn(shape.shape, generator=generator) for shape in torso.shapes}
    # As a replica holds them: channels-last views.
    parameters = {name: one.permute(0, 3, 1, 2) if one.dim() == 4 else one for name, one in held.items()}
    frames = torch.from_numpy(np.random.default_rng(0).integers(0, 256, (3, 4, 84, 84), dtype=np.uint8))
    x = frames.float() / 255
    for i, stride in ((1, 4), (2, 2)):
        weight, bias = parameters[f"conv{i}.weight"].contiguous(), parameters[f"conv{i}.bias"]
        x = torch.nn.functional.conv2d(x, weight, bias, stride).relu()
    ours = torso(parameters, frames)
    assert ours.shape == (3, torso.num_features) == (3, 2592)
    # Features are numbered by place first and channel last.
    assert_equal_but_for_rounding(ours, x.permute(0, 2, 3, 1).flatten(1), 8 * 8 * 4 + 4 * 4 * 16)
