"""`evaluations.csv` of a run that is evaluated when it is over: what is there, and more rows, whole or not at all.

A game is told from others by agent, version, where it began and the whole protocol; played again, it takes the place of
its older row, which goes to `discarded/`, so that no game counts twice.
Not here: rows that come while a run trains (`pipeline.experiments.files.run_folder`), tables (`pipeline.results`).
"""

import csv
import dataclasses
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.errors import RunFolderError
from pipeline.evaluation.play import first_states, how_played, of_random_player
from pipeline.evaluation.protocol import EvaluationConfig
from pipeline.experiments.files.row_lines import Values, columns_of, lines_of, row_in, set_aside, what_is_foreign
from pipeline.networks.config import NetworkConfig
from pipeline.roles.evaluator import EvaluatorSpec, draws_actions
from pipeline.rows import GAME_FIELDS, RANDOM, ROW_FILES, EvaluationRow
from pipeline.run_folders import DISCARDED
from pipeline.whole_file import whole_text

GameKey = tuple[str, ...]
"""GAME_FIELDS of a row, as text."""

_COLUMNS = [field.name for field in dataclasses.fields(EvaluationRow)]


def keys_of(spec: EvaluatorSpec) -> set[GameKey]:
    """The games that an evaluation would play."""
    played = dataclasses.asdict(how_played(spec.evaluation, spec.evaluation.environment, spec.samples, spec.starts)) | {
        "protocol": spec.evaluation.protocol,
        "agent": spec.agent,
        "version": spec.version,
    }
    games = [
        played | {"episode_seed": state.seed, "start_step": len(state.actions)}
        for state in first_states(spec.evaluation, spec.seed, spec.starts)
    ]
    return {_key({name: str(value) for name, value in game.items()}) for game in games}


def keys_of_random(spec: EvaluatorSpec) -> set[GameKey]:
    """The games that the random player would play beside that evaluation."""
    return keys_of(dataclasses.replace(spec, agent=RANDOM, version=0, evaluation=of_random_player(spec.evaluation)))


def played_fields(network: NetworkConfig, config: EvaluationConfig) -> dict[str, Any]:
    """PROTOCOL_FIELDS of rows of such an evaluation, but for the start states, whose name is in their file."""
    played = dataclasses.asdict(how_played(config, config.environment, draws_actions(network, config), None))
    del played["start_states"]
    return played


def keys_in(folder: Path) -> set[GameKey]:
    """The games whose rows a run folder holds.

    Raises RunFolderError if they are of another version of pipeline.
    """
    return {_key(row) for _, row in _read(folder / ROW_FILES[EvaluationRow]).rows}


def newest_frames(folder: Path, agent: str) -> int:
    """Training frames behind the newest parameters of such an agent whose games are there; 0 without any."""
    rows = _read(folder / ROW_FILES[EvaluationRow]).rows
    return max((int(row["total_frames"]) for _, row in rows if row["agent"] == agent), default=0)


def add(folder: Path, rows: Sequence[EvaluationRow]) -> None:
    """Write `rows` behind those that are there, without the older ones of the same games and lines that are no rows."""
    name = ROW_FILES[EvaluationRow]
    path, aside = folder / name, folder / DISCARDED / name
    added = [{name: str(value) for name, value in dataclasses.asdict(row).items()} for row in rows]
    new = {_key(row) for row in added}
    header, there, damaged = _read(path)
    kept = [row for _, row in there if _key(row) not in new]
    replaced = [line for line, row in there if _key(row) in new]
    # As they are: what is there already may be without a header, of another version, or damaged.
    if replaced or damaged:
        set_aside(aside, [*([] if aside.exists() else [header]), *replaced, *damaged])
    _write(path, [*kept, *added])


def _key(row: Values) -> GameKey:
    return tuple(row[name] for name in GAME_FIELDS)


class _File(NamedTuple):
    header: bytes
    rows: list[tuple[bytes, Values]]
    """Each with the line that it stands in."""
    damaged: list[bytes]
    """Lines that are no rows: a kill cut them short, or a disk damaged them."""


def _read(path: Path) -> _File:
    header, lines = lines_of(path)
    if header.endswith(b"\n") and columns_of(header) != _COLUMNS:
        raise RunFolderError(f"{path} {what_is_foreign(header, 'evaluate with that version')}")
    read = [(line, row_in(line, (EvaluationRow,), header)) for line in lines]
    rows = [(line, row) for line, row in read if row is not None]
    return _File(header, rows, [line for line, row in read if row is None])


def _write(path: Path, rows: Iterable[Values]) -> None:
    table = io.StringIO(newline="")
    writer = csv.DictWriter(table, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    whole_text(path, table.getvalue())
