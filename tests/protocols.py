"""Protocols that tests play under: Nature's environment with the changes that a test names."""

from dataclasses import replace
from typing import Any

from pipeline.envs.protocol import EnvironmentConfig


def nature_protocol(**changes: Any) -> EnvironmentConfig:
    """Mnih et al. 2015, with 5 minutes a game: grey 84 x 84, 4 frames of 4, up to 30 no-ops, no sticky actions."""
    nature = EnvironmentConfig(
        frame_skip=4,
        min_frame_skip=4,
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
    if "frame_skip" in changes:  # a fixed skip, unless the test names both
        changes = {"min_frame_skip": changes["frame_skip"]} | changes
    return replace(nature, **changes)


def ba3c_protocol(**changes: Any) -> EnvironmentConfig:
    """Adamski et al. 2018, with 6,000 frames a game: RGB, 2 to 4 frames a step, sticky actions, no no-ops."""
    ba3c = nature_protocol(
        frame_skip=4,
        min_frame_skip=2,
        sticky_probability=0.25,
        noop_max=0,
        max_frames=6_000,
        grey=False,
        max_pool=False,
        life_loss_ends_return=False,
    )
    return replace(ba3c, **changes)
