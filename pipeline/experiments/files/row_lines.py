"""Lines of a row file that may be damaged: which of them are rows, told from what they hold.

Not here: whole files as tables (`pipeline.results.row_files`), what becomes of lines that are none
(`pipeline.experiments.files.run_folder`, `pipeline.experiments.files.evaluation_rows`).
"""

import codecs
import csv
import dataclasses
import io
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from pipeline.checked_files import LARGEST_COUNT, bytes_in
from pipeline.errors import RunFolderError
from pipeline.rows import ROW_FILES, Row

Values = dict[str, str]
"""Column -> text of one row."""

_DECLARED: dict[type[Row], dict[str, type]] = {
    row_type: {field.name: field.type for field in dataclasses.fields(row_type) if isinstance(field.type, type)}
    for row_type in ROW_FILES
}
"""Row type -> column -> type."""
_INTEGER = re.compile(r"-?[0-9]{1,19}")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]*)?(e[+-]?[0-9]{1,3})?|-?inf|nan")
_FINITE = ("score", "wall_seconds")
"""Columns that are always known: what every game has, and what rows are sorted by."""

_READABLE: dict[type, Callable[[str], bool]] = {
    str: lambda text: True,
    bool: lambda text: text in ("True", "False"),
    int: lambda text: _INTEGER.fullmatch(text) is not None and abs(int(text)) <= LARGEST_COUNT,
    float: lambda text: _NUMBER.fullmatch(text) is not None,
}


class Lines(NamedTuple):
    """A row file, line by line, each with its end."""

    header: bytes
    """b"" of a file that is empty or not there."""
    lines: list[bytes]


def lines_of(path: Path) -> Lines:
    """The lines of a row file; none where there is no file. A last one that a kill cut short has no end.

    Raises RunFolderError if it cannot be read.
    """
    try:
        data = bytes_in(path) if path.exists() else b""
    except OSError as error:
        raise RunFolderError(f"{path} cannot be read: {error}") from error
    header, *lines = io.BytesIO(data).readlines() or [b""]
    return Lines(header, lines)


def what_is_foreign(header: bytes, way_out: str) -> str:
    """Of a header that is not this version's, as the end of a sentence; `way_out`: where it is another version's."""
    if header.startswith(codecs.BOM_UTF8) or header.endswith(b"\r\n"):
        return "was rewritten by another program (a byte-order mark, or line ends of Windows): undo that"
    return f"has the columns of another version of pipeline: {way_out}"


def columns_of(header: bytes) -> list[str]:
    """The names in a header, whatever is wrong with it."""
    return header.decode(errors="replace").rstrip("\n").split(",")


def row_in(line: bytes, row_types: Sequence[type[Row]], header: bytes) -> Values | None:
    """The values of a line, as text; None if it is no row of the one of `row_types` that has these columns."""
    columns = columns_of(header)
    declared = next((named for one in row_types if list(named := _DECLARED[one]) == columns), None)
    try:
        text = line.decode()
        values = next(csv.reader([text.removesuffix("\n")], strict=True), [])
    except (UnicodeDecodeError, csv.Error):
        return None
    # pandas takes other control characters for the end of a line, or of the file.
    if not text.endswith("\n") or not text[:-1].isprintable() or declared is None or len(values) != len(columns):
        return None
    row = dict(zip(columns, values, strict=True))
    if all(_READABLE[declared[name]](value) for name, value in row.items()) and all(
        row[name][-1].isdigit() for name in _FINITE if name in row
    ):
        return row
    return None


def set_aside(path: Path, lines: Sequence[bytes]) -> None:
    """Add lines to a file of discarded ones, which is made if need be, each on a line of its own."""
    path.parent.mkdir(exist_ok=True)
    with path.open("ab") as file:
        file.writelines(line if line.endswith(b"\n") else line + b"\n" for line in lines)
