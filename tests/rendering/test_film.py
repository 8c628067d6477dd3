"""Recorded games as pictures: the same game, in colour."""

from dataclasses import replace

import numpy as np
import pytest

from pipeline.envs.episodes import replay_episode
from pipeline.errors import RecordingError
from pipeline.evaluation.play import PlayedGame
from pipeline.rendering.film import Moment, in_colour, moments, pictures, real_time_fps
from tests.evaluation.recorded import random_games
from tests.protocols import ba3c_protocol, nature_protocol


@pytest.fixture(scope="module")
def game() -> PlayedGame:
    """Some 12 seconds of Breakout with sticky actions, and a point."""
    (game,) = random_games(seed=4, sticky_probability=0.25)
    return game


def test_the_pictures_of_a_game_are_coloured_full_size_and_pay_its_score(game: PlayedGame) -> None:
    row, episode = game
    shown = list(moments(episode))
    assert [moment.step for moment in shown] == list(range(episode.num_steps + 1))
    assert shown[-1].score == row.score == episode.score > 0
    assert bytes(moment.action for moment in shown[:-1] if moment.action is not None) == episode.actions
    assert shown[-1].action is None
    assert {moment.picture.shape for moment in shown} == {(210, 160, 3)}
    for moment, seen in zip(shown, replay_episode(episode), strict=True):
        np.testing.assert_array_equal(moment.observation, seen.observation)
    # Breakout's topmost row of bricks is red.
    assert shown[0].picture[58, 80].tolist() == [200, 72, 72]


def test_a_game_of_random_frame_skips_is_shown_as_it_was() -> None:
    ((_, episode),) = random_games(frame_skip=4, min_frame_skip=2, max_pool=False, max_frames=900)
    assert len(list(moments(episode))) == episode.num_steps + 1


def test_a_game_that_scores_otherwise_when_it_is_played_again_is_an_error_with_both_scores(
    game: PlayedGame,
) -> None:
    with pytest.raises(
        RecordingError, match=r"recorded score is 4321, played again it is \d, in colour \d.*ale-py and the ROM"
    ):
        list(moments(replace(game.episode, score=4321.0)))


def test_a_film_that_is_cut_short_still_checks_the_whole_game(game: PlayedGame) -> None:
    def step(moment: Moment) -> np.ndarray:
        return np.array([moment.step], np.uint8)

    shown: list[list[int]] = []
    with pytest.raises(RecordingError):
        shown += (picture.tolist() for picture in pictures(replace(game.episode, score=4321.0), step, max_pictures=3))
    assert shown == [[0], [1], [2]]
    assert len(list(pictures(game.episode, step))) == game.episode.num_steps + 1


def test_the_colours_change_nothing_that_the_game_depends_on() -> None:
    nature = nature_protocol()
    assert replace(in_colour(nature), grey=True, frame_height=84, frame_width=84, stack=4) == nature


def test_real_time_is_60_emulator_frames_a_second() -> None:
    assert real_time_fps(nature_protocol()) == 15.0
    assert real_time_fps(ba3c_protocol()) == 20.0  # 2 to 4 frames a step
