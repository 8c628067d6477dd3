"""A CSV file of measured rows, one dataclass a row, that is added to as they come, so that a long benchmark can go on.

Each row carries what it was measured on (`measuring.provenance`). Which rows are there already is told by the settings
among their columns, not by the commit: to measure anew, delete the rows or the file.
Speeds of two kinds of processor are never put together: their rows name it, as a setting that a study compares, or by
`of_one_processor`, where a file is of one kind.
Not here: the rows that a run writes (`pipeline.rows`).
"""

import csv
import dataclasses
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

import pandas as pd

from measuring.processor import kind_of, processor_here
from measuring.provenance import provenance
from pipeline.whole_file import whole_text

RowT = TypeVar("RowT")


class RowFile(Generic[RowT]):
    """Rows of one type in one file, which need not be there yet."""

    def __init__(
        self,
        path: Path,
        row_type: type[RowT],
        settings: tuple[str, ...],
        renamed: Mapping[str, str] | None = None,
        *,
        of_one_processor: bool = False,
    ) -> None:
        """`settings` are the columns that tell one measurement from another. `row_type` is a dataclass.

        `renamed`: what columns of text say in rows of before -> what they would say now. `of_one_processor`: rows say
        which kind of processor they are of, and another kind cannot add to them.
        """
        self._path = path
        self._of_one_processor = of_one_processor
        self._renamed = renamed or {}
        fields = dataclasses.fields(row_type)  # type: ignore[arg-type]
        self._columns = [field.name for field in fields]
        self._text_columns = [field.name for field in fields if field.type is str]
        self._settings = settings

    def has(self, *settings: object) -> bool:
        """Whether a row with these settings is there.

        Raises ValueError if not, and none can be added: the rows that are there are of another processor, or have other
        columns, as of an earlier version.
        """
        header, rows = self._read()
        if self._key(map(_as_text, settings)) in map(self._key_of, rows):
            return True
        self._check_addable(header, rows)
        return False

    def check_addable(self) -> None:
        """Raise ValueError if no rows can be added here, as `has` does where the row is not there."""
        self._check_addable(*self._read())

    def _check_addable(self, header: Sequence[str], rows: Sequence[Mapping[str, str]]) -> None:
        self._check_columns(header)
        if self._of_one_processor:
            check_one_processor(self._path, map(kind_of, rows))

    def append(self, *rows: RowT) -> None:
        """Add rows, all of them at once. Raises ValueError if the file has other columns, as of an earlier version."""
        header, _ = self._read()
        self._check_columns(header)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        facts = self._own_facts()
        with self._path.open("a", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            if not header:
                writer.writerow([*self._columns, *facts])
            writer.writerows(
                [*(_as_text(getattr(row, name)) for name in self._columns), *facts.values()] for row in rows
            )

    def put(self, *rows: RowT) -> None:
        """The same in place of rows with the same settings, such as the curve of a run that is made once more."""
        header, there = self._read()
        self._check_columns(header)
        new = {self._key(_as_text(getattr(row, name)) for name in self._settings) for row in rows}
        if any(self._key_of(row) in new for row in there):
            text = io.StringIO()
            writer = csv.DictWriter(text, header, lineterminator="\n")
            writer.writeheader()
            writer.writerows(row for row in there if self._key_of(row) not in new)
            whole_text(self._path, text.getvalue())
        self.append(*rows)

    def _read(self) -> tuple[list[str], list[dict[str, str]]]:
        """The columns and the rows that are there."""
        if not self._path.exists():
            return [], []
        with self._path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            return list(reader.fieldnames or ()), list(reader)

    def _key(self, values: Iterable[object]) -> tuple[str, ...]:
        return tuple(map(str, values))

    def _key_of(self, row: Mapping[str, str]) -> tuple[str, ...]:
        # A column that rows of an earlier version lack tells them from all others.
        return self._key(self._renamed.get(row.get(name, ""), row.get(name, "")) for name in self._settings)

    def _check_columns(self, header: Sequence[str]) -> None:
        needed = [*self._columns, *self._own_facts()]
        if header and header != needed:
            raise ValueError(f"{self._path} has the columns {', '.join(header)}; these rows have {', '.join(needed)}")

    def frame(self) -> pd.DataFrame:
        """All rows that are there; without any a frame with the columns alone."""
        if not self._path.exists():
            return pd.DataFrame(columns=self._columns)
        # Text is named as such, for a short commit may be all digits, or look like 12e3456.
        facts = [name for name, fact in self._facts().items() if isinstance(fact, str)]
        rows = pd.read_csv(self._path, dtype=dict.fromkeys([*self._text_columns, *facts], "str"))
        return rows.assign(**{name: rows[name].replace(dict(self._renamed)) for name in self._text_columns})

    def _own_facts(self) -> dict[str, Any]:
        """Those that no row says by itself, such as which commit it was measured on."""
        return {name: fact for name, fact in self._facts().items() if name not in self._columns}

    def _facts(self) -> dict[str, Any]:
        return {"processor": processor_here(), **provenance()} if self._of_one_processor else provenance()


def kinds_of(rows: pd.DataFrame) -> pd.Series:
    """The kind of processor of each row (`measuring.processor.kind_of`)."""
    return pd.Series([kind_of(row) for row in rows.to_dict("records")], index=rows.index, dtype=str)


def check_one_processor(path: Path, kinds: Iterable[str]) -> None:
    """Raise ValueError if one of these kinds of processor, of what is in the file, is not the one here."""
    here = kind_of({"processor": processor_here(), **provenance()})
    if others := [kind for kind in dict.fromkeys(kinds) if kind != here]:
        raise ValueError(
            f"{path} was measured on {', '.join(others)}, and this is {here}: nothing was measured. Go on with it on "
            "such a processor, or move it away to measure all of it here"
        )


def _as_text(value: Any) -> Any:
    return float(f"{value:.5g}") if isinstance(value, float) else value
