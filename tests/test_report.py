from pathlib import Path

import pandas as pd
import pytest

from pipeline.errors import ConfigError
from pipeline.report import ReportArguments, main, parse_arguments
from tests.results.run_folders import episode, evaluation, write_run

KINDS = (("tables", "csv"), ("tables", "md"), ("figures", "png"))


def test_every_game_found_gets_tables_and_a_figure_and_bad_folders_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(tmp_path, [episode(1.0), evaluation(2.0)], game="Pong")
    folder = write_run(tmp_path, [episode(1.0)], game="Breakout")
    (write_run(tmp_path, [], game="Hero") / "run.json").write_text("{")
    status = main([f"runs_dir={folder.parents[2]}", f"output_dir={tmp_path}"])
    out, err = capsys.readouterr()
    names = [f"{place}/{game}.{kind}" for game in ("Breakout", "Pong") for place, kind in KINDS]
    assert status == 0
    assert out.splitlines() == [str(tmp_path / name) for name in names]
    assert all((tmp_path / name).stat().st_size > 0 for name in names)
    assert pd.read_csv(tmp_path / "tables" / "Pong.csv")["agent"].tolist()[-1] == "ours: gorila"
    assert (tmp_path / "tables" / "Pong.md").read_text().startswith("# Pong\n\n| agent |")
    assert "Hero/0: skipped: " in err


def test_nothing_to_report_is_said_and_is_no_success(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([f"runs_dir={tmp_path}", f"output_dir={tmp_path}"]) == 1
    assert f"No run folder below {tmp_path}" in capsys.readouterr().err


def test_without_arguments_the_report_is_about_the_runs_of_this_checkout() -> None:
    assert parse_arguments([]) == ReportArguments(Path("results/runs"), Path("results"))


def test_all_mistakes_on_the_command_line_are_named_at_once_with_the_nearest_name() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_arguments(["run_dir=x", "runs_dir=", "output_dir=y", "nonsense"])
    assert caught.value.mistakes == (
        "'run_dir=x' is not understood; did you mean runs_dir=…?",
        "'runs_dir=' is not understood; known: runs_dir=…, output_dir=…",
        "'nonsense' is not understood; known: runs_dir=…, output_dir=…",
    )
