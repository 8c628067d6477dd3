"""Lanes that are asked for an action only when they are due: one interface for fixed and for random frame skips.

    emulator frame     1  2  3  4  5  6  7  8
    lane 0 (skip 4)    .  .  .  D  .  .  .  D         D: due, its step is over and it wants its next action
    lane 1 (2 to 4)    .  D  .  .  D  .  .  .         it drew 2, 3, 4, ...
    lane 2 (2 to 4)    .  .  D  E  R  .  D  .         E: its game is over: due at once; R: restarted, due with the
                                                      first observation of the next game

`step` takes an action for each lane that is due, plays on until the next one is, and returns those lanes. The frame
skips of a lane are drawn from a stream that follows from the seed of its reset, so that an episode is still a value:
game, protocol, seed, actions. A lane that restarts by itself goes on drawing.

A random skip costs more than a fixed one: ale-py takes whole numbers only, so its lanes step frame by frame, and it
renders and shrinks each of these frames, shown or not (`benchmarks.random_frame_skip`).

Not here: the emulator, and what a restart is (`pipeline.envs.atari`), what a step of due lanes is (`.due_step`).
"""

from dataclasses import replace
from typing import Protocol

import numpy as np

from pipeline import seeding
from pipeline.envs.atari import AtariLanes, EnvironmentReport, check_actions, lane_mistakes
from pipeline.envs.due_step import DueLanesState, DueStep, first_step, renewed_rows, restarted
from pipeline.envs.protocol import EnvironmentConfig
from pipeline.envs.seeded import SeededLanes, check_restored, seeded
from pipeline.errors import CheckpointError, ConfigError
from pipeline.states import restore_stream, stream_state
from pipeline.types import Int64Array, UInt8Array


class DueLanes(Protocol):
    """E lanes of one game.

    Calling order: `reset`, then `step` again and again; `reset_lanes` at any time between; `close`.
    """

    game: str
    config: EnvironmentConfig
    num_lanes: int
    num_actions: int

    def reset(self, seeds: Int64Array) -> DueStep:
        """Start a new episode in every lane, from seeds (E,) in [0, 2^31); all lanes are due."""

    def reset_lanes(self, lanes: Int64Array, seeds: Int64Array) -> DueStep:
        """Start a new episode in some of the lanes that are due, `lanes` (R,) ascending, from a seed for each.

        Returns the same due lanes again; the others are left as they were.
        """

    def step(self, actions: Int64Array) -> DueStep:
        """Give each lane that is due its action (D,), below `num_actions`, and play until at least one is due."""

    def report(self) -> EnvironmentReport:
        """What was made, for the rows and `run.json`."""

    def state(self) -> DueLanesState:
        """Where the lanes are. Raises TypeError unless they were made seeded."""
        raise TypeError(f"{type(self).__name__} has no state")

    def restore(self, state: DueLanesState) -> None:
        """Play the lanes to where they were."""
        raise TypeError(f"{type(self).__name__} has no state")

    def close(self) -> None:
        """Leave the emulators to others. The lanes cannot be used afterwards."""


def make_due_lanes(
    game: str, config: EnvironmentConfig, num_lanes: int, num_threads: int, *, seeded: bool = False
) -> DueLanes:
    """Lanes with the frame skip that `config` says; `seeded`: they can be restored, at the price of `SeededLanes`.

    Raises ConfigError as `AtariLanes` does.
    """
    if config.min_frame_skip < config.frame_skip:
        return RandomSkipLanes(game, config, num_lanes, num_threads, seeded=seeded)
    return FixedSkipLanes(game, config, num_lanes, num_threads, seeded=seeded)


class FixedSkipLanes(DueLanes):
    """`AtariLanes` as they are: all lanes are due at every step."""

    _due: DueStep

    def __init__(
        self, game: str, config: EnvironmentConfig, num_lanes: int, num_threads: int, *, seeded: bool = False
    ) -> None:
        self._env = (SeededLanes if seeded else AtariLanes)(game, config, num_lanes, num_threads)
        self.game = game
        self.config = config
        self.num_lanes = num_lanes
        self.num_actions = self._env.num_actions
        self._all_lanes: Int64Array = np.arange(num_lanes)

    def reset(self, seeds: Int64Array) -> DueStep:
        """Start a new episode in every lane."""
        observation = self._env.reset(seeds)
        self._due = first_step(self._all_lanes, observation, self._env.lives)
        return self._due

    def reset_lanes(self, lanes: Int64Array, seeds: Int64Array) -> DueStep:
        """Start a new episode in some lanes, all of which are due."""
        renewed = renewed_rows(self._due, lanes)
        observation = self._env.reset_lanes(renewed, seeds)
        self._due = restarted(self._due, renewed, observation, self._env.lives)
        return self._due

    def step(self, actions: Int64Array) -> DueStep:
        """Play `frame_skip` frames in all lanes."""
        self._due = DueStep(self._all_lanes, *self._env.step(actions))
        return self._due

    def state(self) -> DueLanesState:
        """Where the lanes are."""
        return DueLanesState(seeded(self._env).state(), self._due)

    def restore(self, state: DueLanesState) -> None:
        """Play the lanes to where they were."""
        check_restored(seeded(self._env).restore(state.emulators), state.due.observation)
        self._due = state.due

    def report(self) -> EnvironmentReport:
        """What was made."""
        return self._env.report()

    def close(self) -> None:
        """Leave the emulators to others."""
        self._env.close()


class RandomSkipLanes(DueLanes):
    """Each step of each lane repeats its action for min_frame_skip ... frame_skip frames, all numbers alike.

    So did gym's "-v0" games, which BA3C played (Adamski et al. 2018, the authors' code). Behind it are lanes that step
    frame by frame, all together; the rewards of a step's frames add up, and its last frame alone enters the stack.
    """

    _due: DueStep

    def __init__(
        self, game: str, config: EnvironmentConfig, num_lanes: int, num_threads: int, *, seeded: bool = False
    ) -> None:
        if mistakes := lane_mistakes(game, config, num_lanes, num_threads):
            raise ConfigError(mistakes)
        single = replace(config, frame_skip=1, min_frame_skip=1, stack=1)
        self._env = (SeededLanes if seeded else AtariLanes)(game, single, num_lanes, num_threads)
        self.game = game
        self.config = config
        self.num_lanes = num_lanes
        self.num_actions = self._env.num_actions
        self._streams: dict[int, np.random.Generator] = {}
        self._stacks = _Stacks(num_lanes, config.stack, config.frame_shape)
        self._actions = np.zeros(num_lanes, dtype=np.int64)
        self._frames_left = np.zeros(num_lanes, dtype=np.int64)
        self._reward = np.zeros(num_lanes, dtype=np.float32)

    def reset(self, seeds: Int64Array) -> DueStep:
        """Start a new episode in every lane."""
        lanes = np.arange(self.num_lanes)
        observation = self._begin_episodes(lanes, seeds, self._env.reset(seeds))
        self._due = first_step(lanes, observation, self._env.lives)
        return self._due

    def reset_lanes(self, lanes: Int64Array, seeds: Int64Array) -> DueStep:
        """Start a new episode in some of the lanes that are due."""
        renewed = renewed_rows(self._due, lanes)
        frames = self._env.reset_lanes(np.isin(np.arange(self.num_lanes), lanes), seeds)
        observation = self._due.observation.copy()
        observation[renewed] = self._begin_episodes(lanes, seeds, frames)
        self._due = restarted(self._due, renewed, observation, self._env.lives[self._due.lanes])
        return self._due

    def step(self, actions: Int64Array) -> DueStep:
        """Play frames in all lanes, at most `frame_skip`, until a lane is due."""
        self._begin_steps(actions)
        while True:
            results = self._env.step(self._actions)
            self._reward += results.reward
            self._frames_left -= 1
            lanes = np.flatnonzero((self._frames_left == 0) | results.terminated | results.truncated)
            if lanes.size:
                break
        is_reset = results.is_reset[lanes]
        self._stacks.clear(lanes[is_reset])
        self._due = DueStep(
            lanes,
            self._stacks.push(lanes, results.observation[lanes, 0]),
            self._reward[lanes],
            results.terminated[lanes],
            results.truncated[lanes],
            results.lives[lanes],
            is_reset,
        )
        return self._due

    def report(self) -> EnvironmentReport:
        """What was made."""
        made = self.config
        return replace(
            self._env.report(), frame_skip=made.frame_skip, min_frame_skip=made.min_frame_skip, stack=made.stack
        )

    def close(self) -> None:
        """Leave the emulators to others."""
        self._env.close()

    def state(self) -> DueLanesState:
        """Where the lanes are."""
        return DueLanesState(
            seeded(self._env).state(),
            self._due,
            tuple(stream_state(self._streams[lane]) for lane in range(self.num_lanes)),
            *self._stacks.copies(),
            self._actions.copy(),
            self._frames_left.copy(),
            self._reward.copy(),
        )

    def restore(self, state: DueLanesState) -> None:
        """Play the lanes to where they were. Raises CheckpointError for the state of lanes with a fixed skip."""
        if state.frames is None or state.oldest is None or state.actions is None or state.reward is None:
            raise CheckpointError("the saved lanes have a fixed frame skip, these have a random one")
        frames = seeded(self._env).restore(state.emulators)
        check_restored(frames[state.due.lanes, 0], state.due.observation[:, -1])
        for lane, stream in enumerate(state.streams):
            self._streams[lane] = seeding.stream(0, "restored")
            restore_stream(self._streams[lane], stream)
        self._stacks.restore(state.frames, state.oldest)
        self._due, self._actions, self._reward = state.due, state.actions.copy(), state.reward.copy()
        self._frames_left = np.zeros_like(state.actions) if state.frames_left is None else state.frames_left.copy()

    def _begin_episodes(self, lanes: Int64Array, seeds: Int64Array, frames: UInt8Array) -> UInt8Array:
        """Forget what `lanes` did before their seeded reset; returns their first observations."""
        for lane, seed in zip(lanes.tolist(), seeds.tolist(), strict=True):
            self._streams[lane] = seeding.stream(seed, "frame_skip")
        self._stacks.clear(lanes)
        return self._stacks.push(lanes, frames[lanes, 0])

    def _begin_steps(self, actions: Int64Array) -> None:
        due = self._due
        if actions.shape != due.lanes.shape:
            raise ValueError(f"{due.lanes.size} lanes are due, one action each, got actions of shape {actions.shape}")
        check_actions(self.game, self.num_actions, actions)  # before anything is drawn
        self._actions[due.lanes] = actions
        self._reward[due.lanes] = 0.0
        low, high = self.config.min_frame_skip, self.config.frame_skip
        for lane, ended in zip(due.lanes.tolist(), (due.terminated | due.truncated).tolist(), strict=True):
            # A restart takes one frame of the others and is no step: it draws nothing.
            self._frames_left[lane] = 1 if ended else self._streams[lane].integers(low, high, endpoint=True)


class _Stacks:
    """The newest K frames of each lane, in a ring."""

    def __init__(self, num_lanes: int, stack: int, frame_shape: tuple[int, ...]) -> None:
        self._frames = np.zeros((num_lanes, stack, *frame_shape), dtype=np.uint8)
        self._oldest = np.zeros(num_lanes, dtype=np.int64)

    def copies(self) -> tuple[UInt8Array, Int64Array]:
        return self._frames.copy(), self._oldest.copy()

    def restore(self, frames: UInt8Array, oldest: Int64Array) -> None:
        self._frames, self._oldest = frames.copy(), oldest.copy()

    def clear(self, lanes: Int64Array) -> None:
        self._frames[lanes] = 0

    def push(self, lanes: Int64Array, frames: UInt8Array) -> UInt8Array:
        """Add a frame (D, H, W[, 3]) to each of `lanes` (D,); returns their stacks, oldest frame first."""
        stack = self._frames.shape[1]
        self._frames[lanes, self._oldest[lanes]] = frames
        self._oldest[lanes] = (self._oldest[lanes] + 1) % stack
        order = (self._oldest[lanes, np.newaxis] + np.arange(stack)) % stack
        stacks: UInt8Array = self._frames[lanes[:, np.newaxis], order]
        return stacks
