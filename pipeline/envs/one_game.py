"""One game at a time as a gymnasium environment, under exactly the protocol of an `EnvironmentConfig`.

    env = OneGame("Breakout", config)
    observation, info = env.reset(seed=0)                               uint8 (K, H, W), or (K, H, W, 3) for RGB
    observation, reward, terminated, truncated, info = env.step(2)      reward unclipped

Sticky actions, no-ops, random frame skips and the frame cap are those of the protocol; what it says of training alone
(clipped rewards, returns that end with a life) is left out, as in evaluation.
Not here: many lanes at once (`pipeline.envs.atari`, `pipeline.envs.due_lanes`).
"""

import operator
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete

from pipeline.envs.due_lanes import make_due_lanes
from pipeline.envs.protocol import EnvironmentConfig
from pipeline.seeding import MAX_EMULATOR_SEED
from pipeline.types import UInt8Array


class OneGame(gymnasium.Env[UInt8Array, np.int64]):
    """A game for a loop of anybody's. Raises ConfigError for an unknown game or an impossible protocol."""

    def __init__(self, game: str, config: EnvironmentConfig) -> None:
        self._lanes = make_due_lanes(game, config, num_lanes=1, num_threads=1)
        self._can_step = self._is_closed = False
        shape = (config.stack, *config.frame_shape)
        self.observation_space = Box(0, 255, shape, np.uint8)
        self.action_space = Discrete(self._lanes.num_actions)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[UInt8Array, dict[str, Any]]:
        """Begin a game. The same seed begins the same one; without, it follows from the seed before.

        `options={"emulator_seed": N}` begins exactly the game of that `episode_seed` in `evaluations.csv`.
        """
        if self._is_closed:
            raise ValueError("this game is closed: make another one")
        super().reset(seed=seed)
        drawn = int(self.np_random.integers(0, MAX_EMULATOR_SEED, endpoint=True))
        due = self._lanes.reset(np.array([(options or {}).get("emulator_seed", drawn)]))
        self._can_step = True
        return due.observation[0], {}

    def step(self, action: int | np.int64) -> tuple[UInt8Array, float, bool, bool, dict[str, Any]]:
        """Play one action. Raises ValueError for one that the game does not have, and after the end of a game."""
        if not self._can_step:
            raise ValueError("no game is under way: call reset() first")
        try:
            number = operator.index(action)
        except TypeError as error:
            raise ValueError(f"{self._lanes.game} has whole numbers as actions, and {action!r} is none") from error
        due = self._lanes.step(np.array([number]))
        terminated, truncated = bool(due.terminated[0]), bool(due.truncated[0])
        self._can_step = not (terminated or truncated)
        return due.observation[0], float(due.reward[0]), terminated, truncated, {}

    def close(self) -> None:
        """Stop the emulator; what is closed already stays so."""
        self._can_step = False
        if not self._is_closed:
            self._is_closed = True
            self._lanes.close()
