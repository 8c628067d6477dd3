"""Real ALE, with gymnasium's own Atari preprocessing as the second opinion on every pixel."""

import hashlib
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, SupportsFloat

import gymnasium
import numpy as np
import pytest
from ale_py import roms
from gymnasium.wrappers import AtariPreprocessing, FrameStackObservation

from pipeline.envs.atari import AtariLanes, LaneResults
from pipeline.errors import ConfigError
from pipeline.games import ATARI49
from pipeline.types import Int64Array, UInt8Array
from tests.envs.conftest import MakeLanes
from tests.protocols import nature_protocol


def ints(*values: int) -> Int64Array:
    return np.array(values, dtype=np.int64)


def gymnasium_game(game: str, grey: bool) -> gymnasium.Env[Any, Any]:
    single = gymnasium.make(f"ALE/{game}-v5", frameskip=1, repeat_action_probability=0.0, full_action_space=False)
    frames = AtariPreprocessing(single, noop_max=0, frame_skip=4, screen_size=84, grayscale_obs=grey)
    return FrameStackObservation(frames, 4, padding_type="zero")


@pytest.mark.parametrize(
    ("game", "grey", "num_steps", "num_lives", "num_ends"),
    [
        # steps of a random player that see that many different counts of lives, and that many ends
        ("Breakout", True, 450, 6, 2),
        ("MsPacman", True, 700, 4, 1),
        ("Pong", True, 1000, 1, 1),
        ("Boxing", True, 300, 1, 0),
        ("Breakout", False, 200, 6, 1),
    ],
)
def test_every_pixel_and_reward_equals_gymnasium_preprocessing(
    make_lanes: MakeLanes, game: str, grey: bool, num_steps: int, num_lives: int, num_ends: int
) -> None:
    lanes, reference = make_lanes(game, noop_max=0, grey=grey), gymnasium_game(game, grey)
    observation = lanes.reset(ints(3))
    np.testing.assert_array_equal(observation[0], reference.reset(seed=3)[0])
    rng = np.random.default_rng(0)
    lives_seen, ends, over = set(), 0, False
    reward: SupportsFloat
    for _ in range(num_steps):
        action = int(rng.integers(lanes.num_actions))
        results = lanes.step(ints(action))
        if over:
            expected, reward, over = reference.reset()[0], 0.0, False
        else:
            expected, reward, over, truncated, info = reference.step(action)
            lives_seen.add(info["lives"])
            assert (results.terminated[0], results.truncated[0]) == (over, truncated)
            assert results.lives[0] == info["lives"]
        ends += over
        np.testing.assert_array_equal(results.observation[0], expected)
        assert results.reward[0] == reward
    reference.close()
    assert (len(lives_seen), ends) == (num_lives, num_ends)


@pytest.mark.parametrize("game", ATARI49)
def test_each_of_the_49_games_can_be_made_and_played(make_lanes: MakeLanes, game: str) -> None:
    lanes = make_lanes(game)
    observation = lanes.reset(ints(0))
    results = lanes.step(ints(lanes.num_actions - 1))
    assert observation.shape == results.observation.shape == (1, 4, 84, 84)
    assert 3 <= lanes.num_actions <= 18
    assert results.observation[0, -1].any()


def test_results_have_the_promised_shapes_and_dtypes(make_lanes: MakeLanes) -> None:
    lanes = make_lanes("Breakout", 2, grey=False, frame_height=30, frame_width=20, stack=3)
    assert lanes.reset(ints(0, 1)).shape == (2, 3, 30, 20, 3)
    results = lanes.step(ints(0, 0))
    assert [(array.dtype.name, array.shape) for array in results] == [
        ("uint8", (2, 3, 30, 20, 3)),
        ("float32", (2,)),
        ("bool", (2,)),
        ("bool", (2,)),
        ("int64", (2,)),
        ("bool", (2,)),
    ]


def test_observations_that_were_handed_out_never_change(make_lanes: MakeLanes) -> None:
    lanes = make_lanes("Breakout", 2)
    handed_out = [lanes.reset(ints(0, 1))]
    copies = [handed_out[0].copy()]
    for _ in range(50):
        handed_out.append(lanes.step(ints(1, 3)).observation)
        copies.append(handed_out[-1].copy())
    np.testing.assert_array_equal(handed_out, copies)


def test_a_lost_life_does_not_end_the_game_and_the_later_lives_are_seen(make_lanes: MakeLanes) -> None:
    lanes = make_lanes("Breakout")
    lanes.reset(ints(0))
    lives = []
    for results in play(lanes, action=1):
        lives.append(int(results.lives[0]))
        if results.terminated[0]:
            break
        assert not results.is_reset[0]
    assert [fewer for more, fewer in itertools.pairwise(lives) if fewer != more] == [4, 3, 2, 1, 0]
    assert not results.truncated[0]


def test_the_step_after_an_end_ignores_its_action_and_is_flagged(make_lanes: MakeLanes) -> None:
    lanes = make_lanes("Freeway", 2, noop_max=0, max_frames=12)
    first = lanes.reset(ints(0, 0))
    flags, rewards = [], []
    for results in (lanes.step(ints(1, 0)) for _ in range(4)):
        flags.append((results.truncated.tolist(), results.is_reset.tolist()))
        rewards.append(results.reward.tolist())
    assert flags == [
        ([False, False], [False, False]),
        ([False, False], [False, False]),
        ([True, True], [False, False]),
        ([False, False], [True, True]),
    ]
    assert rewards[-1] == [0.0, 0.0]
    np.testing.assert_array_equal(results.observation, first)
    assert not lanes.step(ints(1, 0)).is_reset.any()


@pytest.mark.parametrize(("max_frames", "num_steps"), [(40, 10), (41, 11), (39, 10)])
def test_the_frame_cap_truncates_and_does_not_count_no_ops(
    make_lanes: MakeLanes, max_frames: int, num_steps: int
) -> None:
    lanes = make_lanes("Pong", max_frames=max_frames)
    lanes.reset(ints(0))
    results = list(itertools.islice(play(lanes, action=0), num_steps))
    assert [step.truncated[0] for step in results] == [False] * (num_steps - 1) + [True]
    assert not any(step.terminated[0] for step in results)


def test_a_masked_reset_restarts_its_lanes_from_their_seeds_and_leaves_the_others(make_lanes: MakeLanes) -> None:
    lanes, undisturbed = make_lanes("Freeway", 3), make_lanes("Freeway", 3)
    lanes.reset(ints(1, 2, 3))
    undisturbed.reset(ints(1, 2, 3))
    for _ in range(5):
        before, expected = lanes.step(ints(1, 1, 1)), undisturbed.step(ints(1, 1, 1))
    after = lanes.reset_lanes(np.array([True, False, True]), ints(7, 8))
    np.testing.assert_array_equal(after[1], before.observation[1])
    np.testing.assert_array_equal(after[[0, 2]], make_lanes("Freeway", 2).reset(ints(7, 8)))
    results, expected = lanes.step(ints(1, 1, 1)), undisturbed.step(ints(1, 1, 1))
    np.testing.assert_array_equal(results.observation[1], expected.observation[1])


def test_a_masked_reset_takes_the_place_of_the_restart_that_was_due(make_lanes: MakeLanes) -> None:
    lanes = make_lanes("Pong", 2, max_frames=8)
    lanes.reset(ints(1, 2))
    lanes.step(ints(0, 0))
    assert lanes.step(ints(0, 0)).truncated.all()
    lanes.reset_lanes(np.array([False, True]), ints(5))
    assert lanes.step(ints(0, 0)).is_reset.tolist() == [True, False]


@pytest.mark.slow
def test_an_episode_starts_with_zero_to_noop_max_no_ops_drawn_by_its_seed(make_lanes: MakeLanes) -> None:
    # The cars of Freeway move in every frame, so that a picture tells how many frames were played.
    one_by_one = {"frame_skip": 1, "stack": 1, "max_pool": False}
    without = make_lanes("Freeway", noop_max=0, **one_by_one)
    pictures: list[UInt8Array] = [without.reset(ints(0))[0]]
    pictures += [step.observation[0] for step in itertools.islice(play(without, action=0), 4)]
    starts = make_lanes("Freeway", 10, noop_max=3, **one_by_one).reset(np.arange(10))
    num_noops = [next(n for n, picture in enumerate(pictures) if np.array_equal(picture, start)) for start in starts]
    assert set(num_noops) == {0, 1, 2, 3}


def test_sticky_actions_follow_from_the_seed(make_lanes: MakeLanes) -> None:
    def twenty_steps(sticky_probability: float) -> UInt8Array:
        lanes = make_lanes("Freeway", 3, noop_max=0, sticky_probability=sticky_probability)
        lanes.reset(ints(1, 1, 2))
        actions = [ints(1, 1, 1) * (step % 3) for step in range(20)]
        return np.array([lanes.step(action).observation for action in actions])

    sticky, plain = twenty_steps(0.5), twenty_steps(0.0)
    np.testing.assert_array_equal(sticky[:, 0], sticky[:, 1])
    assert not np.array_equal(sticky[:, 0], sticky[:, 2])
    np.testing.assert_array_equal(plain[:, 0], plain[:, 2])


def test_rewards_are_not_clipped(make_lanes: MakeLanes) -> None:
    lanes = make_lanes("MsPacman")
    lanes.reset(ints(0))
    assert max(step.reward[0] for step in itertools.islice(play(lanes, action=3), 100)) == 10.0


def test_the_full_action_set_has_18_actions_and_the_minimal_one_fewer(make_lanes: MakeLanes) -> None:
    assert make_lanes("Breakout", full_action_set=True).num_actions == 18
    assert make_lanes("Breakout").num_actions == 4


def test_the_report_names_what_was_made(make_lanes: MakeLanes) -> None:
    report = make_lanes("Pong", grey=False, stack=2, noop_max=7, sticky_probability=0.25, max_frames=100).report()
    assert (report.game, report.grey, report.stack, report.num_actions) == ("Pong", False, 2, 6)
    assert (report.frame_skip, report.min_frame_skip, report.noop_max, report.max_frames) == (4, 4, 7, 100)
    assert (report.sticky_probability, report.full_action_set) == (0.25, False)
    assert report.rom_md5 == hashlib.md5((Path(roms.__file__).parent / "pong.bin").read_bytes()).hexdigest()
    assert report.ale_version == "0.12.1"


def test_an_unknown_game_is_refused_with_the_nearest_names() -> None:
    with pytest.raises(ConfigError, match=r"game=Brekout is not .* nearest: Breakout"):
        AtariLanes("Brekout", nature_protocol(), num_lanes=1, num_threads=1)


def test_a_game_for_two_players_is_refused_before_ale_py_ends_the_process() -> None:
    with pytest.raises(ConfigError, match="game=Combat is not"):
        AtariLanes("Combat", nature_protocol(), num_lanes=1, num_threads=1)


def test_all_mistakes_are_reported_at_once() -> None:
    with pytest.raises(ConfigError) as error:
        AtariLanes("breakout", nature_protocol(frame_skip=0), num_lanes=0, num_threads=-1)
    assert [mistake.split(" ")[0] for mistake in error.value.mistakes] == [
        "environment.frame_skip=0",
        "environment.min_frame_skip=0",
        "game=breakout",
        "num_lanes=0",
        "num_threads=-1",
    ]


@pytest.mark.parametrize("action", [-1, 4])
def test_an_action_outside_the_set_is_refused(make_lanes: MakeLanes, action: int) -> None:
    lanes = make_lanes("Breakout", 2)
    lanes.reset(ints(0, 1))
    with pytest.raises(ValueError, match="Breakout has actions 0 to 3"):
        lanes.step(ints(0, action))


@pytest.mark.parametrize("seed", [-1, 2**31])
def test_a_seed_that_the_emulator_cannot_take_is_refused(make_lanes: MakeLanes, seed: int) -> None:
    with pytest.raises(ValueError, match="emulator seeds must lie in"):
        make_lanes("Breakout", 2).reset(ints(0, seed))


def play(lanes: AtariLanes, action: int) -> Iterator[LaneResults]:
    """The results of one action in all lanes, again and again."""
    while True:
        yield lanes.step(np.full(lanes.num_lanes, action))
