"""Tables of a document: rows of Markdown, and the place between two marks where they go.

    <!-- table: NAME -->
    | ... |
    <!-- end -->

Not here: which tables there are (`studies.tables`, `benchmarks.peers.table`, `benchmarks.gradient_wire.table`), those
of a report (`pipeline.results.formats`).
"""

import math
import re
from collections.abc import Iterable, Mapping

import pandas as pd

from pipeline.results.formats import ReportTable, as_markdown, cell

_MARK = re.compile(r"<!-- table: (\S+) -->\n")
_END = "<!-- end -->"


def markdown(rows: Iterable[Mapping[str, str]]) -> str:
    """A table whose columns are the keys of its rows. Raises ValueError without rows."""
    text = pd.DataFrame(list(rows)).fillna("")
    if text.empty:
        raise ValueError("a table without rows")
    return as_markdown(ReportTable("", "", text, text, notes=())).strip()


def median_cell(values: "pd.Series[float]", decimals: int) -> str:
    """The median of several rounds, with the lowest and the highest: "76 (74 to 77)"."""
    low, high = cell(values.min(), decimals), cell(values.max(), decimals)
    return f"{cell(values.median(), decimals)} ({low} to {high})"


def listed(values: "pd.Series[float]", decimals: int) -> str:
    """Each of several values, such as a score with each seed: "21.2, 23.9"; a time that never came is "never"."""
    return ", ".join("never" if math.isinf(value) else cell(value, decimals) for value in values)


def counted(count: int, noun: str) -> str:
    """The head of a column: "1 server", "2 servers"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def commits_cell(commits: Iterable[str]) -> str:
    """Each commit once, as short as it is spoken of, in the order of the rows; "+": files differed from it."""
    return ", ".join(dict.fromkeys(commit[:7] + "+" * commit.endswith(("+", "-dirty")) for commit in commits))


def with_table(text: str, name: str, table: str) -> str:
    """The text with one of its tables anew, the others as they are. Raises ValueError as `with_tables` does."""
    _, *parts = _MARK.split(text)
    others = {
        other: body.partition(_END)[0].removesuffix("\n") for other, body in zip(parts[::2], parts[1::2], strict=True)
    }
    return with_tables(text, others | {name: table})


def with_tables(text: str, tables: Mapping[str, str]) -> str:
    """The text with each table between its marks.

    Raises ValueError for marks without a table, a table without marks or with several, and a mark that is not closed.
    """
    before, *parts = _MARK.split(text)
    names, bodies = parts[::2], parts[1::2]
    if sorted(names) != sorted(tables):
        raise ValueError(f"marks for {', '.join(names) or 'none'} found, tables are {', '.join(tables) or 'none'}")
    pieces = [before]
    for name, body in zip(names, bodies, strict=True):
        _, end, after = body.partition(_END)
        if not end:
            raise ValueError(f"the mark of table {name} is not closed by {_END}")
        pieces.append(f"<!-- table: {name} -->\n{tables[name]}\n{_END}{after}")
    return "".join(pieces)
