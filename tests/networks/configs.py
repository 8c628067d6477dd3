"""A small network's settings for tests, everything plain unless said."""

from dataclasses import replace
from typing import Any

from pipeline.networks.config import NetworkConfig

PLAIN = NetworkConfig(
    torso="nature",
    hidden_units=16,
    dueling=False,
    noisy=False,
    noise_scale=0.5,
    num_atoms=1,
    min_return=-10.0,
    max_return=10.0,
)


def network_config(**changes: Any) -> NetworkConfig:
    """The plain network with 16 hidden units, with `changes`."""
    return replace(PLAIN, **changes)
