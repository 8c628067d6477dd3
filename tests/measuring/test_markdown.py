"""Tables between marks, and their cells."""

import pandas as pd
import pytest

from measuring.markdown import commits_cell, listed, markdown, median_cell, with_table, with_tables

TEXT = "# A\n\n<!-- table: one -->\nold\n<!-- end -->\n\nWords.\n\n<!-- table: two -->\n<!-- end -->\nLast.\n"


def test_each_table_replaces_what_is_between_its_marks_and_nothing_else() -> None:
    text = with_tables(TEXT, {"two": "| 2 |", "one": "| 1 |"})
    assert text == (
        "# A\n\n<!-- table: one -->\n| 1 |\n<!-- end -->\n\nWords.\n\n<!-- table: two -->\n| 2 |\n<!-- end -->\nLast.\n"
    )
    assert with_tables(text, {"two": "| 2 |", "one": "| 1 |"}) == text


def test_one_table_can_be_written_anew_beside_others() -> None:
    assert with_table(TEXT, "one", "| 1 |") == TEXT.replace("old", "| 1 |").replace("two -->\n", "two -->\n\n")
    again = with_tables(TEXT, {"one": "| 1 |", "two": "| 2 |"})
    assert with_table(again, "two", "| 3 |") == again.replace("| 2 |", "| 3 |")
    with pytest.raises(ValueError, match="marks for one, two found, tables are one, two, three"):
        with_table(TEXT, "three", "| 3 |")


@pytest.mark.parametrize("tables", [{"one": "| 1 |"}, {"one": "| 1 |", "two": "| 2 |", "three": "| 3 |"}])
def test_marks_and_tables_have_to_be_the_same(tables: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="marks for one, two found, tables are one"):
        with_tables(TEXT, tables)


def test_a_mark_that_is_not_closed_is_named() -> None:
    with pytest.raises(ValueError, match="the mark of table two is not closed"):
        with_tables(TEXT.replace("<!-- end -->\nLast", "Last"), {"one": "| 1 |", "two": "| 2 |"})


def test_columns_are_the_keys_of_the_rows_and_what_a_row_lacks_is_empty() -> None:
    assert markdown([{"a": "1", "b": "2"}, {"a": "3"}]) == "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 |  |"
    with pytest.raises(ValueError, match="a table without rows"):
        markdown([])


def test_cells_have_the_median_and_the_extremes_and_each_commit_once() -> None:
    assert median_cell(pd.Series([1000.0, 3000.0, 1500.0]), 0) == "1,500 (1,000 to 3,000)"
    commits = ["1234567890ab", "abcdef123456-dirty", "1234567890ab", "1234567890ab+"]
    assert commits_cell(commits) == "1234567, abcdef1+, 1234567+"


def test_a_time_that_never_came_is_said_to_be_so() -> None:
    assert listed(pd.Series([3.14, float("inf")]), 1) == "3.1, never"
