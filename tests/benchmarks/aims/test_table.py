"""The table of aims, from rows."""

from pathlib import Path

import pytest

from benchmarks.aims.table import PAGE, ROWS, Aim, main, table
from benchmarks.rows import read
from measuring.markdown import with_table

AIM = Aim("two over one", "scaling", {"threads": 2}, "ratio", 1.8, is_least=True)
ROWS_OF_IT = [
    {"benchmark": "scaling", "threads": threads, "ratio": ratio, "commit": "1234567890ab"}
    for threads, ratio in ((2, 1.9), (2, 1.7), (1, 0.1), (2, 1.75))
]


def test_a_ratio_that_reached_its_aim_once_is_shown_with_the_times_at_which_it_did_not() -> None:
    (line,) = table(ROWS_OF_IT, [AIM]).splitlines()[2:]
    assert line == "| two over one | 3 times | 1.75 (1.7 to 1.9) | at least 1.8 | 2 of 3 | 1234567 |"
    (line,) = table(ROWS_OF_IT, [AIM._replace(is_least=False)]).splitlines()[2:]
    assert "| at most 1.8 | 1 of 3 |" in line


def test_an_aim_that_nobody_measured_has_no_line() -> None:
    assert len(table(ROWS_OF_IT, [AIM, AIM._replace(benchmark="other")]).splitlines()) == 3


@pytest.mark.skipif(not PAGE.exists(), reason="a source distribution has no results")
def test_the_page_has_the_table_of_all_rows(tmp_path: Path) -> None:
    text = PAGE.read_text()
    assert with_table(text, "aims", table(read(ROWS))) == text, "python -m benchmarks.aims.table"
    page = tmp_path / "page.md"
    page.write_text("<!-- table: aims -->\nold\n<!-- end -->\n")
    main(page)
    assert "`gorila` in threads" in page.read_text()
