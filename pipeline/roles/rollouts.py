"""Rollouts: plays a worker's lanes and cuts what comes of it into returns of at most t_max steps.

    lane 0   s0 a0 r1  s1 a1 r2  s2 a2 r3  s3 a3 r4  s4 a4 r5 | V(s5)   five steps and the value behind them
    lane 1   s0 a0 r1  s1 a1 r2  end                          | 0       the game is over: fewer steps, nothing behind

A return is closed with the value that was predicted when the action in its last state was chosen, so it costs no pass
through the network of its own (Adamski et al. 2018, as in their code). The action that is chosen in the closing state
is of the parameters before the gradient, one update old, and is played while others are waited for (`play`). As old
are the first steps of segments that were open when the last batch was full: with lanes in step that is one step in
t_max, with lanes that have fallen out of step (games end, or skip at random) three of five on average. What a game's
end leaves over waits for the next batch, another update. Where a batch is less than one segment of every lane, a
segment spans several: with 10 lanes and batches of 32, as the authors have, two steps in three are one update old and
one in five is two.
Steps of all lanes queue up, and the oldest `batch_size` of them make a batch. Where that is less than one segment of
every lane, the first segments are cut to different lengths: lanes that ended theirs all at once would fill several
batches, the last of which is some updates old. Departure: in the authors' code, where each game has a process of its
own and none keeps step, single steps are shuffled through a queue.
Not here: how actions are chosen (`pipeline.roles.choosing`), the loss of a batch, and what becomes of its gradient
(`pipeline.roles.rollout_worker`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from pipeline.algorithms.actor_critic import lambda_returns
from pipeline.algorithms.config import RolloutConfig
from pipeline.envs.due_lanes import DueLanes
from pipeline.envs.due_step import DueLanesState, DueStep
from pipeline.interfaces import RowSink
from pipeline.roles.choosing import Choice, Chooser
from pipeline.roles.episode_tally import EpisodeTally, TallyState
from pipeline.roles.place import RoleClock, RolePlace
from pipeline.states import StreamState, restore_stream, stream_state
from pipeline.types import Float32Array, Int64Array, RolloutBatch, UInt8Array

Policy = Callable[[UInt8Array], tuple[Float32Array, Float32Array]]
"""Observations (D, K, H, W[, 3]) to preferences (D, A) and values (D,). Its calls are counted from 0."""


class StepsState(NamedTuple):
    """Steps whose return is not known, of one lane, or is, of all of them."""

    observations: UInt8Array
    """(n, K, H, W[, 3])"""
    actions: tuple[int, ...]
    origins: tuple[tuple[int, int], ...]
    rewards: tuple[float, ...]
    """Or returns."""
    values: tuple[float, ...]
    log_pis: tuple[float, ...]
    max_steps: int = 0


class RolloutsState(NamedTuple):
    """Where rollouts stand between two batches."""

    num_steps: int
    stream: StreamState
    lanes: DueLanesState
    lives: Int64Array
    tally: TallyState
    actions: Int64Array | None
    num_calls: int
    segments: tuple[StepsState, ...]
    ready: StepsState


class Rollouts:
    """Plays on from batch to batch. `num_steps` counts agent steps of all lanes, resumes included."""

    def __init__(
        self,
        place: RolePlace,
        lanes: DueLanes,
        algorithm: RolloutConfig,
        rows: RowSink,
        chooser: Chooser,
        rng: np.random.Generator,
        emulator_seeds: Int64Array,
    ) -> None:
        self.num_steps = place.num_steps_before
        self._lanes = lanes
        self._algorithm = algorithm
        self._rows = rows
        self._chooser = chooser
        self._rng = rng
        self.clock = RoleClock(place)
        """What this worker counts its time by."""
        in_step = algorithm.batch_size >= lanes.num_lanes * algorithm.t_max
        self._segments = [
            _Segment(max_steps=algorithm.t_max if in_step else algorithm.t_max - lane % algorithm.t_max)
            for lane in range(lanes.num_lanes)
        ]
        self._tally = EpisodeTally(place, lanes.num_lanes)
        self._due = lanes.reset(emulator_seeds)
        self._lives = self._due.lives.copy()
        self._actions: Int64Array | None = None
        """Chosen for the lanes that are due, and not yet played."""
        self._num_calls = 0
        """Of the policy."""
        self._ready = _Ready()

    def collect(self, policy: Policy, version: int) -> RolloutBatch:
        """Play until `batch_size` steps have their return. `version`, of the policy, goes into the rows of episodes."""
        while len(self._ready.actions) < self._algorithm.batch_size:
            self.play()
            self._account(self._due, version)
            preferences, values = policy(self._due.observation)
            self._num_calls += 1
            self._close_full(values)
            choice = self._chooser.choose(preferences, self._due.lanes, self._rng)
            self._actions = choice.actions
            self._begin_steps(choice, values)
        return self._ready.take(self._algorithm.batch_size)

    def play(self) -> None:
        """Play the actions that are chosen, unless they were; what comes of it counts from the next `collect` on."""
        if self._actions is not None:
            self._due, self._actions = self._lanes.step(self._actions), None

    def state(self) -> RolloutsState:
        """Where they stand. Raises TypeError unless the lanes are seeded."""
        shape, ready = self._due.observation.shape[1:], self._ready
        return RolloutsState(
            self.num_steps,
            stream_state(self._rng),
            self._lanes.state(),
            self._lives.copy(),
            self._tally.state(),
            None if self._actions is None else self._actions.copy(),
            self._num_calls,
            tuple(_as_state(one, shape, one.rewards, one.max_steps) for one in self._segments),
            _as_state(ready, shape, ready.returns, 0),
        )

    def restore(self, state: RolloutsState) -> None:
        """Go on from there. CheckpointError if the games go otherwise than they were saved."""
        self.num_steps, self._lives, self._actions = state.num_steps, state.lives.copy(), state.actions
        self._num_calls = state.num_calls
        restore_stream(self._rng, state.stream)
        self._lanes.restore(state.lanes)
        self._due = state.lanes.due
        self._tally.restore(state.tally)
        self._segments = [
            _Segment(**_lists(one), max_steps=one.max_steps, rewards=list(one.rewards)) for one in state.segments
        ]
        ready = state.ready
        self._ready = _Ready(**_lists(ready), returns=list(ready.rewards))

    @property
    def num_frames(self) -> int:
        """Emulator frames of this worker; with a random frame skip, the number to be expected."""
        return round(self.num_steps * self._lanes.config.mean_frame_skip)

    @property
    def wall_seconds(self) -> float:
        """Since the run's first start, pauses between resumes not counted."""
        return self.clock.wall_seconds

    def _account(self, due: DueStep, version: int) -> None:
        config = self._lanes.config
        rewards = np.clip(due.reward, -1.0, 1.0) if config.clip_rewards else due.reward
        valid = ~due.is_reset
        self.num_steps += int(valid.sum())
        self._tally.add(due.lanes[valid], due.reward[valid])
        ends = due.terminated
        if config.life_loss_ends_return:
            ends = ends | (due.lives < self._lives[due.lanes])
        self._lives[due.lanes] = due.lives
        for i in np.flatnonzero(valid).tolist():
            segment = self._segments[due.lanes[i]]
            segment.rewards.append(float(rewards[i]))
            if ends[i]:
                self._close(segment, 0.0)
            if due.terminated[i] or due.truncated[i]:
                self._finish_episode(int(due.lanes[i]), bool(due.truncated[i] and not due.terminated[i]), version)

    def _close_full(self, values: Float32Array) -> None:
        # A truncated game is no end of the return: the value of the state it stopped in stands for the rest.
        for i, lane in enumerate(self._due.lanes.tolist()):
            segment = self._segments[lane]
            if len(segment.rewards) >= segment.max_steps or (segment.rewards and self._due.truncated[i]):
                self._close(segment, float(values[i]))

    def _begin_steps(self, choice: Choice, values: Float32Array) -> None:
        # Where a game has just ended the action is ignored: it only restarts the lane.
        plays = ~(self._due.terminated | self._due.truncated)
        for i in np.flatnonzero(plays).tolist():
            segment = self._segments[self._due.lanes[i]]
            segment.observations.append(self._due.observation[i])
            segment.actions.append(int(choice.actions[i]))
            segment.origins.append((self._num_calls - 1, i))
            segment.values.append(float(values[i]))
            segment.log_pis.append(float(choice.log_pis[i]))

    def _close(self, segment: "_Segment", bootstrap: float) -> None:
        rewards, values = (np.array(numbers, np.float32) for numbers in (segment.rewards, segment.values))
        algorithm = self._algorithm
        returns = lambda_returns(rewards, values, algorithm.discount, algorithm.return_lambda, bootstrap)
        self._ready.add(segment, returns.tolist())
        segment.begin(algorithm.t_max)

    def _finish_episode(self, lane: int, truncated: bool, version: int) -> None:
        self._rows.emit(
            self._tally.finish(
                lane,
                truncated=truncated,
                epsilon=self._chooser.epsilon(lane),
                version=version,
                num_steps=self.num_steps,
                num_frames=self.num_frames,
                wall_seconds=self.wall_seconds,
            )
        )


def _stacked(observations: Sequence[UInt8Array], shape: tuple[int, ...]) -> UInt8Array:
    return np.stack(observations) if observations else np.zeros((0, *shape), np.uint8)


def _lists(state: StepsState) -> dict[str, Any]:
    """What all `_Steps` have, by name."""
    return {name: list(getattr(state, name)) for name in ("observations", "actions", "origins", "values", "log_pis")}


@dataclass
class _Steps:
    """Steps of which all is known but what came of them."""

    observations: list[UInt8Array] = field(default_factory=list)
    actions: list[int] = field(default_factory=list)
    origins: list[tuple[int, int]] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    log_pis: list[float] = field(default_factory=list)


def _as_state(steps: _Steps, shape: tuple[int, ...], rewards: Sequence[float], max_steps: int) -> StepsState:
    return StepsState(
        _stacked(steps.observations, shape),
        tuple(steps.actions),
        tuple(steps.origins),
        tuple(rewards),
        tuple(steps.values),
        tuple(steps.log_pis),
        max_steps,
    )


@dataclass
class _Segment(_Steps):
    """The steps of one lane since its last return was closed. A step has its reward once it has been played."""

    max_steps: int = 0
    rewards: list[float] = field(default_factory=list)

    def begin(self, max_steps: int) -> None:
        self.observations, self.actions, self.origins, self.values, self.log_pis = [], [], [], [], []
        self.rewards, self.max_steps = [], max_steps


@dataclass
class _Ready(_Steps):
    """Steps whose return is known, oldest first."""

    returns: list[float] = field(default_factory=list)

    def add(self, steps: _Steps, returns: Sequence[float]) -> None:
        """Take over these steps, whose returns are known now."""
        self.observations += steps.observations
        self.actions += steps.actions
        self.origins += steps.origins
        self.values += steps.values
        self.log_pis += steps.log_pis
        self.returns += returns

    def take(self, count: int) -> RolloutBatch:
        """The oldest `count` of them, which are forgotten here."""
        batch = RolloutBatch(
            np.stack(self.observations[:count]),
            np.array(self.actions[:count], dtype=np.int64),
            np.array(self.returns[:count], dtype=np.float32),
            np.array(self.values[:count], dtype=np.float32),
            np.array(self.log_pis[:count], dtype=np.float32),
            np.array(self.origins[:count], dtype=np.int64),
        )
        del self.observations[:count], self.actions[:count], self.returns[:count], self.origins[:count]
        del self.values[:count], self.log_pis[:count]
        return batch
