"""Protocols that tests play under: Nature's environment with the changes that a test names."""

from dataclasses import replace
from typing import Any

from pipeline.envs.protocol import EnvironmentConfig


def nature_protocol(**changes: Any) -> EnvironmentConfig:
    """Mnih et al. 2015, with 5 minutes a game: grey 84 x 84, 4 frames of 4, up to 30 no-ops, no sticky actions."""
    nature = EnvironmentConfig(
        frame_skip=4,
        sticky_probability=0.0,
        noop_max=30,
        max_frames=18_000,
        full_action_set=False,
        fire_on_reset=False,
        grey=True,
        frame_height=84,
        frame_width=84,
        stack=4,
        max_pool=True,
        life_loss_ends_return=True,
        clip_rewards=True,
    )
    return replace(nature, **changes)
