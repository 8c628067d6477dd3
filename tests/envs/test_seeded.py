"""Lanes that go on where others were, in mid-episode: the same pixels, rewards and ends, sticky actions included."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from pipeline.envs.atari import AtariLanes, LaneResults
from pipeline.envs.due_lanes import make_due_lanes
from pipeline.envs.due_step import DueStep
from pipeline.envs.protocol import EnvironmentConfig
from pipeline.envs.seeded import LanesState, SeededLanes
from pipeline.errors import CheckpointError
from pipeline.states import pack, unpack
from pipeline.types import Int64Array
from tests.protocols import nature_protocol

SHORT = replace(nature_protocol(), sticky_probability=0.25, max_frames=240)
"""Sticky, with games of 60 steps, so that lanes restart within the test."""


def actions(num_steps: int, num_lanes: int = 3) -> Iterator[Int64Array]:
    rng = np.random.default_rng(7)
    return (rng.integers(4, size=num_lanes) for _ in range(num_steps))


def equal(a: LaneResults | DueStep, b: LaneResults | DueStep) -> bool:
    return [np.asarray(x).tobytes() for x in a] == [np.asarray(x).tobytes() for x in b]


@pytest.mark.slow
@pytest.mark.parametrize("cut", [0, 1, 59, 60, 61, 100])
def test_lanes_go_on_where_others_were_with_sticky_actions(cut: int) -> None:
    with closing(SeededLanes("Breakout", SHORT, 3, 1)) as first, closing(SeededLanes("Breakout", SHORT, 3, 1)) as again:
        observation = first.reset(np.array([5, 6, 7]))
        played = list(actions(170))
        # One lane is out of step with the others.
        first.step(played[0])
        observation = first.reset_lanes(np.array([False, True, False]), np.array([9]))
        for step in played[:cut]:
            observation = first.step(step).observation
        state = unpack(LanesState, pack(first.state()))
        assert np.array_equal(again.restore(state), observation)
        for step in played[cut:]:
            assert equal(first.step(step), again.step(step))


def test_episodes_of_seeded_lanes_follow_from_their_first_seed() -> None:
    with closing(SeededLanes("Breakout", SHORT, 2, 1)) as lanes, closing(AtariLanes("Breakout", SHORT, 2, 1)) as plain:
        assert np.array_equal(lanes.reset(np.array([5, 6])), plain.reset(np.array([5, 6])))
        for step in actions(61, 2):
            ours, theirs = lanes.step(step), plain.step(step)
        assert ours.is_reset.all() and theirs.is_reset.all()
        assert lanes.state().num_ended.tolist() == [1, 1] and lanes.state().num_actions.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("min_frame_skip", "cut"),
    [(2, 0), *(pytest.param(*case, marks=pytest.mark.slow) for case in ((4, 0), (4, 70), (2, 70)))],
)
def test_due_lanes_go_on_where_others_were(min_frame_skip: int, cut: int) -> None:
    config: EnvironmentConfig = replace(SHORT, min_frame_skip=min_frame_skip, max_pool=min_frame_skip == 4)
    rng = np.random.default_rng(3)
    with (
        closing(make_due_lanes("Breakout", config, 3, 1, seeded=True)) as first,
        closing(make_due_lanes("Breakout", config, 3, 1, seeded=True)) as again,
    ):
        due = first.reset(np.array([5, 6, 7]))
        for _ in range(cut):
            due = first.step(rng.integers(4, size=due.lanes.size))
        again.reset(np.array([0, 1, 2]))
        again.restore(unpack(type(first.state()), pack(first.state())))
        for _ in range(100):
            chosen = rng.integers(4, size=due.lanes.size)
            due = first.step(chosen)
            assert equal(due, again.step(chosen))


def test_games_that_go_otherwise_than_they_were_saved_are_refused() -> None:
    with closing(make_due_lanes("Breakout", SHORT, 1, 1, seeded=True)) as lanes:
        lanes.reset(np.array([5]))
        for step in actions(10, 1):
            lanes.step(step)
        state = lanes.state()
        other = state.emulators._replace(first_seeds=np.array([6]))
        with pytest.raises(CheckpointError, match="go otherwise"):
            lanes.restore(state._replace(emulators=other))
