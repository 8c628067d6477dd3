"""Recordings: the games of the same parameters in one file, written whole or not at all.

    recordings/noop_starts_checkpoint_000000012000.npz     named by protocol, agent and version; "_sampled" behind the
                                                           agent, if actions were drawn from its policy; "+" and eight
                                                           digits behind the protocol, where the environment was
                                                           another one than in a file of that name
        actions      uint8: those of all games, one game after the other
        num_steps    (N,) int64: how many of them are each game's
        meta         UTF-8 JSON: rows of the games, with seeds and scores; the environment, every setting of it; format

A game is an action per step, so 30 games of five minutes take about 100 kB at most. Loading never unpickles anything.
Not here: playing them again (`pipeline.envs.episodes`), showing them (`pipeline.rendering`).
"""

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pipeline.checked_files import arrays_in, as_declared, json_in
from pipeline.envs.episodes import Episode
from pipeline.envs.protocol import EnvironmentConfig
from pipeline.errors import RecordingError
from pipeline.evaluation.checks import check_actions, check_seed, environment_in
from pipeline.evaluation.play import PlayedGame
from pipeline.rows import GAME_FIELDS, TRUE_BEFORE, EvaluationRow
from pipeline.run_folders import recording_name, recordings_of
from pipeline.whole_file import whole_file

FORMAT = 1
MAX_BYTES = 2**28
"""Of a recording when it is unpacked: five minutes are 4,500 actions, so this is a year of play."""
_WAY_OUT = "move it away, and evaluate again: python -m pipeline.evaluate"


def save(folder: Path, games: Sequence[PlayedGame]) -> Path:
    """Write the games of one evaluation into `folder`, in place of those of older parameters that were played alike.

    Alike: under the same protocol, by the same agent and policy. Games of newer parameters stay beside these; other
    games of the same parameters, from other seeds or with another epsilon, stand before these in the same file.
    Raises RecordingError if the disk refuses them; those that are there stay.
    """
    row, episode = games[0]
    path, others = _place(folder, games)
    games = [*others, *games]
    meta = {
        "format": FORMAT,
        "game": episode.game,
        "environment": dataclasses.asdict(episode.config),
        "rows": [dataclasses.asdict(game.row) for game in games],
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as file:
            np.savez_compressed(
                file,
                actions=np.frombuffer(b"".join(game.episode.actions for game in games), dtype=np.uint8),
                num_steps=np.array([game.episode.num_steps for game in games]),
                meta=np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8),
            )
        for other, version in recordings_of(folder, row.protocol, row.agent, sampled=row.sampled).items():
            if version < row.version:
                other.unlink()
    except OSError as error:
        raise RecordingError(f"{path} could not be written: {error}") from error
    return path


def _place(folder: Path, games: Sequence[PlayedGame]) -> tuple[Path, list[PlayedGame]]:
    """The file of these games, and those that it holds and that are not played again here."""
    row, episode = games[0]
    told = json.dumps(dataclasses.asdict(episode.config), sort_keys=True).encode()
    for digest in ("", hashlib.sha256(told).hexdigest()[:8]):
        name = recording_name(row.protocol, row.agent, row.version, sampled=row.sampled, digest=digest)
        path = folder / name
        try:
            there = load(path) if path.exists() else []
        except RecordingError:  # nobody can read it any more
            there = []
        if not there or there[0].episode.config == episode.config:
            break
    new = {_key(game.row) for game in games}
    return path, [game for game in there if _key(game.row) not in new]


def _key(row: EvaluationRow) -> tuple[Any, ...]:
    return tuple(getattr(row, name) for name in GAME_FIELDS)


def load(path: Path) -> list[PlayedGame]:
    """The games of one file, in the order of their rows. Raises RecordingError if the file cannot be read."""
    try:
        arrays = arrays_in(path, MAX_BYTES)
        meta = json_in(arrays.pop("meta", np.zeros(0)).tobytes())
        if (number := meta.get("format")) != FORMAT:
            raise RecordingError(f"{path} has format {number}, this version of pipeline reads {FORMAT}")
        return _checked(meta, arrays)
    except (OSError, ValueError) as error:
        raise RecordingError(f"{path} cannot be read: {error}; {_WAY_OUT}") from error


def _checked(meta: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> list[PlayedGame]:
    """Raises ValueError with what is wrong."""
    game, rows, environment = meta.get("game"), meta.get("rows"), environment_in(meta.get("environment"))
    if not isinstance(game, str) or not isinstance(rows, list) or not rows:
        raise ValueError("game or rows are missing")
    actions, num_steps = arrays.get("actions"), arrays.get("num_steps")
    if actions is None or num_steps is None or actions.dtype != np.uint8 or num_steps.dtype != np.int64:
        raise ValueError("actions as uint8, or num_steps as int64, are missing")
    steps = num_steps.tolist()
    if len(steps) != len(rows) or min(steps) < 0 or sum(steps) != actions.size:
        raise ValueError(f"{actions.size:,} actions and {len(rows)} rows stand beside num_steps of {len(steps)} games")
    check_actions(actions, game, environment)
    ends = np.cumsum(num_steps)[:-1]
    taken = [part.tobytes() for part in np.split(actions, ends)]
    return [
        PlayedGame(row, _episode(game, environment, row, of_game))
        for of_game, row in ((of_game, _row(row, of_game)) for row, of_game in zip(rows, taken, strict=True))
    ]


def _row(fields: object, actions: bytes) -> EvaluationRow:
    if not isinstance(fields, dict) or type(fields.get("num_steps")) is not int:
        raise ValueError("a row is no object with num_steps")
    before = {name: fields.get(str(value), value) for name, value in TRUE_BEFORE[EvaluationRow].items()}
    # What an agent did not play itself was an opening.
    before["start_step"] = len(actions) - fields["num_steps"]
    row = as_declared(EvaluationRow, before | fields)
    if row.start_step < 0 or row.start_step + row.num_steps != len(actions):
        raise ValueError(f"game {row.episode} has {len(actions):,} actions, by its row {row.num_steps:,}")
    check_seed(row.episode_seed)
    return row


def _episode(game: str, environment: EnvironmentConfig, row: EvaluationRow, actions: bytes) -> Episode:
    return Episode(game, environment, row.episode_seed, actions, row.score, row.truncated, row.start_step)


def all_in(folder: Path) -> list[Path]:
    """The recordings in `folder`, by name; none if there is no such folder."""
    return sorted(folder.glob("*.npz"))
