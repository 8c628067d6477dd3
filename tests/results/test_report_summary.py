"""The lines on the terminal, of runs and of paths."""

import io
from pathlib import Path

import pandas as pd

from pipeline.results.report_summary import drawing, found, left_over, written


def test_runs_are_counted_by_what_they_are_of() -> None:
    runs = pd.DataFrame({"experiment": ["dqn", "dqn", "gorila"], "game": ["Pong"] * 3, "seed": [0, 2, 0]})
    assert found(runs) == "3 runs of 2 experiments, 1 game, seeds 0 to 2"
    assert found(runs[:1]) == "1 run of 1 experiment, 1 game, seed 0"


def test_the_page_stands_first_and_files_are_counted_by_folder_and_kind() -> None:
    out = Path("out")
    names = ["tables/a.csv", "tables/a.md", "tables/b.csv", "figures/a.png", "report.html"]
    assert written([out / name for name in names]) == "out/report.html\nout/tables: 2 csv, 1 md\nout/figures: 1 png"


class Terminal(io.StringIO):
    """One that somebody looks at."""

    def isatty(self) -> bool:
        return True


def test_who_looks_sees_how_many_games_are_drawn_and_a_file_stays_as_it_is() -> None:
    terminal, file = Terminal(), io.StringIO()
    for stream in (terminal, file):
        with drawing(stream) as progress:
            progress(3, 49)
    assert "\r3 of 49 games drawn" in terminal.getvalue() and terminal.getvalue().endswith("\r\033[K")
    assert file.getvalue() == ""


def test_files_of_another_report_are_named(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("report.html", "tables/a.csv", "figures/a.png")]
    for path in (*paths, tmp_path / "mine.txt"):
        path.parent.mkdir(exist_ok=True)
        path.touch()
    assert left_over(paths) is None
    (tmp_path / "tables" / "old.tex").touch()
    assert left_over(paths) == (
        "warning: 1 file is not of this report (tables/old.tex): an earlier one may have left it"
    )
    (tmp_path / "figures" / "old.png").touch()
    assert str(left_over(paths)).startswith("warning: 2 files are not of this report (figures/old.png, …): an earlier")
