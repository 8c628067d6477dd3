"""A person's game: scripted answers instead of keys."""

import numpy as np

from pipeline.envs.episodes import replay_episode
from pipeline.evaluation.person import play_as_person
from pipeline.types import UInt8Array
from tests.evaluation.recorded import short_protocol

FIRE, LEFT = 1, 3
"""Of Breakout's four actions."""


def test_a_game_that_is_left_is_kept_up_to_there() -> None:
    seen: list[UInt8Array] = []

    def leave_after_60_steps(picture: UInt8Array) -> int | None:
        seen.append(picture)
        if len(seen) > 60:
            return None
        return FIRE if len(seen) % 2 else LEFT

    played = play_as_person("Breakout", short_protocol(noop_max=0), 4, 5, leave_after_60_steps)
    assert played is not None
    row, episode = played
    assert episode.actions == bytes([FIRE, LEFT] * 30)
    assert (row.agent, row.num_steps, row.truncated, row.epsilon) == ("person", 60, True, 0.0)
    replayed = list(replay_episode(episode))
    assert sum(step.reward for step in replayed) == row.score == episode.score
    np.testing.assert_array_equal([step.observation[-1] for step in replayed], seen)


def test_a_game_that_is_played_to_its_end_is_over_by_itself() -> None:
    played = play_as_person("Breakout", short_protocol(), 4, 0, lambda _: FIRE)
    assert played is not None
    assert not played.row.truncated and set(played.episode.actions) == {FIRE}


def test_a_random_frame_skip_leaves_nothing_behind_what_was_played() -> None:
    answers = iter([LEFT] * 20)
    config = short_protocol(noop_max=0, frame_skip=4, min_frame_skip=2, max_pool=False)
    played = play_as_person("Breakout", config, 4, 0, lambda _: next(answers, None))
    assert played is not None
    assert played.episode.actions == bytes([LEFT] * 20)
    assert (played.row.num_steps, played.row.truncated) == (20, True)
    assert (played.row.max_frames, played.episode.config) == (1_800, config.environment)


def test_a_game_that_is_left_at_once_is_none() -> None:
    assert play_as_person("Breakout", short_protocol(), 4, 0, lambda _: None) is None
