"""The table of losses in docs/performance.md, from rows: `python -m benchmarks.loss_costs.table` writes it anew.

Of each kind of processor and loss the newest row.
Not here: measuring (`benchmarks.loss_costs.__main__`).
"""

from collections.abc import Iterable
from pathlib import Path

from benchmarks.rows import PERFORMANCE, RESULTS, Row, read
from measuring.markdown import commits_cell, markdown, with_table
from measuring.processor import kind_of
from pipeline.results.formats import cell

ROWS = RESULTS / "loss_costs.jsonl"
NAME = "loss_costs"
"""Of the marks in the document."""


def main(document: Path = PERFORMANCE, rows: Path = ROWS) -> None:
    """Write the table between its marks."""
    document.write_text(with_table(document.read_text(encoding="utf-8"), NAME, table(read(rows))), encoding="utf-8")


def table(rows: Iterable[Row]) -> str:
    """Markdown, in the order of the rows; without any a sentence that says so."""
    newest = {(kind_of(row), row["loss"]): row for row in rows}
    lines = [
        {
            "processor": kind_of(row),
            "loss": row["loss"],
            "steps a gradient": f"{row['steps_per_gradient']:g}",
            "ms a gradient": cell(row["gradient_ms"], 1),
            "ms a step": cell(row["ms_per_step"], 2),
            "to the first of its system": cell(row["per_step_over_first"], 2),
            "commit": commits_cell([row["commit"]]),
        }
        for row in newest.values()
    ]
    return markdown(lines) if lines else "Not measured yet."


if __name__ == "__main__":
    main()
