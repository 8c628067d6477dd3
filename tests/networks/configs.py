"""Small networks' settings for tests, everything plain unless said."""

from dataclasses import replace
from typing import Any

from pipeline.networks.config import ActorCriticNetworkConfig, QNetworkConfig

PLAIN = QNetworkConfig(
    kind="q",
    torso="nature",
    hidden_units=16,
    centred_pixels=False,
    dueling=False,
    noisy=False,
    noise_scale=0.5,
    num_atoms=1,
    min_return=-10.0,
    max_return=10.0,
    num_quantiles=1,
    drawn_fractions=False,
    layer_norm=False,
    initial_weights="fan_in",
)
DBA3C = ActorCriticNetworkConfig(
    kind="actor_critic",
    torso="ba3c",
    hidden_units=16,
    centred_pixels=False,
    activation="linear",
    policy_scale=1.43,
)


def network_config(**changes: Any) -> QNetworkConfig:
    """The plain network with 16 hidden units, with `changes`."""
    return replace(PLAIN, **changes)


def actor_critic_config(**changes: Any) -> ActorCriticNetworkConfig:
    """DBA3C's network with 16 hidden units, with `changes`."""
    return replace(DBA3C, **changes)
