"""The table of losses, from rows."""

from pathlib import Path

from benchmarks.loss_costs.losses import OF_Q_LEARNING, OF_ROLLOUTS
from benchmarks.loss_costs.table import ROWS, main, table
from benchmarks.rows import PERFORMANCE, read
from measuring.markdown import with_table

ROW = {
    "processor": "avx2, float32",
    "cpu": "AMD EPYC",
    "num_cores": 2,
    "loss": "gorila",
    "steps_per_gradient": 4,
    "gradient_ms": 52.12,
    "ms_per_step": 13.03,
    "per_step_over_first": 1.0,
    "commit": "1234567890ab",
}


def test_the_newest_row_of_each_loss_counts() -> None:
    *_, gorila, clipped = table([ROW, {**ROW, "loss": "dba3c_clip", "steps_per_gradient": 42.67}, ROW]).splitlines()
    assert gorila == "| avx2, float32, AMD EPYC, 2 cores | gorila | 4 | 52.1 | 13.03 | 1.00 | 1234567 |"
    assert "| dba3c_clip | 42.67 |" in clipped
    assert len(table([ROW, {**ROW, "cpu": "another"}]).splitlines()) == 4, "two models of a class are two kinds"


def test_no_row_is_of_a_loss_that_is_not_measured_any_more() -> None:
    assert {row["loss"] for row in read(ROWS)} <= OF_Q_LEARNING.keys() | OF_ROLLOUTS.keys()


def test_the_document_has_the_table_of_the_rows(tmp_path: Path) -> None:
    text = PERFORMANCE.read_text()
    assert with_table(text, "loss_costs", table(read(ROWS))) == text
    page = tmp_path / "page.md"
    page.write_text("<!-- table: loss_costs -->\nold\n<!-- end -->\n")
    main(page, tmp_path / "none.jsonl")
    assert "Not measured yet." in page.read_text() and "old" not in page.read_text()
