"""The lines on the terminal, of runs and of paths."""

import io
from pathlib import Path

import pandas as pd

from pipeline.results.report_summary import drawing, found, written


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
