"""One game as a gymnasium environment: the same games as the lanes play."""

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.utils.env_checker import check_env

from pipeline.envs.due_lanes import make_due_lanes
from pipeline.envs.one_game import OneGame
from tests.protocols import nature_protocol

SHORT = nature_protocol(max_frames=80, sticky_probability=0.25)


def test_gymnasium_finds_nothing_wrong_with_it() -> None:
    env = OneGame("Breakout", SHORT)
    check_env(env, skip_render_check=True)
    env.close()


@pytest.mark.parametrize("changes", [{}, {"min_frame_skip": 2, "max_pool": False}, {"grey": False}])
def test_a_seed_and_actions_give_the_game_that_lanes_play(changes: dict[str, object]) -> None:
    config = nature_protocol(max_frames=80, sticky_probability=0.25, **changes)
    env, lanes = OneGame("Breakout", config), make_due_lanes("Breakout", config, num_lanes=1, num_threads=1)
    observation, _ = env.reset(options={"emulator_seed": 5})
    due = lanes.reset(np.array([5]))
    truncated, num_steps = False, 0
    while not truncated:
        np.testing.assert_array_equal(observation, due.observation[0])
        action = num_steps % 4
        observation, reward, terminated, truncated, _ = env.step(action)
        due = lanes.step(np.array([action]))
        assert (reward, terminated, truncated) == (due.reward[0], due.terminated[0], due.truncated[0])
        num_steps += 1
    with pytest.raises(ValueError, match=r"call reset\(\) first"):
        env.step(0)
    env.close()
    lanes.close()


def test_an_action_that_the_game_does_not_have_is_refused() -> None:
    env = OneGame("Breakout", SHORT)
    env.reset(seed=0)
    with pytest.raises(ValueError, match="has actions 0 to 3"):
        env.step(4)
    env.close()


@pytest.mark.parametrize("action", [2.5, "fire", None, np.zeros(2)])
def test_what_is_no_number_is_no_action(action: Any) -> None:
    env = OneGame("Breakout", SHORT)
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"Breakout has whole numbers as actions, and .* is none"):
        env.step(action)
    numbers: list[Any] = [np.int64(1), torch.tensor(1), True]
    for right in numbers:
        env.step(right)
    env.close()


def test_a_game_may_be_closed_twice_and_is_played_no_more() -> None:
    env = OneGame("Breakout", SHORT)
    env.reset(seed=0)
    env.close()
    env.close()
    with pytest.raises(ValueError, match="no game is under way"):
        env.step(0)
    with pytest.raises(ValueError, match="this game is closed: make another one"):
        env.reset()


def test_a_seed_begins_the_same_games_again_and_another_seed_other_ones() -> None:
    env = OneGame("Breakout", nature_protocol(max_frames=80))

    def played(seed: int) -> list[bytes]:
        first, _ = env.reset(seed=seed)
        second, _ = env.reset()
        return [first.tobytes(), second.tobytes(), *(env.step(step % 4)[0].tobytes() for step in range(10))]

    assert played(5) == played(5) != played(6)
    env.close()
