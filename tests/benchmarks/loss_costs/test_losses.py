"""What is timed under each name."""

import itertools

import torch

from benchmarks.loss_costs.losses import OF_ROLLOUTS, gradient_of
from pipeline.config.overrides import compose

SMALL = ("game=Pong", "network.torso=dqn_2013", "network.hidden_units=16")


def test_each_name_of_the_systems_that_collect_steps_has_a_gradient_of_its_own() -> None:
    found = {
        name: gradient_of(compose([*words, *SMALL]), torch.device("cpu"), torch.float32)()
        for name, words in OF_ROLLOUTS.items()
    }
    alike = [
        f"{one} and {other}"
        for one, other in itertools.combinations(found, 2)
        if found[one].shape == found[other].shape and torch.equal(found[one], found[other])
    ]
    assert alike == [], "these time the same code"
