"""Recordings: the games of one evaluation in one file, written whole or not at all.

    recordings/noop_starts_checkpoint_000000012000.npz     named by protocol, agent and version; "_sampled" behind the
                                                           agent, if actions were drawn from its policy
        actions      uint8: those of all games, one game after the other
        num_steps    (N,) int64: how many of them are each game's
        meta         UTF-8 JSON: rows of the games, with seeds and scores; the environment, every setting of it; format

A game is an action per step, so 30 games of five minutes take about 100 kB at most. Loading never unpickles anything.
Not here: playing them again (`pipeline.envs.episodes`), showing them (`pipeline.rendering`).
"""

import dataclasses
import json
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.envs.episodes import Episode
from pipeline.envs.protocol import EnvironmentConfig
from pipeline.errors import RecordingError
from pipeline.evaluation.play import PlayedGame
from pipeline.rows import TRUE_BEFORE, EvaluationRow
from pipeline.whole_file import whole_file

FORMAT = 1


def save(folder: Path, games: Sequence[PlayedGame]) -> Path:
    """Write the games of one evaluation into `folder`, in place of an older one of the same protocol, agent and policy.

    Raises RecordingError if the disk refuses them; those that are there stay.
    """
    row, episode = games[0]
    meta = {
        "format": FORMAT,
        "game": episode.game,
        "environment": dataclasses.asdict(episode.config),
        "rows": [dataclasses.asdict(game.row) for game in games],
    }
    # Whatever a protocol is called, it makes a file name.
    name = re.sub(r"[^\w.-]+", "-", f"{row.protocol}_{row.agent}{'_sampled' if row.sampled else ''}") + "_"
    path = folder / f"{name}{row.version:012d}.npz"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as file:
            np.savez_compressed(
                file,
                actions=np.frombuffer(b"".join(game.episode.actions for game in games), dtype=np.uint8),
                num_steps=np.array([game.episode.num_steps for game in games]),
                meta=np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8),
            )
        for old in set(folder.glob(f"{name}[0-9]*.npz")) - {path}:
            old.unlink()
    except OSError as error:
        raise RecordingError(f"{path} could not be written: {error}") from error
    return path


def load(path: Path) -> list[PlayedGame]:
    """The games of one evaluation, in the order of their rows. Raises RecordingError if the file cannot be read."""
    try:
        # Opened here: of a damaged file, NumPy would not close what it opened itself.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            meta = json.loads(arrays["meta"].tobytes())
            if meta["format"] != FORMAT:
                raise RecordingError(f"{path} has format {meta['format']}, this version of pipeline reads {FORMAT}")
            environment = EnvironmentConfig(**meta["environment"])
            ends = np.cumsum(arrays["num_steps"])[:-1]
            actions = [part.tobytes() for part in np.split(arrays["actions"], ends)]
            rows = [_row(row, taken) for row, taken in zip(meta["rows"], actions, strict=True)]
    except (OSError, EOFError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
        raise RecordingError(f"{path} cannot be read: {error!r}") from error
    return [
        PlayedGame(row, _episode(meta["game"], environment, row, taken))
        for row, taken in zip(rows, actions, strict=True)
    ]


def _row(fields: dict[str, Any], actions: bytes) -> EvaluationRow:
    before = {name: fields.get(str(value), value) for name, value in TRUE_BEFORE[EvaluationRow].items()}
    # What an agent did not play itself was an opening.
    before["start_step"] = len(actions) - fields["num_steps"]
    return EvaluationRow(**(before | fields))


def _episode(game: str, environment: EnvironmentConfig, row: EvaluationRow, actions: bytes) -> Episode:
    return Episode(game, environment, row.episode_seed, actions, row.score, row.truncated, row.start_step)


def all_in(folder: Path) -> list[Path]:
    """The recordings in `folder`, by name; none if there is no such folder."""
    return sorted(folder.glob("*.npz"))
