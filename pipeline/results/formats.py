"""A table for readers: the numbers as CSV, the same as text in Markdown and LaTeX.

Not here: what stands in a table, the page in HTML (`pipeline.results.report_files`).
"""

import re
from pathlib import Path
from typing import NamedTuple

import pandas as pd

MISSING = "missing"
"""What a printed cell says where a run is missing: never an empty cell, never a row left out. CSV leaves it empty, so
that a column of numbers is read as one."""

_LATEX = {"≥": r"$\geq$", "†": r"$\dagger$", ">": "$>$", "<": "$<$"}
"""Signs of ours that LaTeX does not know, or shows as others, without a package."""


class ReportTable(NamedTuple):
    """One table, twice: numbers for programs and text for people."""

    name: str
    """Of its files."""
    title: str
    numbers: pd.DataFrame
    """NaN where something is missing."""
    text: pd.DataFrame
    """Cells as they are printed; the first column names the row."""
    notes: tuple[str, ...]
    """What a reader has to know, one sentence or two each."""


def cell(value: float, decimals: int) -> str:
    """A number with its thousands apart; `MISSING` for NaN."""
    return MISSING if pd.isna(value) else f"{value:,.{decimals}f}"


def interval_cell(value: float, low: float, high: float, decimals: int) -> str:
    """A number and its interval, if there is one: "1,234.5 [1,100.0, 1,400.0]"."""
    if pd.isna(value) or pd.isna(low):
        return cell(value, decimals)
    return f"{cell(value, decimals)} [{cell(low, decimals)}, {cell(high, decimals)}]"


def as_markdown(table: ReportTable) -> str:
    """The text with its notes below."""
    lines = [_markdown_row(list(table.text.columns)), "|" + "---|" * len(table.text.columns)]
    lines += [_markdown_row(row) for row in table.text.to_numpy().tolist()]
    return "\n".join([*lines, "", *(f"- {note}" for note in table.notes)]) + "\n"


def as_latex(table: ReportTable) -> str:
    """The text as a `longtable` with `booktabs` rules, ready to be `\\input`; the notes are its comments."""
    layout = "l" + "r" * (len(table.text.columns) - 1)
    title = re.sub(r"([&%$#_{}])", r"\\\1", table.title)
    body = (
        table.text.style.hide(axis="index")
        .format(escape="latex")
        .format_index(escape="latex", axis="columns")
        .to_latex(environment="longtable", column_format=layout, hrules=True, caption=title, label=f"tab:{table.name}")
    )
    for sign, command in _LATEX.items():
        body = body.replace(sign, command)
    head = ("Needs \\usepackage{booktabs,longtable}.", *table.notes)
    return "".join(f"% {line}\n" for line in head) + body


def write_table(table: ReportTable, directory: Path) -> list[Path]:
    """Write `<name>.csv`, `.md` and `.tex`; returns the paths."""
    directory.mkdir(parents=True, exist_ok=True)
    paths = [directory / f"{table.name}.{kind}" for kind in ("csv", "md", "tex")]
    table.numbers.to_csv(paths[0], index=table.numbers.index.name is not None)
    paths[1].write_text(f"# {table.title}\n\n{as_markdown(table)}", encoding="utf-8")
    paths[2].write_text(as_latex(table), encoding="utf-8")
    return paths


def _markdown_row(cells: list[str]) -> str:
    return "| " + " | ".join(text.replace("|", "\\|") for text in cells) + " |"
