"""Rollouts: literal segments on scripted lanes, and real games beside a slow loop that looks back at everything."""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pytest

from pipeline import seeding
from pipeline.algorithms.config import ActorCriticConfig
from pipeline.envs.atari import EnvironmentReport
from pipeline.envs.due_lanes import DueLanes, make_due_lanes
from pipeline.envs.due_step import DueStep
from pipeline.envs.protocol import EnvironmentConfig
from pipeline.roles.choosing import Sampling
from pipeline.roles.place import RolePlace
from pipeline.roles.rollouts import Rollouts
from pipeline.types import Float32Array, Int64Array, RolloutBatch, UInt8Array
from tests.protocols import ba3c_protocol, nature_protocol
from tests.roles.wiring import Rows
from tests.roles.worker_wiring import actor_critic

PLACE = RolePlace("worker-1", 1, 2, 1_000, 60.0)


class Due(NamedTuple):
    """One lane that is due; what it shows is a number."""

    lane: int
    shows: int
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    lives: int = 3
    is_reset: bool = False


class LanesOfRollouts(DueLanes):
    """What rollouts never ask for."""

    def reset_lanes(self, lanes: Int64Array, seeds: Int64Array) -> DueStep:
        raise AssertionError("lanes restart by themselves")

    def report(self) -> EnvironmentReport:
        raise AssertionError("nobody asked")

    def close(self) -> None:
        raise AssertionError("whoever made the lanes closes them")


class ScriptedLanes(LanesOfRollouts):
    """Says what it was told to say, one group of due lanes after the other; `actions` are those it was given."""

    def __init__(self, script: Sequence[Sequence[Due]], config: EnvironmentConfig) -> None:
        self.game = "Pong"
        self.config = config
        self.num_lanes = len(script[0])
        self.num_actions = 10
        self.actions: list[list[int]] = []
        self._script = [_due_step(group) for group in script]

    def reset(self, seeds: Int64Array) -> DueStep:
        return self._script.pop(0)

    def step(self, actions: Int64Array) -> DueStep:
        self.actions.append(actions.tolist())
        return self._script.pop(0)


def _due_step(group: Sequence[Due]) -> DueStep:
    return DueStep(
        lanes=np.array([due.lane for due in group]),
        observation=np.array([due.shows for due in group], np.uint8).reshape(-1, 1, 1, 1),
        reward=np.array([due.reward for due in group], np.float32),
        terminated=np.array([due.terminated for due in group]),
        truncated=np.array([due.truncated for due in group]),
        lives=np.array([due.lives for due in group]),
        is_reset=np.array([due.is_reset for due in group]),
    )


def last_digit_is_played(observations: UInt8Array) -> tuple[Float32Array, Float32Array]:
    """The action is the last digit of what a lane shows, the value ten times what it shows."""
    shows = observations.reshape(len(observations))
    logits = np.full((len(shows), 10), -1e6, np.float32)
    logits[np.arange(len(shows)), shows % 10] = 0.0
    return logits, shows.astype(np.float32) * 10


class Played(NamedTuple):
    """Rollouts on scripted lanes, and what they left behind."""

    rollouts: Rollouts
    lanes: ScriptedLanes
    rows: Rows

    def collect(self) -> tuple[list[int], list[int], list[float]]:
        """States, actions and returns of one batch."""
        s_tm1, a_tm1, return_tm1, *_ = self.rollouts.collect(last_digit_is_played, version=7)
        assert [array.dtype.name for array in (s_tm1, a_tm1, return_tm1)] == ["uint8", "int64", "float32"]
        assert s_tm1.shape == (len(a_tm1), 1, 1, 1) and return_tm1.shape == a_tm1.shape
        return s_tm1.reshape(-1).tolist(), a_tm1.tolist(), return_tm1.tolist()


def play(*script: Sequence[Due], batch_size: int = 3, **protocol: object) -> Played:
    """Discount 1/2, segments of three steps at most."""
    lanes = ScriptedLanes(script, ba3c_protocol(**protocol))
    algorithm = actor_critic(discount=0.5, t_max=3, batch_size=batch_size)
    rows = Rows()
    seeds = np.zeros(lanes.num_lanes, np.int64)
    return Played(Rollouts(PLACE, lanes, algorithm, rows, Sampling(), np.random.default_rng(0), seeds), lanes, rows)


FIRST = [Due(0, 10, is_reset=True)]


def test_after_t_max_steps_a_return_ends_with_the_value_of_the_state_behind_them() -> None:
    played = play(FIRST, [Due(0, 11, 1.0)], [Due(0, 12)], [Due(0, 13, -1.0)])
    # 130 is V(13): -1 + 130 / 2 = 64, 0 + 64 / 2 = 32, 1 + 32 / 2 = 17.
    assert played.collect() == ([10, 11, 12], [0, 1, 2], [17.0, 32.0, 64.0])
    assert played.rollouts.num_steps == 1_003
    assert played.lanes.actions == [[0], [1], [2]]


def test_the_end_of_a_game_ends_the_return_with_nothing_behind_it_and_the_restart_is_no_step() -> None:
    played = play(
        FIRST, [Due(0, 11, 1.0)], [Due(0, 12, 1.0, terminated=True)], [Due(0, 20, is_reset=True)], [Due(0, 21, 1.0)],
        [Due(0, 22)], [Due(0, 23)], batch_size=5,
    )  # fmt: skip
    # 230 / 2 = 115, 57.5, 1 + 57.5 / 2.
    assert played.collect() == ([10, 11, 20, 21, 22], [0, 1, 0, 1, 2], [1.5, 1.0, 29.75, 57.5, 115.0])
    assert played.rollouts.num_steps == 1_005


def test_the_frame_cap_ends_the_return_with_the_value_of_the_state_that_it_stopped_in() -> None:
    played = play(FIRST, [Due(0, 11)], [Due(0, 12, truncated=True)], [Due(0, 20, is_reset=True)], batch_size=2)
    assert played.collect() == ([10, 11], [0, 1], [30.0, 60.0])
    (row,) = played.rows.episodes
    assert row.truncated and row.num_steps == 2


def test_a_game_that_is_over_on_the_frame_of_the_cap_is_over() -> None:
    played = play(FIRST, [Due(0, 11)], [Due(0, 12, 1.0, terminated=True, truncated=True)], batch_size=2)
    assert played.collect() == ([10, 11], [0, 1], [0.5, 1.0])
    (row,) = played.rows.episodes
    assert not row.truncated


@pytest.mark.parametrize(
    ("life_loss_ends_return", "returns"),
    [(True, [0.5, 1.0, 18.75]), (False, [16.75, 33.5, 65.0])],  # 18.75: three steps before V(15); 65: one before V(13)
)
def test_a_lost_life_ends_the_return_if_the_protocol_says_so_and_never_the_game(
    life_loss_ends_return: bool, returns: list[float]
) -> None:
    after = [[Due(0, shows, lives=2)] for shows in (13, 14, 15)]
    script = FIRST, [Due(0, 11)], [Due(0, 12, 1.0, lives=2)], *after
    played = play(*script, life_loss_ends_return=life_loss_ends_return)
    assert played.collect() == ([10, 11, 12], [0, 1, 2], returns)
    assert played.rows.episodes == []


def test_lives_that_a_new_game_begins_with_are_no_loss_and_no_gain() -> None:
    script = FIRST, [Due(0, 11, terminated=True, lives=0)], [Due(0, 20, is_reset=True)], [Due(0, 21)], [Due(0, 22)]
    played = play(*script, [Due(0, 23)], batch_size=4, life_loss_ends_return=True)
    assert played.collect() == ([10, 20, 21, 22], [0, 0, 1, 2], [0.0, 28.75, 57.5, 115.0])


def test_lanes_that_are_due_at_different_times_keep_their_own_segments() -> None:
    played = play(
        [Due(0, 10, is_reset=True), Due(1, 50, is_reset=True)],
        [Due(1, 51, 1.0)],
        [Due(0, 11, -1.0), Due(1, 52)],
        [Due(1, 53)],
        [Due(0, 12), Due(1, 54)],
        [Due(0, 13)],
        batch_size=6,
    )
    # Lane 1 is full first: V(53) = 530, 265, 132.5, 1 + 66.25; then lane 0: V(13) = 130.
    states, actions, returns = played.collect()
    assert states == [50, 51, 52, 10, 11, 12] and actions == [0, 1, 2, 0, 1, 2]
    assert returns == [67.25, 132.5, 265.0, 15.25, 32.5, 65.0]
    assert played.lanes.actions == [[0, 0], [1], [1, 2], [3], [2, 4]]


def test_lanes_whose_segments_would_fill_several_batches_at_once_do_not_keep_step() -> None:
    script = [[Due(0, 10 + time), Due(1, 50 + time)] for time in range(1, 6)]
    played = play([Due(0, 10, is_reset=True), Due(1, 50, is_reset=True)], *script, batch_size=2)
    assert played.collect()[0] == [50, 51], "the first segment of lane 1 has two steps"
    assert played.collect()[0] == [10, 11] and len(played.lanes.actions) == 3
    assert played.collect()[0] == [12, 52] and len(played.lanes.actions) == 5, "and all others have three"


def test_what_a_batch_has_no_room_for_begins_the_next_one() -> None:
    steps = [[Due(0, shows)] for shows in (11, 12, 13, 14, 15, 16)]
    played = play(FIRST, *steps, batch_size=2)
    assert played.collect()[0] == [10, 11]
    assert len(played.lanes.actions) == 3
    assert played.collect()[0] == [12, 13]
    assert played.collect()[0] == [14, 15]
    assert len(played.lanes.actions) == 6, "the second batch played three steps, the third had enough"


def test_the_action_that_was_chosen_before_a_gradient_is_played_after_it() -> None:
    played = play(FIRST, [Due(0, 11)], [Due(0, 12)], [Due(0, 13)], [Due(0, 14)], [Due(0, 15)], [Due(0, 16)])
    played.collect()
    assert played.lanes.actions == [[0], [1], [2]]
    played.collect()
    assert played.lanes.actions == [[0], [1], [2], [3], [4], [5]], "3 was chosen with the parameters before"


@pytest.mark.parametrize(("clip_rewards", "returns"), [(True, [0.5, -1.0, 1.0]), (False, [0.0, -8.0, 4.0])])
def test_returns_may_be_of_clipped_rewards_and_scores_never_are(clip_rewards: bool, returns: list[float]) -> None:
    script = FIRST, [Due(0, 11, 4.0)], [Due(0, 12, -8.0, terminated=True)], [Due(0, 20, is_reset=True)]
    played = play(*script, [Due(0, 21, 4.0, terminated=True)], clip_rewards=clip_rewards)
    assert played.collect()[2] == returns
    assert [row.score for row in played.rows.episodes] == [-4.0, 4.0]


def test_a_row_tells_of_the_game_of_its_lane_and_of_the_frames_of_the_run() -> None:
    played = play(
        [Due(0, 10, is_reset=True), Due(1, 50, is_reset=True)],
        [Due(0, 11, 1.0), Due(1, 51, 3.0)],
        [Due(1, 52, 3.0, terminated=True)],
        [Due(0, 12, 1.0), Due(1, 60, is_reset=True)],
        batch_size=2,
    )
    played.collect()
    (row,) = played.rows.episodes
    assert (row.role, row.lane, row.score, row.num_steps, row.truncated) == ("worker-1", 1, 6.0, 2, False)
    assert row.end_step == 1_003, "those of the other lane too, and those before a resume"
    assert row.total_frames == 3 * 1_003 * 2, "frame skips of 2, 3 and 4, two workers"
    assert (row.version, row.epsilon) == (7, 0.0) and row.wall_seconds >= 60.0


class RecordingLanes(LanesOfRollouts):
    """Real lanes; `seen` is all that they have shown."""

    def __init__(self, lanes: DueLanes) -> None:
        self.game, self.config = lanes.game, lanes.config
        self.num_lanes, self.num_actions = lanes.num_lanes, lanes.num_actions
        self.seen: list[DueStep] = []
        self.actions: list[Int64Array] = []
        self._lanes = lanes

    def reset(self, seeds: Int64Array) -> DueStep:
        self.seen.append(self._lanes.reset(seeds))
        return self.seen[-1]

    def step(self, actions: Int64Array) -> DueStep:
        self.actions.append(actions.copy())
        self.seen.append(self._lanes.step(actions))
        return self.seen[-1]


class Segment(NamedTuple):
    """Steps of one lane, found afterwards."""

    closed_at: tuple[int, int, int]
    """Time; ended (0) or cut (1); lane: the order in which segments come."""
    observations: list[UInt8Array]
    actions: list[int]
    returns: list[float]


def segments_of(
    lane: int,
    seen: Sequence[DueStep],
    actions: Sequence[Int64Array],
    values: Sequence[Float32Array],
    algorithm: ActorCriticConfig,
) -> list[Segment]:
    """The slow way: all times at which `lane` was due, then every return as a sum of its own."""
    found: list[Segment] = []
    times = [(time, step.lanes.tolist().index(lane)) for time, step in enumerate(seen) if lane in step.lanes]
    steps: list[tuple[UInt8Array, int, float]] = []
    for (before, i), (now, j) in itertools.pairwise(times):
        if seen[now].is_reset[j]:
            continue
        reward = float(np.clip(seen[now].reward[j], -1, 1))
        steps.append((seen[before].observation[i], int(actions[before][i]), reward))
        over = bool(seen[now].terminated[j] or seen[now].lives[j] < seen[before].lives[i])
        if not over and not seen[now].truncated[j] and len(steps) < algorithm.t_max:
            continue
        behind = 0.0 if over else float(values[now][j])
        rewards = [reward for _, _, reward in steps]
        rewards.append(behind)
        returns = [sum(algorithm.discount**k * r for k, r in enumerate(rewards[start:])) for start in range(len(steps))]
        closed_at = (now, 0 if over else 1, lane)
        found.append(Segment(closed_at, [state for state, _, _ in steps], [action for _, action, _ in steps], returns))
        steps = []
    return found


@pytest.mark.parametrize(
    "config",
    [
        pytest.param(
            ba3c_protocol(max_frames=500, life_loss_ends_return=True), id="random skip", marks=pytest.mark.slow
        ),
        pytest.param(nature_protocol(max_frames=500, noop_max=0), id="fixed skip"),
    ],
)
def test_a_loop_that_looks_back_at_a_whole_game_makes_the_same_batches(config: EnvironmentConfig) -> None:
    games = make_due_lanes("Breakout", config, 3, num_threads=1)
    lanes = RecordingLanes(games)
    values: list[Float32Array] = []

    def policy(observations: UInt8Array) -> tuple[Float32Array, Float32Array]:
        values.append(observations.reshape(len(observations), -1).mean(axis=1, dtype=np.float32))
        return np.zeros((len(observations), lanes.num_actions), np.float32), values[-1]

    rows = Rows()
    algorithm = actor_critic(batch_size=16)
    seeds = seeding.emulator_seeds(0, "test", count=3)
    place = RolePlace("worker-0", 0, 1, 0, 0.0)
    rollouts = Rollouts(place, lanes, algorithm, rows, Sampling(), np.random.default_rng(0), seeds)
    batches: list[RolloutBatch] = []
    while len(rows.episodes) < 4:
        batches.append(rollouts.collect(policy, version=0))
    games.close()

    segments = [
        segment for lane in range(3) for segment in segments_of(lane, lanes.seen, lanes.actions, values, algorithm)
    ]
    segments.sort(key=lambda segment: segment.closed_at)
    num_steps = 16 * len(batches)
    observations = [observation for segment in segments for observation in segment.observations][:num_steps]
    actions = [action for segment in segments for action in segment.actions][:num_steps]
    returns = [return_ for segment in segments for return_ in segment.returns][:num_steps]
    np.testing.assert_array_equal(np.concatenate([batch.s_tm1 for batch in batches]), np.stack(observations))
    np.testing.assert_array_equal(np.concatenate([batch.a_tm1 for batch in batches]), actions)
    np.testing.assert_allclose(np.concatenate([batch.return_tm1 for batch in batches]), returns, rtol=1e-6)
    assert {len(segment.actions) for segment in segments} == {1, 2, 3, 4, 5}
    assert sum(row.num_steps for row in rows.episodes) <= rollouts.num_steps
