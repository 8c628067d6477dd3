"""The actor: plays E games at once and hands every step to a replay. The one place that joins them.

    observation -> Q-values -> epsilon-greedy -> lanes -> clipped reward, continuation -> replay
                                                       -> unclipped score -> EpisodeRow

It explores by epsilon, different in each lane or not, and by the noise of a noisy network, fresh at each step.
Nair et al. 2015 (Gorila's "actors"). Not here: learning (`pipeline.roles.learner`), evaluation (`pipeline.evaluation`).
"""

from typing import NamedTuple

import numpy as np
import torch

from pipeline.algorithms.exploration import epsilon_greedy, lane_epsilons
from pipeline.algorithms.exploration_config import ExplorationConfig
from pipeline.envs.atari import AtariLanes, LaneResults
from pipeline.envs.seeded import LanesState, check_restored, seeded
from pipeline.interfaces import RowSink, TransitionSink
from pipeline.networks.replica import QReplica
from pipeline.roles.episode_tally import EpisodeTally, TallyState
from pipeline.roles.follower import Follower
from pipeline.roles.place import RoleClock, RolePlace
from pipeline.schedules import Extent
from pipeline.states import StreamState, restore_stream, stream_state
from pipeline.types import BoolArray, Float32Array, Float64Array, Int64Array, LaneStep, UInt8Array


class ActorState(NamedTuple):
    """An actor between two steps; its replica is not its own. Arrays are as in the LaneResults of the last step."""

    num_steps: int
    num_lane_steps: int
    budget_share: float
    epsilons: Float64Array
    stream: StreamState
    lanes: LanesState
    observation: UInt8Array
    first: BoolArray
    lives: Int64Array
    tally: TallyState


class Actor:
    """Steps all its lanes once per `step()`. `num_steps` counts agent steps of all lanes, resumes included."""

    def __init__(
        self,
        place: RolePlace,
        lanes: AtariLanes,
        follower: Follower[QReplica],
        pull_every_steps: int,
        exploration: ExplorationConfig,
        extent: Extent,
        transitions: TransitionSink,
        rows: RowSink,
        rng: np.random.Generator,
        noise: torch.Generator,
        emulator_seeds: Int64Array,
    ) -> None:
        self.num_steps = place.num_steps_before
        self._epsilons = np.ones(lanes.num_lanes)
        self._place = place
        self._lanes = lanes
        self._follower = follower
        self._pull_every_steps = pull_every_steps
        self._num_lane_steps = 0
        self._exploration = exploration
        self._extent = extent
        self._transitions = transitions
        self._rows = rows
        self._rng = rng
        self._noise = noise
        self._clock = RoleClock(place)
        self._observation = lanes.reset(emulator_seeds)
        self._first: BoolArray = np.ones(lanes.num_lanes, dtype=np.bool_)
        self._tally = EpisodeTally(place, lanes.num_lanes)
        self._lives: Int64Array = np.zeros(lanes.num_lanes, dtype=np.int64)

    def step(self) -> int:
        """Play one step in every lane; returns how many agent steps that were (lanes that only reset do not count)."""
        if self._num_lane_steps % self._pull_every_steps == 0:
            self._follower.refresh()
        self._num_lane_steps += 1
        self._epsilons = lane_epsilons(
            self._exploration,
            self._follower.version,
            self.budget_share,
            self._lanes.num_lanes,
            self._place.index,
            self._place.num_actors,
        )
        actions = self._choose()
        results = self._lanes.step(actions)
        self._transitions.add(self._as_lane_step(actions, results))
        valid = ~results.is_reset
        num_steps = int(valid.sum())
        self.num_steps += num_steps
        self._tally.add(np.flatnonzero(valid), results.reward[valid])
        self._finish_episodes(results)
        self._observation, self._first, self._lives = results.observation, results.is_reset, results.lives
        return num_steps

    def state(self) -> ActorState:
        """Where it stands. Raises TypeError unless its lanes are seeded."""
        return ActorState(
            self.num_steps,
            self._num_lane_steps,
            self.budget_share,
            self._epsilons.copy(),
            stream_state(self._rng),
            seeded(self._lanes).state(),
            self._observation.copy(),
            self._first.copy(),
            self._lives.copy(),
            self._tally.state(),
        )

    def restore(self, state: ActorState) -> None:
        """Go on from there: its games are played to where they were. CheckpointError if they go otherwise."""
        self.num_steps, self._num_lane_steps, self._epsilons = state.num_steps, state.num_lane_steps, state.epsilons
        # Its own, not the largest of all roles: a share never falls, and must not jump either.
        self._clock.share_before = state.budget_share
        restore_stream(self._rng, state.stream)
        check_restored(seeded(self._lanes).restore(state.lanes), state.observation)
        self._observation, self._first, self._lives = state.observation, state.first, state.lives
        self._tally.restore(state.tally)

    def _choose(self) -> Int64Array:
        # While every lane is random the network need not be asked.
        if self._epsilons.min() >= 1.0:
            return self._rng.integers(self._lanes.num_actions, size=self._lanes.num_lanes)
        q_values: Float32Array = self._follower.replica.values(self._observation, self._noise).cpu().numpy()
        return epsilon_greedy(q_values, self._epsilons, self._rng)

    def _as_lane_step(self, actions: Int64Array, results: LaneResults) -> LaneStep:
        config = self._lanes.config
        ends = results.terminated
        if config.life_loss_ends_return:
            ends = ends | (results.lives < self._lives)
        return LaneStep(
            frame_tm1=_newest_frame(self._observation),
            first_tm1=self._first,
            valid=~results.is_reset,
            a_tm1=actions,
            r_t=np.clip(results.reward, -1.0, 1.0) if config.clip_rewards else results.reward,
            continues_t=np.where(ends, np.float32(0.0), np.float32(1.0)),
        )

    def _finish_episodes(self, results: LaneResults) -> None:
        for lane in np.flatnonzero(results.terminated | results.truncated).tolist():
            self._rows.emit(
                self._tally.finish(
                    lane,
                    truncated=bool(results.truncated[lane] and not results.terminated[lane]),
                    epsilon=float(self._epsilons[lane]),
                    version=self._follower.version,
                    num_steps=self.num_steps,
                    num_frames=self.num_frames,
                    wall_seconds=self.wall_seconds,
                )
            )

    @property
    def epsilon(self) -> float:
        """Chance of a random action at the last step, mean over the lanes; 1.0 before the first."""
        return float(self._epsilons.mean())

    @property
    def budget_share(self) -> float:
        """How much of the run's budget is spent, if all actors are as far as this one; it never falls."""
        return self._clock.budget_share(self._extent, self.num_steps * self._place.num_actors)

    @property
    def num_frames(self) -> int:
        """Emulator frames of this actor: steps times frame skip."""
        return self.num_steps * self._lanes.config.frame_skip

    @property
    def wall_seconds(self) -> float:
        """Since the run's first start, pauses between resumes not counted."""
        return self._clock.wall_seconds


def _newest_frame(observation: UInt8Array) -> UInt8Array:
    return observation[:, -1]
