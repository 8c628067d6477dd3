"""A person plays one game under a protocol, and it is recorded like an agent's.

Such recordings are what start states can be drawn from (`pipeline.evaluation.start_states`).
Not here: the window and its keys (`pipeline.rendering.window`).
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from pipeline.envs.episodes import never
from pipeline.evaluation.play import ActionPreferences, PlayedGame, evaluate
from pipeline.evaluation.protocol import EvaluationConfig
from pipeline.types import Float32Array, UInt8Array

PERSON = "person"
"""Agent in the rows."""

AskPerson = Callable[[UInt8Array], int | None]
"""The newest picture (H, W[, 3]) to the index of an action; None to leave the game."""

_NOOP = 0


def play_as_person(
    game: str, config: EvaluationConfig, num_actions: int, seed: int, ask: AskPerson
) -> PlayedGame | None:
    """One game from `seed`, every action the person's own: no epsilon, and none is ever forced.

    A game that is left is kept up to there, truncated. None if it was left at once.
    """
    config = replace(config, num_episodes=1, epsilon=0.0, max_equal_actions=None, start_states=None)
    chosen: list[int] = []
    has_left = False

    def wish(observations: UInt8Array) -> Float32Array:
        nonlocal has_left
        action = ask(observations[0, -1])
        if action is None:
            has_left = True
            return _only(_NOOP, num_actions)
        chosen.append(action)
        return _only(action, num_actions)

    if games := _play(game, config, seed, wish, lambda: has_left):
        return games[0]
    if not chosen:
        return None
    again = iter(chosen)
    (kept,) = _play(game, config, seed, lambda _: _only(next(again), num_actions), max_steps=len(chosen))
    return kept


def _play(
    game: str,
    config: EvaluationConfig,
    seed: int,
    wish: ActionPreferences,
    stop: Callable[[], bool] = never,
    max_steps: int | None = None,
) -> list[PlayedGame]:
    return evaluate(
        game,
        config,
        wish,
        seed,
        num_threads=1,
        agent=PERSON,
        version=0,
        total_frames=0,
        wall_seconds=0.0,
        max_steps=max_steps,
        stop=stop,
    )


def _only(action: int, num_actions: int) -> Float32Array:
    wishes = np.zeros((1, num_actions), dtype=np.float32)
    wishes[0, action] = 1.0
    return wishes
