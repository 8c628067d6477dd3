"""One game played in several lanes at once: the emulator behind every actor and every evaluation.

    lane 0   reset(seeds) -> o0   step -> o1, r1   step -> o2, r2, terminated   step -> o0' (is_reset)   step -> ...
    lane 1                o0             o1, r1           o2, r2                       o3, r3

All lanes step together. A lane whose episode has ended spends the next step on its restart: that step ignores its
action, pays no reward and returns the first observation of the next episode. The threads of ale-py's
`AtariVectorEnv` do the work, and Python's lock is free meanwhile.

A lost life never touches the emulator: both life flags of ale-py stay off, since one of them restarts the game at each
lost life and the other reports an end where there is none. Rewards are unclipped; clipping is the learner's business.

Not here: frame skips drawn at random (`pipeline.envs.due_lanes`), whole episodes (`pipeline.envs.episodes`), what a
lost life means (`pipeline.roles.actor`).
"""

import atexit
import difflib
import os
import threading
import time
from dataclasses import dataclass, fields
from typing import NamedTuple

import ale_py
import gymnasium
import numpy as np
from ale_py.vector_env import AtariVectorEnv
from gymnasium.vector import AutoresetMode

from pipeline.envs.idle import IdleEmulators, Recipe, end_emulators
from pipeline.envs.protocol import EnvironmentConfig
from pipeline.envs.rom import rom_md5
from pipeline.errors import ConfigError
from pipeline.rows import EnvironmentPlayed
from pipeline.seeding import MAX_EMULATOR_SEED
from pipeline.types import BoolArray, Float32Array, Int64Array, UInt8Array

_OPENING = threading.Lock()
_HEAD_START_SECONDS = 0.02
_IDLE = IdleEmulators()
atexit.register(_IDLE.end_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_IDLE.forget_after_fork)


class LaneResults(NamedTuple):
    """What one step did to each of the E lanes. The arrays are fresh at each step: nobody writes to them later."""

    observation: UInt8Array
    """(E, K, H, W), or (E, K, H, W, 3) for RGB; oldest frame first, zeros before the episode's start."""
    reward: Float32Array
    """(E,) unclipped, summed over the frames of the step."""
    terminated: BoolArray
    """(E,) the game is over."""
    truncated: BoolArray
    """(E,) the frame cap was reached: no end of the return."""
    lives: Int64Array
    """(E,) lives left; 0 throughout in games that do not count them."""
    is_reset: BoolArray
    """(E,) the action was ignored, and `observation` is the first of the next episode: no transition."""


@dataclass(frozen=True)
class EnvironmentReport(EnvironmentPlayed):
    """What was made. The made environment is asked where it can answer: whether it is grey, and its own fields here.

    ale-py has no question for the others, which are as passed. `full_action_set` is one of them: some games use all 18
    actions anyway, so that their number alone does not tell.
    """

    game: str
    num_actions: int
    stack: int
    rom_md5: str
    """Of the ROM file, hexadecimal."""
    ale_version: str


class AtariLanes:
    """E lanes of one game, stepped together.

    `game` is a gymnasium name such as "Breakout"; `num_threads` emulator threads share the lanes. Raises ConfigError
    with everything that is wrong, the nearest games for an unknown one.
    `lives` are those left (E,) after the last reset or step, as in `LaneResults`.
    """

    def __init__(self, game: str, config: EnvironmentConfig, num_lanes: int, num_threads: int) -> None:
        mistakes = lane_mistakes(game, config, num_lanes, num_threads)
        if config.min_frame_skip < config.frame_skip:
            mistakes.append(
                f"environment.min_frame_skip={config.min_frame_skip} must equal environment.frame_skip="
                f"{config.frame_skip}: lanes that all step together have one frame skip (make_due_lanes draws it)"
            )
        if mistakes:
            raise ConfigError(mistakes)
        self.game = game
        self.config = config
        self.num_lanes = num_lanes
        self.lives: Int64Array = np.zeros(num_lanes, dtype=np.int64)
        self._recipe = Recipe(game, config, num_lanes, num_threads)
        self._env = _IDLE.take(self._recipe) or _opened(self._recipe)
        self._is_answered = True
        self.num_actions = len(self._env.ale.get_action_set())
        self._ended = np.zeros(num_lanes, dtype=np.bool_)

    def reset(self, seeds: Int64Array) -> UInt8Array:
        """Start a new episode in every lane, from seeds (E,) in [0, 2^31); returns the observations.

        A seed fixes all that follows in its lane: no-ops, sticky actions, and the episodes after the first. Seeding
        loads the ROM again, some 70 ms per lane.
        """
        return self.reset_lanes(np.ones(self.num_lanes, dtype=np.bool_), seeds)

    def reset_lanes(self, mask: BoolArray, seeds: Int64Array) -> UInt8Array:
        """Start a new episode in the lanes of `mask` (E,), from one seed for each of them in lane order.

        Returns the current observations of all lanes; the other lanes are left as they were. The first reset of all
        must be a whole one (`reset`).
        """
        if len(seeds) and not (np.min(seeds) >= 0 and np.max(seeds) <= MAX_EMULATOR_SEED):
            raise ValueError(
                f"emulator seeds must lie in [0, {MAX_EMULATOR_SEED}], got {np.min(seeds)} to {np.max(seeds)}"
            )
        observation: UInt8Array
        self._is_answered = False
        observation, info = self._env.reset(seed=seeds, options={"reset_mask": mask})
        self._is_answered = True
        self._ended = self._ended & ~mask
        self.lives = info["lives"].astype(np.int64)
        return observation

    def step(self, actions: Int64Array) -> LaneResults:
        """Play one action (E,) per lane, each below `num_actions`, for `frame_skip` frames."""
        check_actions(self.game, self.num_actions, actions)
        is_reset = self._ended
        self._is_answered = False
        observation, reward, terminated, truncated, info = self._env.step(actions)
        self._is_answered = True
        self._ended = terminated | truncated
        self.lives = info["lives"].astype(np.int64)
        return LaneResults(observation, reward.astype(np.float32), terminated, truncated, self.lives, is_reset)

    def report(self) -> EnvironmentReport:
        """What was made, for the rows and `run.json`."""
        shape = self._env.ale.get_observation_shape()
        as_passed = {field.name: getattr(self.config, field.name) for field in fields(EnvironmentPlayed)}
        return EnvironmentReport(
            **as_passed | {"grey": len(shape) == 3},
            game=self.game,
            num_actions=self.num_actions,
            stack=shape[0],
            rom_md5=rom_md5(self.game),
            ale_version=ale_py.__version__,
        )

    def close(self) -> None:
        """Leave the emulators to the next lanes of their kind. These cannot be used afterwards."""
        if self._is_answered:
            _IDLE.keep(self._recipe, self._env)
        else:
            # Stopped in the middle of a step (Ctrl-C): whoever came next would get its answer.
            end_emulators(self._env)
        del self._env


def check_actions(game: str, num_actions: int, actions: Int64Array) -> None:
    """Raise ValueError unless each of `actions` is one of the game's."""
    # ale-py does not look: an index outside the action set ends the whole process, without a word.
    if not (np.min(actions) >= 0 and np.max(actions) < num_actions):
        raise ValueError(f"{game} has actions 0 to {num_actions - 1}, got {actions.tolist()}")


def lane_mistakes(game: str, config: EnvironmentConfig, num_lanes: int, num_threads: int) -> list[str]:
    """Why such lanes cannot be made, one line each; empty if they can."""
    found = [f"environment.{line}" for line in config.mistakes()]
    if game not in (games := list(_rom_ids())):
        nearest = difflib.get_close_matches(game, games, n=3, cutoff=0.4)
        found.append(f"game={game} is not an Atari game that ale-py has; nearest: {', '.join(nearest) or 'none'}")
    found += [
        f"{name}={value} must be at least 1"
        for name, value in (("num_lanes", num_lanes), ("num_threads", num_threads))
        if value < 1
    ]
    return found


def _opened(recipe: Recipe) -> AtariVectorEnv:
    with _OPENING:
        # ale-py loads a ROM for each lane, 0.13 s, and holds Python's lock meanwhile; a seeded reset does it again,
        # without the lock. Whoever has just opened lanes gets time to begin that reset, beside which we open ours.
        time.sleep(_HEAD_START_SECONDS)
        return _made(recipe)


def _made(recipe: Recipe) -> AtariVectorEnv:
    config = recipe.config
    return AtariVectorEnv(
        _rom_ids()[recipe.game],
        recipe.num_lanes,
        batch_size=recipe.num_lanes,
        num_threads=recipe.num_threads,
        thread_affinity_offset=-1,
        max_num_frames_per_episode=config.max_frames,
        repeat_action_probability=config.sticky_probability,
        full_action_space=config.full_action_set,
        continuous=False,
        continuous_action_threshold=0.5,
        autoreset_mode=AutoresetMode.NEXT_STEP,
        img_height=config.frame_height,
        img_width=config.frame_width,
        grayscale=config.grey,
        stack_num=config.stack,
        frameskip=config.frame_skip,
        maxpool=config.max_pool,
        noop_max=config.noop_max + 1,  # ale-py draws the number of no-ops below its noop_max, which is never reached
        episodic_life=False,
        life_loss_info=False,
        reward_clipping=False,
        use_fire_reset=config.fire_on_reset,
    )


def _rom_ids() -> dict[str, str]:
    # {"BeamRider": "beam_rider", ...}: what importing ale_py registered. Its list of ROM files is longer by four games
    # for two players, and making one of those ends the process.
    return {spec.name: spec.kwargs["game"] for spec in gymnasium.registry.values() if spec.namespace == "ALE"}
