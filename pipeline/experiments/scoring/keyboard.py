"""A person plays a game in a window; it is recorded in a folder that reads like a run's.

    results/person/<game>/<number>/recordings/<protocol>_person_000000000000.npz

Not here: the window (`pipeline.rendering.window`), how the game is kept (`pipeline.evaluation.person`).
"""

from contextlib import closing
from dataclasses import replace
from itertools import count
from pathlib import Path

from pipeline.config.overrides import compose
from pipeline.disk import check_writable
from pipeline.envs.rom import action_names
from pipeline.errors import ConfigError
from pipeline.evaluation import recordings
from pipeline.evaluation.person import PERSON, play_as_person
from pipeline.experiments.files.run_folder import RECORDINGS
from pipeline.rendering.film import SCREEN_HEIGHT, SCREEN_WIDTH, in_colour, real_time_fps
from pipeline.rendering.overlay import enlarge
from pipeline.rendering.window import KEYS_IN_WORDS, Window, action_of
from pipeline.run_folders import recording_name
from pipeline.types import UInt8Array

PERSONS = Path("results/person")
"""Folders of games are <game>/<number> in here."""


def let_person_play(
    game: str, experiment: str, seed: int, folder: Path | None, scale: int, fps: float | None
) -> Path | None:
    """One game under the evaluation protocol of an experiment; returns the recording, None if nothing was played.

    `folder` None is the next number in PERSONS. `fps` None is as fast as on the console, one picture per agent step.
    Raises ConfigError for an unknown game or experiment, a folder that cannot be written or has such a game already,
    and without a display.
    """
    config = compose([f"experiment={experiment}", f"game={game}", f"seed={seed}"])
    evaluation = replace(config.evaluation, environment=in_colour(config.evaluation.environment))
    place = (folder or _next_folder(PERSONS / game)) / RECORDINGS
    check_writable(f"output={place.parent}", place)
    # All games of persons are of version 0, whatever the game: the next one would take its place.
    if (taken := place / recording_name(evaluation.protocol, PERSON, 0, sampled=False)).exists():
        raise ConfigError([f"output={place.parent}: a person's game is there, {taken}; choose another folder"])
    names = action_names(game, evaluation.environment.full_action_set)
    pace = fps or real_time_fps(evaluation.environment)
    shape = (SCREEN_HEIGHT * scale, SCREEN_WIDTH * scale)
    with closing(Window(f"{game}: {KEYS_IN_WORDS}", shape, pace)) as window:

        def ask(picture: UInt8Array) -> int | None:
            window.show(enlarge(picture, scale))
            return action_of(window.held(), names) if window.is_open else None

        played = play_as_person(game, evaluation, len(names), seed, ask)
    if played is None:
        return None
    return recordings.save(place, [played])


def _next_folder(parent: Path) -> Path:
    return next(folder for number in count() if not (folder := parent / str(number)).exists())
