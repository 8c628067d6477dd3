"""Episodes are values: whichever lane plays them, and when they are played again."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pipeline.envs.episodes import Episode, play_episodes, replay_episode
from pipeline.types import Int64Array, UInt8Array
from tests.envs.conftest import MakeDueLanes

SHORT: dict[str, Any] = {"max_frames": 700, "frame_height": 20, "frame_width": 20}
RANDOM_SKIP: dict[str, Any] = {"frame_skip": 4, "min_frame_skip": 2, "max_pool": False}


def by_pixels(observations: UInt8Array, episodes: Sequence[int]) -> Int64Array:
    """Actions 0 to 3 that depend on the episode and on every pixel."""
    sums: Int64Array = observations.sum(axis=(1, 2, 3), dtype=np.int64) + np.array(episodes)
    return sums % np.int64(4)


class Recorder:
    """Chooses by pixels and keeps what it was asked."""

    def __init__(self) -> None:
        self.seen: dict[int, list[UInt8Array]] = {}
        self.asked: list[list[int]] = []

    def __call__(self, observations: UInt8Array, episodes: Sequence[int]) -> Int64Array:
        self.asked.append(list(episodes))
        for observation, episode in zip(observations, episodes, strict=True):
            self.seen.setdefault(episode, []).append(observation)
        return by_pixels(observations, episodes)


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, marks=pytest.mark.slow),
        {"sticky_probability": 0.25},
        pytest.param(RANDOM_SKIP, marks=pytest.mark.slow),
    ],
)
def test_episodes_do_not_depend_on_the_number_of_lanes(make_nature: MakeDueLanes, changes: dict[str, Any]) -> None:
    seeds = [8, 3, 1]
    alone, pair, crowd = (
        play_episodes(make_nature("Breakout", num_lanes, **SHORT, **changes), seeds, by_pixels)
        for num_lanes in (1, 2, 4)
    )
    assert alone == pair == crowd
    assert [episode.seed for episode in alone] == seeds
    assert {episode.truncated for episode in alone} == {False, True}  # some end early, some late
    assert len({episode.actions for episode in alone}) == 3


@pytest.mark.parametrize("changes", [{}, RANDOM_SKIP])
def test_each_step_asks_for_each_episode_under_way_once_and_for_no_other(
    make_nature: MakeDueLanes, changes: dict[str, Any]
) -> None:
    recorder = Recorder()
    episodes = play_episodes(make_nature("Breakout", 2, **SHORT, **changes), [1, 2, 3], recorder)
    assert all(len(set(asked)) == len(asked) for asked in recorder.asked)
    assert [len(recorder.seen[i]) for i in range(3)] == [episode.num_steps for episode in episodes]
    assert len(recorder.asked[-1]) == 1


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, marks=pytest.mark.slow),
        {"sticky_probability": 0.25},
        pytest.param(RANDOM_SKIP | {"sticky_probability": 0.25}, marks=pytest.mark.slow),
    ],
)
def test_a_replayed_episode_shows_the_same_pixels_and_score(make_nature: MakeDueLanes, changes: dict[str, Any]) -> None:
    recorder = Recorder()
    lanes = make_nature("Breakout", 2, max_frames=1200, **changes)
    episodes = play_episodes(lanes, [1, 2, 3], recorder)
    for i, episode in enumerate(episodes):
        replayed = list(replay_episode(episode))
        assert len(replayed) == episode.num_steps + 1
        np.testing.assert_array_equal([step.observation for step in replayed[:-1]], recorder.seen[i])
        assert sum(step.reward for step in replayed) == episode.score
    assert sum(episode.score for episode in episodes) > 0


def test_a_recorded_episode_can_be_replayed_in_colour(make_nature: MakeDueLanes) -> None:
    (episode,) = play_episodes(make_nature("Breakout", sticky_probability=0.25, **SHORT), [4], by_pixels)
    coloured = replace(episode, config=replace(episode.config, grey=False, frame_height=210, frame_width=160, stack=1))
    replayed = list(replay_episode(coloured))
    assert replayed[0].observation.shape == (1, 210, 160, 3)
    assert [step.reward for step in replayed] == [step.reward for step in replay_episode(episode)]


def test_a_life_loss_does_not_end_an_episode(make_nature: MakeDueLanes) -> None:
    # Breakout's five lives last over 100 steps when FIRE is pressed without end.
    (episode,) = play_episodes(make_nature("Breakout"), [0], lambda observations, _: np.ones(len(observations), int))
    assert not episode.truncated
    assert episode.num_steps > 100
    assert set(episode.actions) == {1}


def test_all_games_are_abandoned_when_stop_says_so(make_nature: MakeDueLanes) -> None:
    recorder, answers = Recorder(), iter([False, False, True])
    assert play_episodes(make_nature("Breakout", 2, **SHORT), [1, 2], recorder, lambda: next(answers)) == []
    assert recorder.asked == [[0, 1], [0, 1]]


def test_no_seeds_give_no_episodes(make_nature: MakeDueLanes) -> None:
    assert play_episodes(make_nature("Breakout"), [], by_pixels) == []


def test_episodes_are_equal_when_all_their_fields_are(make_nature: MakeDueLanes) -> None:
    episode = Episode("Pong", make_nature("Pong").config, 3, bytes([0, 5, 2]), -21.0, False)
    assert episode == replace(episode)
    assert episode != replace(episode, actions=bytes([0, 5, 3]))
    assert episode.num_steps == 3
