"""The table of losses in docs/performance.md, from rows: `python -m benchmarks.loss_table` writes it anew.

Of each processor and loss the newest row.
Not here: measuring (`benchmarks.loss_costs`).
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from measuring.markdown import commits_cell, markdown, with_table
from pipeline.results.formats import cell

CHECKOUT = Path(__file__).resolve().parents[1]
ROWS = CHECKOUT / "benchmarks" / "results" / "loss_costs.jsonl"
DOCUMENT = CHECKOUT / "docs" / "performance.md"
NAME = "loss_costs"
"""Of the marks in the document."""


def main(document: Path = DOCUMENT, rows: Path = ROWS) -> None:
    """Write the table between its marks."""
    document.write_text(with_table(document.read_text(), NAME, table(read(rows))))


def read(path: Path) -> list[Mapping[str, Any]]:
    """The rows of a file; none if it is not there."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def table(rows: Iterable[Mapping[str, Any]]) -> str:
    """Markdown, in the order of the rows; without any a sentence that says so."""
    newest = {(row["processor"], row["loss"]): row for row in rows}
    lines = [
        {
            "processor": row["processor"],
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
