"""A recorded episode as coloured pictures, one per agent step, beside what its player saw.

The episode is played twice side by side: as it was recorded, and in colour at the screen's own size. That both pay the
recorded score is how it is known that what is shown is the game that was played.
Not here: writing files (`pipeline.rendering.film_file`), what is drawn beside a picture (`pipeline.rendering.overlay`).
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from pipeline.envs.episodes import Episode, replay_episode
from pipeline.envs.protocol import EnvironmentConfig
from pipeline.errors import RecordingError
from pipeline.types import UInt8Array

FRAMES_PER_SECOND = 60
"""Of the console's emulator (NTSC)."""

SCREEN_HEIGHT, SCREEN_WIDTH = 210, 160
"""Pixels; of all 49 games."""


class Moment(NamedTuple):
    """An episode after so many steps."""

    step: int
    picture: UInt8Array
    """(210, 160, 3) RGB: the newest frame; under max-pooling, the brighter of the newest two."""
    observation: UInt8Array
    """(K, H, W[, 3]): what the player was shown."""
    score: float
    """Up to here."""
    action: int | None
    """What the player chose; None after the last step."""


def moments(episode: Episode) -> Iterator[Moment]:
    """All `num_steps` + 1 moments of an episode.

    Raises RecordingError, at the end, if its score is another than the recorded one.
    """
    coloured = replace(episode, config=in_colour(episode.config))
    score = seen_score = 0.0
    replays = zip(replay_episode(coloured), replay_episode(episode), strict=True)
    for step, (shown, seen) in enumerate(replays):
        score += shown.reward
        seen_score += seen.reward
        action = episode.actions[step] if step < episode.num_steps else None
        yield Moment(step, shown.observation[-1], seen.observation, score, action)
    if not score == seen_score == episode.score:
        raise RecordingError(
            f"{episode.game}, emulator seed {episode.seed}: the recorded score is {episode.score:g}, played again "
            f"it is {seen_score:g}, in colour {score:g}. So this is another game than the recorded one: replay it with "
            "the ale-py and the ROM that it was recorded with (run.json names both)"
        )


def pictures(
    episode: Episode, draw: Callable[[Moment], UInt8Array], max_pictures: int | None = None
) -> Iterator[UInt8Array]:
    """What `draw` makes of the first moments of an episode, or of all; raises as `moments` does."""
    for moment in moments(episode):
        # The game is played to its end even so: only there is it known to be the recorded one.
        if max_pictures is None or moment.step < max_pictures:
            yield draw(moment)


def in_colour(config: EnvironmentConfig) -> EnvironmentConfig:
    """The same game, seen as on a screen: single RGB pictures of full size."""
    return replace(config, grey=False, frame_height=SCREEN_HEIGHT, frame_width=SCREEN_WIDTH, stack=1)


def real_time_fps(config: EnvironmentConfig) -> float:
    """Pictures per second, one per agent step, at which a game runs as fast as on the console."""
    return FRAMES_PER_SECOND / config.mean_frame_skip
