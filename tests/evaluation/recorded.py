"""Short recorded games of real emulators, for tests of what is made of them."""

from typing import Any

from pipeline.evaluation.play import PlayedGame, evaluate_random_agent
from pipeline.evaluation.protocol import EvaluationConfig
from tests.protocols import nature_protocol


def short_protocol(num_episodes: int = 1, protocol: str = "short", **changes: Any) -> EvaluationConfig:
    """Games of at most 30 s, seen small."""
    environment = nature_protocol(**{"max_frames": 1_800, "frame_height": 36, "frame_width": 36, **changes})
    return EvaluationConfig(
        protocol=protocol,
        num_episodes=num_episodes,
        epsilon=0.05,
        policy="greedy",
        max_equal_actions=None,
        start_states=None,
        environment=environment,
    )


def random_games(game: str = "Breakout", num_episodes: int = 1, seed: int = 0, **changes: Any) -> list[PlayedGame]:
    """So many of them, played at random."""
    return evaluate_random_agent(game, short_protocol(num_episodes, **changes), seed, num_threads=1)
