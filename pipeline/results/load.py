"""From run folders to tidy DataFrames: one per row type, with experiment, game and seed on every row.

A run folder is `<runs>/<experiment>/<game>/<seed>/` with `config.yaml`, `run.json` and a CSV file per row type.
A killed run may lack files or have half a last line: both are named in `problems`, and the rest is loaded.
Not here: the columns themselves (`pipeline.rows`), who writes them, statistics (`pipeline.results.scores`).
"""

import dataclasses
import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from pipeline.errors import RunFolderError
from pipeline.rows import ROW_FILES, EpisodeRow, EvaluationRow, UpdateRow

RowType = type[EpisodeRow] | type[UpdateRow] | type[EvaluationRow]

RUN_KEYS = ("experiment", "game", "seed")
"""Columns that tell which run a row belongs to."""

RUN_FACTS = ("commit", "started_at", "end_reason", "wall_seconds", "total_frames")
"""What `runs` holds of `run.json`, besides RUN_KEYS; missing where the file does not say."""

_DTYPES = {int: "int64", float: "float64", str: "str", bool: "bool"}


class LoadedRuns(NamedTuple):
    """The rows of one or more runs."""

    runs: pd.DataFrame
    """One row per run: RUN_KEYS, RUN_FACTS and `folder`."""
    episodes: pd.DataFrame
    """RUN_KEYS and the fields of EpisodeRow."""
    updates: pd.DataFrame
    """RUN_KEYS and the fields of UpdateRow."""
    evaluations: pd.DataFrame
    """RUN_KEYS and the fields of EvaluationRow."""
    problems: tuple[str, ...]
    """What was missing, cut off or unreadable; one line each, beginning with the path."""


def load_run(folder: Path) -> LoadedRuns:
    """The rows of one run.

    Raises RunFolderError when the folder is no run folder, or a file in it has other columns than this version's rows.
    """
    if not _looks_like_run(folder):
        raise RunFolderError(
            f"{folder} is no run folder: neither run.json nor {', '.join(ROW_FILES.values())} is in it"
        )
    problems = [f"{folder / name}: missing" for name in ("config.yaml", "run.json") if not (folder / name).is_file()]
    facts = _read_facts(folder)
    keys = {key: facts[key] for key in RUN_KEYS}
    frames: dict[RowType, pd.DataFrame] = {}
    for row_type, name in ROW_FILES.items():
        frame, problem = _read_rows(folder / name, row_type)
        frames[row_type] = _with_keys(frame, keys)
        problems += problem
    runs = pd.DataFrame([{name: facts.get(name) for name in (*RUN_KEYS, *RUN_FACTS)} | {"folder": str(folder)}])
    return LoadedRuns(runs, frames[EpisodeRow], frames[UpdateRow], frames[EvaluationRow], tuple(problems))


def load_runs(runs_directory: Path) -> LoadedRuns:
    """The rows of every run below `runs_directory`; a folder that cannot be read is named in `problems` and skipped."""
    loaded: list[LoadedRuns] = []
    problems: list[str] = []
    for folder in sorted(path for path in runs_directory.glob("*/*/*") if path.is_dir()):
        try:
            loaded.append(load_run(folder))
        except RunFolderError as error:
            problems.append(f"{folder}: skipped: {error}")
    return join_runs(loaded, problems)


def join_runs(loaded: Iterable[LoadedRuns], problems: Iterable[str] = ()) -> LoadedRuns:
    """Several runs as one; `problems` come after theirs."""
    parts = [_no_runs(), *loaded]
    return LoadedRuns(
        _concat(part.runs for part in parts),
        _concat(part.episodes for part in parts),
        _concat(part.updates for part in parts),
        _concat(part.evaluations for part in parts),
        (*(line for part in parts for line in part.problems), *problems),
    )


def _looks_like_run(folder: Path) -> bool:
    return any((folder / name).is_file() for name in ("run.json", *ROW_FILES.values()))


def _read_facts(folder: Path) -> dict[str, Any]:
    """What `run.json` says, with experiment, game and seed taken from the path where it does not say them."""
    path = folder / "run.json"
    facts: dict[str, Any] = {}
    if path.is_file():
        try:
            facts = json.loads(path.read_text())
        except ValueError as error:
            raise RunFolderError(f"{path} is not JSON: {error}") from error
        if not isinstance(facts, dict):
            raise RunFolderError(f"{path} holds {type(facts).__name__}, needed an object")
    experiment, game, seed = folder.resolve().parts[-3:]
    facts = {"experiment": experiment, "game": game, "seed": seed} | facts
    try:
        facts["seed"] = int(facts["seed"])
    except (TypeError, ValueError) as error:
        raise RunFolderError(f"{folder}: the seed must be a whole number, not {facts['seed']!r}") from error
    return facts


def _read_rows(path: Path, row_type: RowType) -> tuple[pd.DataFrame, list[str]]:
    """The rows of one file, and what was wrong with it."""
    if not path.is_file():
        return _no_rows(row_type), [f"{path}: missing"]
    text = path.read_text()
    whole = text[: text.rfind("\n") + 1]
    problems = [f"{path}: the last line is cut off and was skipped: {text[len(whole) :]!r}"] if whole != text else []
    if not whole:
        return _no_rows(row_type), problems or [f"{path}: empty"]
    columns = _columns(row_type)
    header = whole.splitlines()[0].split(",")
    floats = {name: ["", "nan"] for name, dtype in columns.items() if dtype == "float64"}
    # A run of before a measure was added is as good as ever: the measure is unknown, not the run unreadable.
    if header != [name for name in columns if name in header or name not in floats]:
        raise RunFolderError(f"{path} has the columns {', '.join(header)}; this version needs {', '.join(columns)}")
    try:
        frame = pd.read_csv(io.StringIO(whole), dtype=columns, na_values=floats, keep_default_na=False, index_col=False)
    except ValueError as error:
        raise RunFolderError(f"{path}: {error}") from error
    short = frame.index[frame.iloc[:, -1].isna()]
    if len(short):
        # pandas fills a short line up with NaN; the last column of every row type is never NaN by itself.
        raise RunFolderError(f"{path}: line {short[0] + 2} has fewer than {len(header)} values")
    return frame.reindex(columns=list(columns)), problems


def _columns(row_type: RowType) -> dict[str, str]:
    """Column name -> pandas dtype, in file order."""
    return {field.name: _DTYPES[_plain_type(field)] for field in dataclasses.fields(row_type)}


def _plain_type(field: dataclasses.Field[Any]) -> type:
    assert isinstance(field.type, type), f"row field {field.name} must be annotated with int, float, str or bool"
    return field.type


def _no_rows(row_type: RowType) -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series(dtype=dtype) for name, dtype in _columns(row_type).items()})


def _no_runs() -> LoadedRuns:
    keys = {"experiment": "", "game": "", "seed": 0}
    empty = {row_type: _with_keys(_no_rows(row_type), keys) for row_type in ROW_FILES}
    runs = pd.DataFrame(columns=[*RUN_KEYS, *RUN_FACTS, "folder"])
    return LoadedRuns(runs, empty[EpisodeRow], empty[UpdateRow], empty[EvaluationRow], ())


def _with_keys(frame: pd.DataFrame, keys: dict[str, Any]) -> pd.DataFrame:
    columns = {
        name: pd.Series(keys[name], index=frame.index, dtype="int64" if name == "seed" else "str") for name in RUN_KEYS
    }
    return pd.concat([pd.DataFrame(columns), frame], axis="columns")


def _concat(frames: Iterable[pd.DataFrame]) -> pd.DataFrame:
    kept = list(frames)
    filled = [frame for frame in kept if len(frame)]
    return pd.concat(filled, ignore_index=True) if filled else kept[0]
