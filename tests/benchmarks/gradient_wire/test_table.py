"""The tables of gradients on their way, from rows."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks.gradient_wire.table import LINES, ROWS, main, pays_on, table, with_tables_of
from benchmarks.rows import PERFORMANCE, read

WIRE = {
    "benchmark": "gradient_wire",
    "processor": "avx2, float32",
    "cpu": "AMD EPYC",
    "num_cores": 2,
    "wire_dtype": "float32",
    "batch_size": 32,
    "dense_bytes": 7_000_000,
    "factors_bytes": 1_000_000,
    "product_ms": 2.0,
    "push_dense_ms": 8.0,
    "pull_dense_ms": 5.0,
    "push_factors_ms": 4.0,
    "pull_factors_ms": 5.0,
    "socket_dense_ms": 4.0,
    "socket_factors_ms": 2.5,
    "factors_over_dense": 0.6,
    "factors_over_dense_low": 0.5,
    "factors_over_dense_high": 0.7,
    "commit": "1234567890ab",
}
MEAN = {
    **WIRE,
    "benchmark": "gradient_mean",
    "num_gradients": 8,
    "mean_dense_ms": 9.0,
    "mean_factors_ms": 12.0,
}


def row(**changes: Any) -> dict[str, Any]:
    return WIRE | changes


def test_a_line_has_the_bytes_the_times_and_where_it_pays() -> None:
    lines = table("gradient_wire", LINES["gradient_wire"], [WIRE, MEAN]).splitlines()
    assert len(lines) == 3
    assert lines[2] == (
        "| avx2, float32, AMD EPYC, 2 cores | float32 | 32 | 7.00 / 1.00 | 2.0 + 8.0 | 4.0 | 5.0 | 4.0 / 2.5 "
        "| 0.60 (0.50 to 0.70) | any | 1234567 |"
    )


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({}, "any"),
        # 6 MB are spared for 3 ms more: 16 Gbit/s bring them in that time.
        ({"push_factors_ms": 13.0}, "below 16.0 Gbit/s"),
        ({"push_factors_ms": 13.0, "factors_bytes": 8_000_000}, "none"),
        ({"factors_bytes": 8_000_000}, "the fastest"),
    ],
)
def test_it_pays_where_the_bytes_that_it_spares_take_longer_than_what_it_costs(
    changes: dict[str, Any], where: str
) -> None:
    assert pays_on(row(**changes)) == where


def test_the_newest_row_of_each_kind_counts_and_float32_comes_first() -> None:
    rows = [row(wire_dtype="bfloat16"), row(batch_size=128), row(product_ms=1.0), row(product_ms=3.0)]
    lines = table("gradient_wire", LINES["gradient_wire"], rows).splitlines()[2:]
    assert [line.split(" | ")[1:3] for line in lines] == [["float32", "32"], ["float32", "128"], ["bfloat16", "32"]]
    assert "| 3.0 + 8.0 |" in lines[0]
    assert len(table("gradient_wire", LINES["gradient_wire"], [row(), row(cpu="another")]).splitlines()) == 4


def test_means_have_a_table_of_their_own() -> None:
    lines = table("gradient_mean", LINES["gradient_mean"], [WIRE, {**MEAN, "num_gradients": 32}, MEAN]).splitlines()
    assert [line.split(" | ")[1] for line in lines[2:]] == ["8", "32"]
    assert "| 2.0 | 9.0 | 12.0 | 0.60 (0.50 to 0.70) |" in lines[2]


def test_the_document_has_the_tables_of_the_rows() -> None:
    text = PERFORMANCE.read_text()
    assert with_tables_of(text, read(ROWS)) == text


def test_the_tables_are_written_between_their_marks(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    document.write_text("".join(f"<!-- table: {name} -->\nold\n<!-- end -->\n" for name in (*LINES, "peers")))
    main(document, tmp_path / "none.jsonl")
    assert document.read_text().count("Not measured yet.") == 3 and document.read_text().count("old") == 1
