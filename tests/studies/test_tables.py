"""Every README of `results/` has the tables that its rows give: no number in them was typed by hand."""

import shutil
from pathlib import Path

import pytest

from studies import tables
from studies.tables import STUDIES, renewed

RESULTS = Path(__file__).resolve().parents[2] / "results"
HAND_WRITTEN = {"published"}
"""Folders of what others have published: `tests/results/test_published.py` holds their README to the files."""


@pytest.mark.parametrize("name", STUDIES)
def test_the_tables_of_a_committed_readme_are_those_that_its_rows_give(name: str) -> None:
    text = (RESULTS / name / "README.md").read_text()
    assert renewed(name, text, RESULTS) == text, "python -m studies tables"


def test_every_folder_of_results_has_tables_of_its_rows() -> None:
    assert {file.parent.name for file in RESULTS.glob("*/README.md")} - HAND_WRITTEN == set(STUDIES)


def test_a_row_that_changes_changes_its_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(RESULTS / "guards", tmp_path / "guards")
    readme, rows = tmp_path / "guards" / "README.md", tmp_path / "guards" / "guards.csv"
    arguments = ["guards", "--results", str(tmp_path)]
    assert tables.main(arguments) == 0
    assert capsys.readouterr().out == "", "nothing has changed"
    kept = rows.read_text().splitlines()
    rows.write_text("\n".join([kept[0], *(line for line in kept[1:] if line.startswith("none,"))]) + "\n")
    assert tables.main(arguments) == 0
    assert capsys.readouterr().out == f"{readme}\n"
    assert "| none | on |" in readme.read_text() and "| both | on |" not in readme.read_text()


def test_tables_that_there_are_not_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        tables.main(["guard"])
    assert "there are no tables of guard; there are chaos, dba3c, " in capsys.readouterr().err
