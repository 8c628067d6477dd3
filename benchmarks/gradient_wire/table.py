"""The tables of docs/performance.md, from rows: `python -m benchmarks.gradient_wire.table` writes them anew.

Of each processor, wire dtype, batch and number of gradients the newest row.
Not here: measuring (`benchmarks.gradient_wire.__main__`).
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from benchmarks.rows import PERFORMANCE, RESULTS, Row, read
from measuring.markdown import commits_cell, markdown, with_table
from measuring.processor import kind_of
from pipeline.results.formats import cell

ROWS = RESULTS / "gradient_wire.jsonl"


def main(document: Path = PERFORMANCE, rows: Path = ROWS) -> None:
    """Write the tables between their marks."""
    document.write_text(with_tables_of(document.read_text(encoding="utf-8"), read(rows)), encoding="utf-8")


def with_tables_of(text: str, rows: Iterable[Row]) -> str:
    """A document with both tables, made of these rows."""
    known = list(rows)
    for name, line in LINES.items():
        text = with_table(text, name, table(name, line, known))
    return text


def table(name: str, line: Callable[[Row], Mapping[str, str]], rows: Iterable[Row]) -> str:
    """Markdown; without rows a sentence that says so."""
    newest = {_key(row): row for row in rows if row["benchmark"] == name}
    return markdown(line(newest[key]) for key in sorted(newest)) if newest else "Not measured yet."


def pays_on(row: Row) -> str:
    """The networks on which factors are sooner there, by what they cost more without one and the bytes that they spare.

    Loopback copies bytes and has no speed limit of its own: a network adds the time that bytes take on it.
    """
    dense = row["product_ms"] + row["push_dense_ms"] + row["pull_dense_ms"]
    more = row["push_factors_ms"] + row["pull_factors_ms"] - dense
    spared = row["dense_bytes"] - row["factors_bytes"]
    if spared <= 0:
        return "none" if more >= 0 else "the fastest"
    return "any" if more <= 0 else f"below {cell(8e-6 * spared / more, 1)} Gbit/s"


def _key(row: Row) -> tuple[str, str, int, int]:
    # float32 before bfloat16
    return kind_of(row), row.get("wire_dtype", "")[::-1], row.get("batch_size", 0), row.get("num_gradients", 0)


def _wire_line(row: Row) -> Mapping[str, str]:
    return {
        "processor": kind_of(row),
        "wire_dtype": row["wire_dtype"],
        "batch": str(row["batch_size"]),
        "push, MB: dense / factors": f"{_mb(row['dense_bytes'])} / {_mb(row['factors_bytes'])}",
        "dense: product + push": f"{cell(row['product_ms'], 1)} + {cell(row['push_dense_ms'], 1)}",
        "factors: push": cell(row["push_factors_ms"], 1),
        "pull": cell(row["pull_factors_ms"], 1),
        "bare socket: dense / factors": f"{cell(row['socket_dense_ms'], 1)} / {cell(row['socket_factors_ms'], 1)}",
        "factors / dense": _ratio(row),
        "pays on": pays_on(row),
        "commit": commits_cell([row["commit"]]),
    }


def _mean_line(row: Row) -> Mapping[str, str]:
    return {
        "processor": kind_of(row),
        "gradients": str(row["num_gradients"]),
        "each worker's product": cell(row["product_ms"], 1),
        "mean of numbers": cell(row["mean_dense_ms"], 1),
        "product of factors": cell(row["mean_factors_ms"], 1),
        "factors / numbers": _ratio(row),
        "commit": commits_cell([row["commit"]]),
    }


def _server_line(row: Row) -> Mapping[str, str]:
    ways = {"direct": "same process", "memory": "shared memory", "tcp": "TCP"}
    return {
        "processor": kind_of(row),
        "wire_dtype": row["wire_dtype"],
        **{
            f"{words}: push + pull": f"{cell(row[f'push_{way}_ms'], 1)} + {cell(row[f'pull_{way}_ms'], 1)}"
            for way, words in ways.items()
        },
        "bare socket": cell(row["socket_ms"], 1),
        "one copy": cell(row["copy_ms"], 1),
        "memory / TCP": _ratio(row, "memory_over_tcp"),
        "commit": commits_cell([row["commit"]]),
    }


LINES: Mapping[str, Callable[[Row], Mapping[str, str]]] = {
    "gradient_wire": _wire_line,
    "gradient_mean": _mean_line,
    "server_wire": _server_line,
}
"""A line of each table, by the name of its rows and of its marks."""


def _mb(num_bytes: int) -> str:
    return cell(num_bytes / 1e6, 2)


def _ratio(row: Row, name: str = "factors_over_dense") -> str:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return f"{cell(row[name], 2)} ({cell(low, 2)} to {cell(high, 2)})"


if __name__ == "__main__":
    main()
