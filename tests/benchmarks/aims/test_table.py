"""The table of aims, from rows."""

import json
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path

import pytest

from benchmarks.aims.table import AIMS, EPYC, PAGE, WIRE, Aim, main, over_socket, table
from benchmarks.rows import Row
from measuring.markdown import with_table

AIM = Aim("two over one", "scaling", {"threads": 2}, itemgetter("ratio"), 1.8, is_least=True)


def rows_of(*ratios: float, threads: int = 2) -> list[Row]:
    return [{"benchmark": "scaling", "threads": threads, "ratio": one, "commit": "1234567890ab"} for one in ratios]


def written(folder: Path, **files: Sequence[Row]) -> Path:
    """The folder, with a file of rows for each name."""
    for name, rows in files.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [*rows_of(1.9, 1.7), *rows_of(0.1, threads=1), *rows_of(1.75)]
    return written(tmp_path, **{Path(EPYC).stem: rows})


def test_a_ratio_that_reached_its_aim_once_is_shown_with_the_times_at_which_it_did_not(folder: Path) -> None:
    (line,) = table(folder, [AIM]).splitlines()[2:]
    assert line == "| two over one | 3 times | 1.75 (1.7 to 1.9) | at least 1.8 | 2 of 3 | 1234567 |"
    (line,) = table(folder, [AIM._replace(is_least=False)]).splitlines()[2:]
    assert "| at most 1.8 | 1 of 3 |" in line


def test_an_aim_that_nobody_measured_has_no_line(folder: Path) -> None:
    aims = [AIM, AIM._replace(benchmark="other"), AIM._replace(files=("other.jsonl",))]
    assert len(table(folder, aims).splitlines()) == 3


def test_all_files_of_an_aim_are_counted(folder: Path) -> None:
    written(folder, more=rows_of(1.6))
    (line,) = table(folder, [AIM._replace(files=(EPYC, "more.jsonl"))]).splitlines()[2:]
    assert "| 4 times | 1.73 (1.6 to 1.9) | at least 1.8 | 3 of 4 |" in line


def test_a_wire_that_has_no_ratio_of_its_rounds_is_held_to_its_aim_by_its_medians(tmp_path: Path) -> None:
    newer = {"push_tcp_ms": 6.0, "pull_tcp_ms": 4.0, "socket_ms": 2.0}
    older = {"push_pull_over_socket": 3.0, "push_ms": 9.0}
    assert (over_socket(newer), over_socket(older), over_socket(newer | older)) == (5.0, 3.0, 3.0)
    about = {"benchmark": "server_wire", "wire_dtype": "bfloat16", "commit": "1234567890ab"}
    written(tmp_path, **{Path(EPYC).stem: [about | older], Path(WIRE).stem: [about | newer]})
    (line,) = table(tmp_path).splitlines()[2:]
    assert "bfloat16" in line and "| 2 times | 4 (3 to 5) | at most 4 | 1 of 2 |" in line


def test_each_aim_has_been_measured() -> None:
    assert len(table().splitlines()) == 2 + len(AIMS)


def test_the_page_has_the_table_of_all_rows(tmp_path: Path) -> None:
    text = PAGE.read_text()
    assert with_table(text, "aims", table()) == text, "python -m benchmarks.aims.table"
    page = tmp_path / "page.md"
    page.write_text("<!-- table: aims -->\nold\n<!-- end -->\n")
    main(page)
    assert "`gorila` in threads" in page.read_text()
