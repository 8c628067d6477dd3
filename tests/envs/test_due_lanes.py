"""Lanes that are asked when they are due. Frames are counted by ale-py; a slow emulator loop draws the same pixels."""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import ale_py
import cv2
import numpy as np
import pytest
from ale_py import roms
from ale_py.vector_env import AtariVectorEnv
from scipy.stats import chisquare

from pipeline.envs.atari import AtariLanes
from pipeline.envs.due_lanes import DueLanes, FixedSkipLanes, RandomSkipLanes
from pipeline.envs.due_step import DueStep
from pipeline.errors import ConfigError
from pipeline.games import rom_name
from pipeline.types import Int64Array, UInt8Array
from tests.envs.conftest import MakeDueLanes, MakeLanes
from tests.protocols import ba3c_protocol

TINY: dict[str, Any] = {"grey": True, "frame_height": 12, "frame_width": 10}


def ints(*values: int) -> Int64Array:
    return np.array(values, dtype=np.int64)


@pytest.fixture
def episode_frames(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Int64Array]:
    """Ask for the frames (E,) that ale-py has played in each lane's episode."""
    newest: list[Int64Array] = []
    step = AtariVectorEnv.step

    def step_and_note(env: AtariVectorEnv, actions: Int64Array) -> Any:
        results = step(env, actions)
        newest[:] = [results[4]["episode_frame_number"].astype(np.int64)]
        return results

    monkeypatch.setattr(AtariVectorEnv, "step", step_and_note)
    return lambda: newest[0]


class LaneMoment(NamedTuple):
    """One row of a DueStep."""

    observation: bytes
    reward: float
    terminated: bool
    truncated: bool
    lives: int
    is_reset: bool


def moments(due: DueStep) -> Iterator[tuple[int, LaneMoment]]:
    for row, lane in enumerate(due.lanes.tolist()):
        yield lane, LaneMoment(due.observation[row].tobytes(), *(column[row].item() for column in due[2:]))


def play(lanes: DueLanes, seeds: Int64Array, num_steps: int) -> list[list[LaneMoment]]:
    """The first `num_steps` moments of each lane; actions depend on the lane's seed and its own steps alone."""
    history: list[list[LaneMoment]] = [[] for _ in range(lanes.num_lanes)]
    due = lanes.reset(seeds)
    while True:
        for lane, moment in moments(due):
            history[lane].append(moment)
        if min(map(len, history)) >= num_steps:
            return [lane_history[:num_steps] for lane_history in history]
        due = lanes.step(np.array([(seeds[lane] + len(history[lane]) ** 2) % 3 for lane in due.lanes]))


def frames_per_step(
    lanes: DueLanes, seeds: Int64Array, num_steps: int, episode_frames: Callable[[], Int64Array]
) -> list[list[int]]:
    """How many frames each of the first `num_steps` whole steps of each lane had; restarts and last steps left out."""
    due = lanes.reset(seeds)
    before = np.zeros(lanes.num_lanes, dtype=np.int64)
    found: list[list[int]] = [[] for _ in range(lanes.num_lanes)]
    while min(map(len, found)) < num_steps:
        due = lanes.step(np.zeros_like(due.lanes))
        now = episode_frames()
        for lane, ended, is_reset in zip(due.lanes, due.terminated | due.truncated, due.is_reset, strict=True):
            if not ended and not is_reset:
                found[lane].append(int(now[lane] - before[lane]))
            before[lane] = now[lane]
    return [steps[:num_steps] for steps in found]


class SlowGame:
    """One game played frame by frame with ale-py's single emulator, without sticky actions; stacks of 4 in RGB."""

    def __init__(self, game: str) -> None:
        self._ale = ale_py.ALEInterface()
        self._ale.setFloat("repeat_action_probability", 0.0)
        rom = roms.get_rom_path(rom_name(game))
        assert rom is not None
        self._ale.loadROM(rom)
        self._actions = self._ale.getMinimalActionSet()
        self._stack: deque[UInt8Array] = deque(maxlen=4)

    def reset(self) -> UInt8Array:
        self._ale.reset_game()
        self._stack.extend([np.zeros((84, 84, 3), np.uint8)] * 3)
        return self._push(self._ale.getScreenRGB())

    def step(self, action: int, num_frames: int) -> tuple[UInt8Array, float, bool, int]:
        reward = 0.0
        for _ in range(num_frames):
            before = self._ale.getScreenRGB()
            reward += self._ale.act(self._actions[action])
        over = self._ale.game_over()
        # Where a game is over, ale-py's vector environment shows the last frame but one, as gymnasium's wrapper does.
        return self._push(before if over else self._ale.getScreenRGB()), reward, over, self._ale.lives()

    def _push(self, screen: UInt8Array) -> UInt8Array:
        self._stack.append(np.asarray(cv2.resize(screen, (84, 84), interpolation=cv2.INTER_AREA), np.uint8))
        return np.stack(self._stack)


@pytest.mark.slow
def test_steps_of_two_three_and_four_frames_are_equally_likely(
    make_ba3c: MakeDueLanes, episode_frames: Callable[[], Int64Array]
) -> None:
    found = np.array(frames_per_step(make_ba3c("Pong", 3, **TINY), np.arange(3), 600, episode_frames))
    lengths, counts = np.unique(found, return_counts=True)
    assert lengths.tolist() == [2, 3, 4]
    assert chisquare(counts).pvalue > 0.01
    # Nor does a step tell anything about the next one of its lane, or about the same one of the next lane.
    for first, second in ((found[:, :-1], found[:, 1:]), (found[:-1], found[1:])):
        pairs = np.unique(3 * first + second, return_counts=True)[1]
        assert pairs.size == 9
        assert chisquare(pairs).pvalue > 0.01


@pytest.mark.parametrize(
    ("game", "num_steps", "num_ends", "num_points"), [("Breakout", 450, 2, 1), ("Pong", 400, 0, 5)]
)
def test_every_pixel_and_reward_equals_an_emulator_driven_frame_by_frame(
    make_ba3c: MakeDueLanes,
    episode_frames: Callable[[], Int64Array],
    game: str,
    num_steps: int,
    num_ends: int,
    num_points: int,
) -> None:
    lanes, reference = make_ba3c(game, sticky_probability=0.0), SlowGame(game)
    due = lanes.reset(ints(5))
    np.testing.assert_array_equal(due.observation[0], reference.reset())
    rng = np.random.default_rng(0)
    ends, over, frames, paid = 0, False, 0, 0.0
    for _ in range(num_steps):
        action = int(rng.integers(lanes.num_actions))
        due = lanes.step(ints(action))
        assert due.is_reset[0] == over
        if over:
            expected, reward, over = reference.reset(), 0.0, False
        else:
            num_frames = int(episode_frames()[0]) - frames
            expected, reward, over, lives = reference.step(action, num_frames)
            assert due.lives[0] == lives
        frames = int(episode_frames()[0])
        np.testing.assert_array_equal(due.observation[0], expected)
        assert (due.reward[0], due.terminated[0], due.truncated[0]) == (reward, over, False)
        ends, paid = ends + over, paid + abs(reward)
    assert (ends, paid) == (num_ends, num_points)


def test_a_lane_plays_the_same_alone_and_among_others(make_ba3c: MakeDueLanes) -> None:
    changes = TINY | {"max_frames": 100}
    together = play(make_ba3c("Breakout", 4, **changes), ints(9, 8, 7, 9), 90)
    for seed, among_others in zip((9, 8, 7), together, strict=False):
        (alone,) = play(make_ba3c("Breakout", **changes), ints(seed), 90)
        assert alone == among_others
    assert together[3] == together[0]
    assert together[1] != together[0]
    assert sum(moment.truncated for moment in together[0]) >= 2


@pytest.mark.parametrize("max_frames", [5, 6, 7])
def test_the_frame_cap_ends_a_step_at_once_and_the_lane_restarts_while_others_play_on(
    make_ba3c: MakeDueLanes, episode_frames: Callable[[], Int64Array], max_frames: int
) -> None:
    lanes = make_ba3c("Freeway", 3, **TINY, max_frames=max_frames)
    first = dict(moments(lanes.reset(ints(1, 2, 3))))
    due = lanes.step(ints(1, 1, 1))
    ended: set[int] = set()
    for _ in range(30):
        for lane, moment in moments(due):
            assert moment.truncated == (episode_frames()[lane] == max_frames)
            assert moment.is_reset == (lane in ended)
            if moment.is_reset:
                assert moment == first[lane]
        ended = {*ended - set(due.lanes.tolist()), *due.lanes[due.truncated].tolist()}
        due = lanes.step(np.ones_like(due.lanes))


def test_frame_skips_follow_from_the_seed_and_a_restarted_lane_goes_on_drawing(
    make_ba3c: MakeDueLanes, episode_frames: Callable[[], Int64Array]
) -> None:
    lanes = make_ba3c("Pong", 2, **TINY, max_frames=40)
    first = frames_per_step(lanes, ints(4, 5), 30, episode_frames)
    assert first == frames_per_step(lanes, ints(4, 5), 30, episode_frames)
    assert first[0] != first[1]
    # An episode of 40 frames has 10 to 20 steps: had the stream begun again, the second would repeat the first.
    assert not any(first[0][:9] == first[0][start : start + 9] for start in range(9, 20))


def test_one_lane_that_is_reset_leaves_the_others_as_they_were(make_ba3c: MakeDueLanes) -> None:
    lanes, undisturbed = make_ba3c("Freeway", 3, **TINY), make_ba3c("Freeway", 3, **TINY)
    for each in (lanes, undisturbed):
        due = each.reset(ints(1, 2, 3))
        while due.lanes.size < 2:
            due = each.step(np.ones_like(due.lanes))
    lane = due.lanes[:1]
    expected = dict(moments(due))
    renewed = lanes.reset_lanes(lane, ints(8))
    assert renewed.lanes.tolist() == due.lanes.tolist()
    (fresh,) = dict(moments(make_ba3c("Freeway", **TINY).reset(ints(8)))).values()
    assert dict(moments(renewed)) == expected | {int(lane[0]): fresh}
    for _ in range(20):
        renewed, due = (each.step(np.ones_like(step.lanes)) for each, step in ((lanes, renewed), (undisturbed, due)))
        mine, other = dict(moments(renewed)), dict(moments(due))
        shared = (mine.keys() & other.keys()) - {int(lane[0])}
        assert {key: mine[key] for key in shared} == {key: other[key] for key in shared}
        if renewed.lanes.tolist() != due.lanes.tolist():
            break


def test_a_lane_in_the_middle_of_its_step_cannot_be_reset(make_ba3c: MakeDueLanes) -> None:
    lanes = make_ba3c("Freeway", 3, **TINY)
    due = lanes.reset(ints(1, 2, 3))
    while due.lanes.size == 3:
        due = lanes.step(np.ones_like(due.lanes))
    (busy, *_) = set(range(3)) - set(due.lanes.tolist())
    with pytest.raises(ValueError, match=r"are due, and only these can be reset, got \["):
        lanes.reset_lanes(ints(busy), ints(0))


def test_each_lane_that_is_due_must_get_an_action(make_ba3c: MakeDueLanes) -> None:
    lanes = make_ba3c("Freeway", 3, **TINY)
    lanes.reset(ints(1, 2, 3))
    with pytest.raises(ValueError, match=r"3 lanes are due, one action each, got actions of shape \(2,\)"):
        lanes.step(ints(1, 1))


def test_an_action_that_is_refused_changes_nothing_of_the_game(make_ba3c: MakeDueLanes) -> None:
    lanes, undisturbed = make_ba3c("Freeway", 2, **TINY), make_ba3c("Freeway", 2, **TINY)
    for each in (lanes, undisturbed):
        each.reset(ints(1, 2))
    for wrong in (ints(0, 3), ints(-1, 0)):
        with pytest.raises(ValueError, match=r"Freeway has actions 0 to 2, got \["):
            lanes.step(wrong)
    due = lanes.step(ints(1, 1))
    assert dict(moments(due)) == dict(moments(undisturbed.step(ints(1, 1))))
    for _ in range(20):
        (due, other) = (each.step(np.ones_like(due.lanes)) for each in (lanes, undisturbed))
        assert dict(moments(due)) == dict(moments(other))


def test_sticky_actions_follow_from_the_seed(make_ba3c: MakeDueLanes) -> None:
    def forty_moments(sticky_probability: float, *seeds: int) -> list[list[LaneMoment]]:
        lanes = make_ba3c("Freeway", len(seeds), **TINY, sticky_probability=sticky_probability)
        return play(lanes, ints(*seeds), 40)

    sticky, plain = forty_moments(0.5, 1, 1), forty_moments(0.0, 1, 1)
    assert sticky[0] == sticky[1]
    assert plain[0] == plain[1]
    assert sticky[0] != plain[0]


def test_a_fixed_skip_is_atari_lanes_as_they_are(make_nature: MakeDueLanes, make_lanes: MakeLanes) -> None:
    fixed, plain = make_nature("Freeway", 2, max_frames=40), make_lanes("Freeway", 2, max_frames=40)
    assert isinstance(fixed, FixedSkipLanes)
    due = fixed.reset(ints(1, 2))
    np.testing.assert_array_equal(due.observation, plain.reset(ints(1, 2)))
    assert due.is_reset.all() and not (due.terminated | due.truncated).any() and not due.reward.any()
    for step in range(25):
        due, expected = fixed.step(ints(1, step % 3)), plain.step(ints(1, step % 3))
        assert due.lanes.tolist() == [0, 1]
        for ours, theirs in zip(due[1:], expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)
    renewed = fixed.reset_lanes(ints(1), ints(7))
    expected_observation = plain.reset_lanes(np.array([False, True]), ints(7))
    np.testing.assert_array_equal(renewed.observation, expected_observation)
    assert renewed.is_reset.tolist() == [False, True]


@pytest.mark.parametrize("make", ["make_nature", "make_ba3c"])
def test_lives_are_known_from_the_first_observation_on(make: str, request: pytest.FixtureRequest) -> None:
    lanes: DueLanes = request.getfixturevalue(make)("Breakout", 2)
    assert lanes.reset(ints(0, 1)).lives.tolist() == [5, 5]


@pytest.mark.parametrize("make", ["make_nature", "make_ba3c"])
def test_results_have_the_promised_dtypes_and_are_never_written_to_later(
    make: str, request: pytest.FixtureRequest
) -> None:
    lanes: DueLanes = request.getfixturevalue(make)("Breakout", 3, max_frames=30)
    handed_out = [lanes.reset(ints(0, 1, 2))]
    copies = [[column.copy() for column in handed_out[0]]]
    for _ in range(40):
        handed_out.append(lanes.step(np.ones_like(handed_out[-1].lanes)))
        copies.append([column.copy() for column in handed_out[-1]])
    for due, copied in zip(handed_out, copies, strict=True):
        dtypes = [column.dtype.name for column in due]
        assert dtypes == ["int64", "uint8", "float32", "bool", "bool", "int64", "bool"]
        assert {len(column) for column in due} == {due.lanes.size}
        for column, copy in zip(due, copied, strict=True):
            np.testing.assert_array_equal(column, copy)
    shape = (4, 84, 84) if make == "make_nature" else (4, 84, 84, 3)
    assert handed_out[-1].observation.shape[1:] == shape


def test_the_report_names_the_protocol_and_not_the_lanes_behind_it(make_ba3c: MakeDueLanes) -> None:
    report = make_ba3c("Pong", stack=3).report()
    assert (report.frame_skip, report.min_frame_skip, report.stack) == (4, 2, 3)
    assert (report.sticky_probability, report.noop_max, report.max_frames) == (0.25, 0, 6_000)
    assert (report.game, report.grey, report.num_actions) == ("Pong", False, 6)


def test_lanes_that_step_together_refuse_a_random_skip() -> None:
    with pytest.raises(ConfigError, match=r"min_frame_skip=2 must equal environment\.frame_skip=4: .*make_due_lanes"):
        AtariLanes("Pong", ba3c_protocol(), num_lanes=1, num_threads=1)


def test_all_mistakes_are_reported_at_once() -> None:
    with pytest.raises(ConfigError) as error:
        RandomSkipLanes("pong", ba3c_protocol(min_frame_skip=0, stack=0, max_pool=True), num_lanes=0, num_threads=1)
    assert [mistake.split(" ")[0] for mistake in error.value.mistakes] == [
        "environment.min_frame_skip=0",
        "environment.stack=0",
        "environment.max_pool=true",
        "game=pong",
        "num_lanes=0",
    ]
