from pathlib import Path

import pandas as pd

from pipeline.results.formats import MISSING, ReportTable, as_latex, as_markdown, cell, interval_cell, write_table

TABLE = ReportTable(
    "scores",
    "Scores & more",
    pd.DataFrame({"score": [1.5, float("nan")]}, index=pd.Index(["Pong", "Hero"], name="game")),
    pd.DataFrame({"game": ["Pong", "Hero"], "score %": ["1.5", MISSING]}),
    ("50 % of a_b.",),
)


def test_numbers_have_their_thousands_apart_and_nan_is_missing() -> None:
    assert [cell(1234.56, 1), cell(float("nan"), 1), cell(-0.5, 0)] == ["1,234.6", "missing", "-0"]
    assert interval_cell(2.0, 1.0, 3.0, 1) == "2.0 [1.0, 3.0]"
    assert interval_cell(2.0, float("nan"), float("nan"), 1) == "2.0"
    assert interval_cell(float("nan"), 1.0, 3.0, 1) == "missing"


def test_markdown_has_a_row_a_line_and_the_notes_below() -> None:
    assert as_markdown(TABLE).splitlines() == [
        "| game | score % |",
        "|---|---|",
        "| Pong | 1.5 |",
        "| Hero | missing |",
        "",
        "- 50 % of a_b.",
    ]


def test_a_bar_in_a_cell_does_not_end_it() -> None:
    table = TABLE._replace(text=pd.DataFrame({"game": ["a|b"]}))
    assert "| a\\|b |" in as_markdown(table)


def test_latex_escapes_what_is_a_command_there() -> None:
    latex = as_latex(TABLE._replace(text=pd.DataFrame({"game": ["a_b & c"], "x %": ["5 %"]})))
    assert latex.startswith("% Needs \\usepackage{booktabs,longtable}.\n% 50 % of a_b.\n\\begin{longtable}{lr}")
    assert "\\label{tab:" in latex
    assert r"a\_b \& c & 5 \% \\" in latex
    assert r"game & x \% \\" in latex
    assert r"\caption{Scores \& more}" in latex


def test_signs_that_latex_shows_as_others_are_mathematics() -> None:
    latex = as_latex(TABLE._replace(text=pd.DataFrame({"game": ["a"], "P(> DQN)": ["2"]})))
    assert "P($>$ DQN)" in latex


def test_signs_that_latex_does_not_know_are_commands_there() -> None:
    latex = as_latex(TABLE._replace(text=pd.DataFrame({"game": ["1.0†"], "≥ 75 %": ["2"]})))
    assert r"game & $\geq$ 75 \% \\" in latex
    assert r"1.0$\dagger$ & 2 \\" in latex


def test_three_files_are_written_and_numbers_of_the_csv_are_read_as_numbers(tmp_path: Path) -> None:
    paths = write_table(TABLE, tmp_path / "tables")
    assert [path.name for path in paths] == ["scores.csv", "scores.md", "scores.tex"]
    assert paths[0].read_text() == "game,score\nPong,1.5\nHero,\n"
    assert pd.read_csv(paths[0])["score"].dtype == "float64"
    assert paths[1].read_text().startswith("# Scores & more\n\n| game |")
