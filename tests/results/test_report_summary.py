"""The lines on the terminal, of runs and of paths."""

from pathlib import Path

import pandas as pd

from pipeline.results.report_summary import found, written


def test_runs_are_counted_by_what_they_are_of() -> None:
    runs = pd.DataFrame({"experiment": ["dqn", "dqn", "gorila"], "game": ["Pong"] * 3, "seed": [0, 2, 0]})
    assert found(runs) == "3 runs of 2 experiments, 1 game, seeds 0 to 2"
    assert found(runs[:1]) == "1 run of 1 experiment, 1 game, seed 0"


def test_the_page_stands_first_and_files_are_counted_by_folder_and_kind() -> None:
    out = Path("out")
    names = ["tables/a.csv", "tables/a.md", "tables/b.csv", "figures/a.png", "report.html"]
    assert written([out / name for name in names]) == "out/report.html\nout/tables: 2 csv, 1 md\nout/figures: 1 png"
