"""Tables of other tools as text: every value is read rightly, or the line that it stands in is named.

A table is a header and lines with as many values. Nothing is filled up, left out or rounded: a line with more or fewer
values, such as one with decimal commas, a second header in the middle, and a value that is no number are errors. One
thing is passed over: a last line without its end, which a kill has cut off, or which is being written.
Not here: which files and columns there are (`pipeline.results.import_readers`).
"""

import csv
import io
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pipeline.checked_files import LARGEST_COUNT, text_in
from pipeline.errors import RunFolderError

# As programs print them: no thousands, no decimal commas, no words but nan.
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|nan|NaN")
_MOST_SHOWN = 60
_MOST_IN_FIELD = 2**31 - 1


class ForeignTable(NamedTuple):
    """The lines of a table, as text."""

    file: Path
    columns: tuple[str, ...]
    """Of the header."""
    rows: tuple[tuple[str, ...], ...]
    """Each as long as `columns`."""
    lines: tuple[int, ...]
    """Where each row begins in the file; the first line is 1."""
    cut_off: int | None
    """The last line, which had no end and was passed over; None if there was none."""

    def texts(self, name: str) -> list[str]:
        """A column as it was written."""
        index = self.columns.index(name)
        return [row[index] for row in self.rows]

    def numbers(self, name: str, *, allows_nan: bool = False) -> npt.NDArray[np.float64]:
        """A column (num_rows,), float64; an empty value is NaN where that is allowed.

        Raises RunFolderError with the line of the first value that is no number.
        """
        values = np.empty(len(self.rows))
        for index, (text, line) in enumerate(zip(self.texts(name), self.lines, strict=True)):
            text = text.strip() or ("nan" if allows_nan else "")
            if not _NUMBER.fullmatch(text) or not _fits(value := float(text), allows_nan):
                raise RunFolderError(f"{self.file.name}, line {line}: {name} is {_shown(text)} and no number")
            values[index] = value
        return values

    def counts(self, name: str, least: int = 0) -> npt.NDArray[np.float64]:
        """A column of whole numbers from `least` on, as `numbers` gives it. Raises RunFolderError as it does."""
        values = self.numbers(name)
        for value, text, line in zip(values, self.texts(name), self.lines, strict=True):
            if not value.is_integer() or not least <= value <= LARGEST_COUNT:
                raise RunFolderError(
                    f"{self.file.name}, line {line}: {name} is {_shown(text)} and no whole number from {least} on"
                )
        return values


def text_of(file: Path) -> str:
    """The text of a file, without the byte-order mark that some programs put in front. Raises RunFolderError."""
    try:
        return text_in(file.read_bytes(), "utf-8-sig")
    except UnicodeDecodeError as error:
        raise RunFolderError(f"{file.name} is no text in UTF-8: {error}") from error


def table_in(
    file: Path, text: str, columns: Sequence[str], *, delimiter: str = ",", first_line: int = 1
) -> ForeignTable:
    """The table in `text`, which begins at `first_line` of `file` and has at least `columns`.

    Raises RunFolderError with the line that cannot be one of the table.
    """
    whole = text[: max(text.rfind("\n"), text.rfind("\r")) + 1]
    rows: list[tuple[str, ...]] = []
    lines: list[int] = []
    header: tuple[str, ...] | None = None
    limit_before = csv.field_size_limit(_MOST_IN_FIELD)  # of all readers in this process
    reader = csv.reader(io.StringIO(whole, newline=""), delimiter=delimiter, strict=True)
    line = first_line
    try:
        for row in map(tuple, reader):
            if header is None and row:
                header = _checked_header(file, line, row, columns)
            elif row:
                rows.append(_checked_row(file, line, row, header or ()))
                lines.append(line)
            line = first_line + reader.line_num
    except csv.Error as error:
        raise RunFolderError(f"{file.name}, line {line}: {error}") from error
    finally:
        csv.field_size_limit(limit_before)
    if header is None:
        raise RunFolderError(f"{file.name}, line {line}: there is no header {delimiter.join(columns)!r}")
    return ForeignTable(file, header, tuple(rows), tuple(lines), line if text[len(whole) :].strip() else None)


def _checked_header(file: Path, line: int, row: tuple[str, ...], columns: Sequence[str]) -> tuple[str, ...]:
    names = tuple(name.strip() for name in row)
    if wrong := [name for name in columns if names.count(name) != 1]:
        twice = [name for name in wrong if name in names]
        what = f"has {twice[0]} twice" if twice else f"has no {', '.join(wrong)}"
        raise RunFolderError(
            f"{file.name}, line {line}: the header {_shown(','.join(row))} {what}; needed are {', '.join(columns)}"
        )
    return names


def _checked_row(file: Path, line: int, row: tuple[str, ...], header: tuple[str, ...]) -> tuple[str, ...]:
    if row[0].lstrip().startswith("#") or tuple(value.strip() for value in row) == header:
        raise RunFolderError(f"{file.name}, line {line}: another table begins here: take the two apart")
    if len(row) != len(header):
        commas = "; decimals need a point" if len(row) > len(header) else ""
        raise RunFolderError(
            f"{file.name}, line {line} has {len(row)} values, its header {len(header)}: {_shown(','.join(row))}{commas}"
        )
    return row


def _fits(value: float, allows_nan: bool) -> bool:
    return math.isfinite(value) or (allows_nan and math.isnan(value))


def _shown(text: str) -> str:
    return repr(text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…")
