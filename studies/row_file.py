"""A CSV file of measured rows, one dataclass a row, that is added to as they come, so that a long benchmark can go on.

Each row carries what it was measured on (`measuring.provenance`). Which rows are there already is told by the settings
among their columns, not by the commit: to measure anew, delete the rows or the file.
Where a file asks for it, what two kinds of processor have made is not put together: rows name theirs, as a setting that
a study compares, or by `one_processor_within`, where a file is of one kind, or what is compared within it. Nor are runs
of a study put together with those that somebody has changed by more settings (`made_with`): a file is of one list of
these.
Not here: the rows that a run writes (`pipeline.rows`).
"""

import copy
import csv
import dataclasses
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

import pandas as pd

from measuring.processor import kind_of, processor_here
from measuring.provenance import provenance
from pipeline.whole_file import whole_text

RowT = TypeVar("RowT")
WORDS = "more_settings"
"""Column of what runs had on top of the settings of their study, in files of such runs alone."""


class RowsRefused(SystemExit):
    """A file takes no such rows: ends the program and says why, unless somebody has more to do."""


class WordsRefused(RowsRefused):
    """Those that are there are of runs with other words."""


class RowFile(Generic[RowT]):
    """Rows of one type in one file, which need not be there yet."""

    def __init__(
        self,
        path: Path,
        row_type: type[RowT],
        settings: tuple[str, ...],
        renamed: Mapping[str, str] | None = None,
        *,
        one_processor_within: tuple[str, ...] | None = None,
    ) -> None:
        """`settings` are the columns that tell one measurement from another. `row_type` is a dataclass.

        `renamed`: what columns of text say in rows of before -> what they would say now. `one_processor_within`: rows
        say which kind of processor they are of, and another kind cannot add to those that have these settings in
        common; (): to the file.
        """
        self._path = path
        self._says_processor, self._alike = one_processor_within is not None, one_processor_within or ()
        self._words, self._precision = "", "auto"
        self._renamed = renamed or {}
        fields = dataclasses.fields(row_type)  # type: ignore[arg-type]
        self._columns = [field.name for field in fields]
        self._text_columns = [field.name for field in fields if field.type is str]
        self._settings = settings

    def made_with(self, words: Sequence[str] = (), precision: str = "auto") -> Self:
        """The same file, for runs with `words` on top of the settings of their study, that compute in `precision`."""
        other = copy.copy(self)
        other._words, other._precision = " ".join(words), precision
        return other

    def has(self, *settings: object) -> bool:
        """Whether a row with these settings is there.

        Raises RowsRefused if not, and none can be added: the rows that are there are of another processor, of runs with
        other words, or have other columns, as of an earlier version.
        """
        header, rows = self._read()
        key = self._key(map(_as_text, settings))
        if any(self._key_of(row) == key and row.get(WORDS, "") == self._words for row in rows):
            return True
        of = dict(zip(self._settings, key, strict=True))
        group = {name: of[name] for name in self._alike}
        self._check_addable(header, rows, group)
        return False

    def check_addable(self) -> None:
        """Raise RowsRefused if no rows can be added here, as `has` does where the row is not there."""
        self._check_addable(*self._read(), {})

    def _check_addable(
        self, header: Sequence[str], rows: Sequence[Mapping[str, str]], group: Mapping[str, str]
    ) -> None:
        for words in {row.get(WORDS, "") for row in rows} - {self._words}:
            raise WordsRefused(
                f"{self._path} has rows of runs with {words or 'no more settings'}, and these have "
                f"{self._words or 'no more settings'}: nothing was measured. Give them an --output of their own"
            )
        self._check_columns(header)
        if self._says_processor:
            alike = [row for row in rows if all(row[name] == value for name, value in group.items())]
            where = ", ".join([f"{name} {value}" for name, value in group.items()])
            what = f"{where} in {self._path}" if where else str(self._path)
            check_one_processor(what, map(kind_of, alike), self._precision)

    def append(self, *rows: RowT) -> None:
        """Add rows, all of them at once. Raises RowsRefused if the file has other columns, as of an earlier version."""
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
            raise RowsRefused(
                f"{self._path} has the columns {', '.join(header)}; these rows have {', '.join(needed)}. Give them an "
                "--output of their own, or move it away to measure all of it anew"
            )

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
        facts = {"processor": processor_here(self._precision)} if self._says_processor else {}
        return facts | provenance() | ({WORDS: self._words} if self._words else {})


def kinds_of(rows: pd.DataFrame) -> pd.Series:
    """The kind of processor of each row (`measuring.processor.kind_of`)."""
    return pd.Series([kind_of(row) for row in rows.to_dict("records")], index=rows.index, dtype=str)


def check_one_processor(what: object, kinds: Iterable[str], precision: str = "auto") -> None:
    """Raise RowsRefused if one of these kinds of processor, of what is there, is not the one here."""
    here = kind_of({"processor": processor_here(precision), **provenance()})
    if others := [kind for kind in dict.fromkeys(kinds) if kind != here]:
        raise RowsRefused(
            f"{what} was measured on {', '.join(others)}, and this is {here}: nothing was measured. Go on with it on "
            "such a processor, give what is measured here an --output of its own, or move it away to measure all of it "
            "here"
        )


def _as_text(value: Any) -> Any:
    return float(f"{value:.5g}") if isinstance(value, float) else value
