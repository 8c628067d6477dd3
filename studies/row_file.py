"""A CSV file of measured rows, one dataclass a row, that is added to as they come, so that a long benchmark can go on.

Each row carries what it was measured on (`benchmarks.provenance`). Which rows are there already is told by the settings
among their columns, not by the commit: to measure anew, delete the rows or the file.
Not here: the rows that a run writes (`pipeline.rows`).
"""

import csv
import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

import pandas as pd

from measuring.provenance import provenance

RowT = TypeVar("RowT")


class RowFile(Generic[RowT]):
    """Rows of one type in one file, which need not be there yet."""

    def __init__(
        self, path: Path, row_type: type[RowT], settings: tuple[str, ...], renamed: Mapping[str, str] | None = None
    ) -> None:
        """`settings` are the columns that tell one measurement from another. `row_type` is a dataclass.

        `renamed`: what columns of text say in rows of before -> what they would say now.
        """
        self._path = path
        self._renamed = renamed or {}
        fields = dataclasses.fields(row_type)  # type: ignore[arg-type]
        self._columns = [field.name for field in fields]
        self._text_columns = [field.name for field in fields if field.type is str]
        self._settings = settings

    def has(self, *settings: object) -> bool:
        """Whether a row with these settings is there."""
        if not self._path.exists():
            return False
        with self._path.open(newline="") as file:
            wanted = [str(_as_text(value)) for value in settings]
            rows = [
                [self._renamed.get(row[name], row[name]) for name in self._settings] for row in csv.DictReader(file)
            ]
        return wanted in rows

    def append(self, *rows: RowT) -> None:
        """Add rows, all of them at once. Raises ValueError if the file has other columns, as of an earlier version."""
        # A row may say by itself which commit it was measured on.
        facts = {name: fact for name, fact in provenance().items() if name not in self._columns}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        is_new = not self._path.exists()
        header = [*self._columns, *facts]
        if not is_new and (there := self._header()) != header:
            raise ValueError(f"{self._path} has the columns {', '.join(there)}; these rows have {', '.join(header)}")
        with self._path.open("a", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            if is_new:
                writer.writerow(header)
            writer.writerows(
                [*(_as_text(getattr(row, name)) for name in self._columns), *facts.values()] for row in rows
            )

    def _header(self) -> list[str]:
        with self._path.open(newline="") as file:
            return next(csv.reader(file), [])

    def frame(self) -> pd.DataFrame:
        """All rows that are there; without any a frame with the columns alone."""
        if not self._path.exists():
            return pd.DataFrame(columns=self._columns)
        # Text is named as such, for a short commit may be all digits, or look like 12e3456.
        facts = [name for name, fact in provenance().items() if isinstance(fact, str)]
        rows = pd.read_csv(self._path, dtype=dict.fromkeys([*self._text_columns, *facts], "str"))
        return rows.assign(**{name: rows[name].replace(dict(self._renamed)) for name in self._text_columns})


def _as_text(value: Any) -> Any:
    return float(f"{value:.5g}") if isinstance(value, float) else value
