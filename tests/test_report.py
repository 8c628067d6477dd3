from pathlib import Path

import pytest

from pipeline.errors import ConfigError
from pipeline.report import ReportArguments, main, parse_arguments
from tests.results.run_folders import episode, evaluation, write_run


def test_files_are_listed_and_bad_folders_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_run(tmp_path, [episode(1.0), evaluation(2.0)])
    (write_run(tmp_path, [], game="Hero") / "run.json").write_text("{")
    status = main([f"results_dir={folder.parents[2]}", f"output_dir={tmp_path / 'out'}"])
    out, err = capsys.readouterr()
    assert status == 0
    written = [Path(line) for line in out.splitlines()]
    assert {path for path in (tmp_path / "out").rglob("*") if path.is_file()} == set(written)
    assert written[-1] == tmp_path / "out" / "report.html"
    assert all(path.stat().st_size > 0 for path in written)
    assert "Hero/0: skipped: " in err


def test_nothing_to_report_is_said_and_is_no_success(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([f"results_dir={tmp_path}", f"output_dir={tmp_path}"]) == 1
    assert f"No run folder below {tmp_path}" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_without_arguments_the_report_is_about_the_runs_of_this_checkout() -> None:
    assert parse_arguments([]) == ReportArguments(Path("results/runs"), Path("results"))


def test_all_mistakes_on_the_command_line_are_named_at_once_with_the_nearest_name() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_arguments(["result_dir=x", "results_dir=", "output_dir=y", "nonsense"])
    assert caught.value.mistakes == (
        "'result_dir=x' is not understood; did you mean results_dir=…?",
        "'results_dir=' is not understood; known: results_dir=…, output_dir=…",
        "'nonsense' is not understood; known: results_dir=…, output_dir=…",
    )
