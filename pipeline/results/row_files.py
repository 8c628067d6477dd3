"""One CSV file of a run as a DataFrame with the columns of its row type, told by the file's header.

A file of an earlier version may lack columns that were added since: they are filled with what was true then, or NaN.
Not here: the folder around the file (`pipeline.results.load`), the columns themselves (`pipeline.rows`).
"""

import dataclasses
import functools
import io
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pipeline.checked_files import bytes_in, check_regular, text_in
from pipeline.errors import RunFolderError
from pipeline.rows import ADDED_MEASURES, TRUE_BEFORE, Row

_DTYPES = {int: "int64", float: "float64", str: "str", bool: "bool"}


_MOST_SHOWN = 250
"""Characters of columns, in a sentence about them."""

_LONGEST_HEADER = 10_000
"""Bytes; a line beyond is none."""


class FileRows(NamedTuple):
    """What was read from one file."""

    row_type: type[Row]
    frame: pd.DataFrame
    problems: tuple[str, ...]
    """What was missing or cut off; one line each, beginning with the path."""


def read_rows(path: Path, row_types: Sequence[type[Row]], *, max_bytes: int | None = None) -> FileRows:
    """The rows of `path`, of the first of `row_types` that its header fits; no rows where there is no file.

    A last line that a kill cut off is skipped and named. With `max_bytes` only the last rows, those that so many bytes
    hold: however long a file has become, no more of it is read. Raises RunFolderError when the header is that of no row
    type, or a line cannot be read.
    """
    if not path.is_file():
        return FileRows(row_types[0], no_rows(row_types[0]), (f"{path}: missing",))
    try:
        data = bytes_in(path) if max_bytes is None else _end_of(path, max_bytes)
        text = text_in(data, "utf-8-sig").replace("\r\n", "\n")  # Excel writes both
    except UnicodeDecodeError as error:
        raise RunFolderError(f"{path} is not text: {error}") from error
    whole = text[: text.rfind("\n") + 1]
    cut_off = _shortened(repr(text[len(whole) :]))
    problems = (f"{path}: the last line is cut off and was skipped: {cut_off}",) if whole != text else ()
    if not whole:
        return FileRows(row_types[0], no_rows(row_types[0]), problems or (f"{path}: empty",))
    header = whole.partition("\n")[0].split(",")
    row_type = next((row_type for row_type in row_types if _fits(header, row_type)), None)
    if row_type is None:
        needed = " or ".join(_shortened(", ".join(_columns(row_type))) for row_type in row_types)
        raise RunFolderError(f"{path} has the columns {_shortened(', '.join(header))}; this version needs {needed}")
    return FileRows(row_type, _with_added_columns(_parse(path, whole, row_type, len(header)), row_type), problems)


def no_rows(row_type: type[Row]) -> pd.DataFrame:
    """An empty frame with the columns and dtypes of a row type."""
    return _no_rows(tuple(_columns(row_type).items())).copy()


@functools.cache
def _no_rows(columns: tuple[tuple[str, str], ...]) -> pd.DataFrame:
    # Every run folder wants several, and pandas takes longer to make one than to read a file of games.
    return pd.DataFrame({name: pd.Series(dtype=dtype) for name, dtype in columns})


def _end_of(path: Path, max_bytes: int) -> bytes:
    """The header of a file, and the whole lines among its last bytes; all of it if it has no more than these."""
    check_regular(path)
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        if size <= max_bytes:
            return file.read(max_bytes)
        header = file.readline(_LONGEST_HEADER)
        file.seek(size - max_bytes)
        # What begins in the middle of a line is none.
        return header + file.read(max_bytes).partition(b"\n")[2]


def _fits(header: list[str], row_type: type[Row]) -> bool:
    """Whether all columns are there, in order, but for measures that may have been added since."""
    # A run of before a measure was added is as good as ever: the measure is unknown, not the run unreadable.
    added = {*ADDED_MEASURES.get(row_type, ()), *TRUE_BEFORE.get(row_type, {})}
    return header == [name for name in _columns(row_type) if name in header or name not in added]


def _parse(path: Path, text: str, row_type: type[Row], num_columns: int) -> pd.DataFrame:
    columns = _columns(row_type)
    floats = {name: ["", "nan"] for name, dtype in columns.items() if dtype == "float64"}
    try:
        with warnings.catch_warnings():
            # pandas drops what is too much in a line, with no more than a warning.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(
                io.StringIO(text), dtype=columns, na_values=floats, keep_default_na=False, index_col=False
            )
    except (ValueError, OverflowError, pd.errors.ParserWarning) as error:
        raise RunFolderError(
            f"{path}: {error}; resume=true moves a line that is no row to discarded/, or take it out by hand"
        ) from error
    short = frame.index[frame.iloc[:, -1].isna()]
    if len(short):
        # pandas fills a short line up with NaN; the last column of every row type is never NaN by itself.
        raise RunFolderError(f"{path}: line {short[0] + 2} has fewer than {num_columns} values")
    if "score" in columns and len(scoreless := frame.index[~np.isfinite(frame["score"])]):
        raise RunFolderError(
            f"{path}: line {scoreless[0] + 2} has no finite score, as every game has; resume=true moves it to "
            "discarded/, or take it out by hand"
        )
    return frame


def _with_added_columns(frame: pd.DataFrame, row_type: type[Row]) -> pd.DataFrame:
    columns = _columns(row_type)
    if list(frame.columns) == list(columns):
        return frame
    before = {
        name: frame[value] if value in frame.columns else value
        for name, value in TRUE_BEFORE.get(row_type, {}).items()
        if name not in frame
    }
    filled = frame.assign(**before).reindex(columns=list(columns))
    return filled.astype({name: dtype for name, dtype in columns.items() if name not in frame})


def _columns(row_type: type[Row]) -> dict[str, str]:
    """Column name -> pandas dtype, in file order."""
    return {field.name: _DTYPES[_plain_type(field)] for field in dataclasses.fields(row_type)}


def _shortened(text: str) -> str:
    shown = text if text.isprintable() else repr(text)
    return shown if len(shown) <= _MOST_SHOWN else f"{shown[:_MOST_SHOWN]}…"


def _plain_type(field: dataclasses.Field[Any]) -> type:
    assert isinstance(field.type, type), f"row field {field.name} must be annotated with int, float, str or bool"
    return field.type
