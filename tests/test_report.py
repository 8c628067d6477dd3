from pathlib import Path

import pandas as pd
import pytest

from pipeline.errors import ConfigError
from pipeline.report import ReportArguments, main, parse_arguments
from pipeline.results.imports import Import
from pipeline.rows import Row
from tests.results.foreign_files import write_dopamine
from tests.results.run_folders import episode, evaluation, write_run


def test_what_was_found_and_where_it_is_are_said_and_bad_folders_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_run(tmp_path, [episode(1.0), evaluation(2.0)])
    (write_run(tmp_path, [], game="Hero") / "run.json").write_text("{")
    status = main([f"results_dir={folder.parents[2]}", f"output_dir={tmp_path / 'out'}"])
    out, err = capsys.readouterr()
    assert status == 0
    first, page, *folders = out.splitlines()
    assert first == "1 run of 1 experiment, 1 game, seed 0"
    assert page == str(tmp_path / "out" / "report.html")
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert all(path.stat().st_size > 0 for path in files)
    csv, png = (sum(path.suffix == suffix for path in files) for suffix in (".csv", ".png"))
    assert [line.partition(":")[0] for line in folders] == [
        str(tmp_path / "out" / name) for name in ("tables", "figures")
    ]
    assert f"{csv} csv" in folders[0] and f"{png} png" in folders[1]
    assert "Hero/0: skipped: " in err


@pytest.mark.slow
def test_what_is_cut_off_missing_or_of_another_version_is_named_and_all_else_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows: list[Row] = [episode(1.0), episode(2.0), evaluation(2.0), evaluation(4.0, 1)]
    games = ("Alien", "Hero", "Pong", "Qbert", "Seaquest")
    whole, cut_off, without, foreign, torn = (write_run(tmp_path, rows, game=game) for game in games)
    killed = cut_off / "evaluations.csv"
    killed.write_text(killed.read_text()[:-3])
    (without / "evaluations.csv").unlink()
    later = foreign / "evaluations.csv"
    later.write_text("\n".join(f"{line},7" for line in later.read_text().splitlines()) + "\n")
    middle = torn / "episodes.csv"
    middle.write_text(middle.read_text().replace(",10.0\n", "\n", 1))
    assert main([f"results_dir={whole.parents[2]}", f"output_dir={tmp_path / 'out'}"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert any(line.startswith(f"{killed}: the last line is cut off and was skipped: ") for line in lines)
    assert f"{without / 'evaluations.csv'}: missing" in lines
    assert any(line.startswith(f"{foreign}: skipped: {later} has the columns ") for line in lines)
    assert f"{torn}: skipped: {middle}: line 2 has fewer than 10 values" in lines
    scores = pd.read_csv(tmp_path / "out" / "tables" / "scores.csv")
    assert dict(zip(scores["game"], scores["score"], strict=True)) == {"Alien": 3.0, "Hero": 2.0}
    page = (tmp_path / "out" / "report.html").read_text()
    assert all(f"{folder}: skipped: " in page for folder in (foreign, torn)) and str(killed) in page


def test_nothing_to_report_is_said_and_is_no_success(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([f"results_dir={tmp_path}", f"output_dir={tmp_path}"]) == 1
    assert f"error: {tmp_path}: no run folder is below it" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["", "tables", "figures"])
def test_an_output_folder_that_cannot_be_written_is_told_before_a_run_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / name if name else out / "in_it").touch()
    given = out if name else out / "in_it"
    assert main([f"results_dir={tmp_path / 'nowhere'}", f"output_dir={given}"]) == 2
    said = capsys.readouterr().err
    assert f"output_dir={given} cannot be written: " in said and "choose another" in said


def test_without_arguments_the_report_is_about_the_runs_of_this_checkout() -> None:
    assert parse_arguments([]) == (ReportArguments(Path("results/runs"), Path("results")), ())


def test_all_mistakes_on_the_command_line_are_named_at_once_with_the_nearest_name() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_arguments(["result_dir=x", "results_dir=", "output_dir=y", "nonsense"])
    assert caught.value.mistakes == (
        "result_dir=x: no such setting; did you mean results_dir?",
        "results_dir=: must be a path",
        "'nonsense' is not understood: settings are given as name=value",
    )


def test_imports_are_a_word_or_a_list_and_all_wrong_ones_are_named(tmp_path: Path) -> None:
    one, other = Import("sb3", tmp_path), Import("dopamine", tmp_path)
    assert parse_arguments([f"imports=sb3:{tmp_path}"])[1] == (one,)
    assert parse_arguments([f"imports=[sb3:{tmp_path}, dopamine:{tmp_path}]"])[1] == (one, other)
    with pytest.raises(ConfigError) as caught:
        parse_arguments(["imports=[rllib:logs,sb3:no/such/place]", "output=x"])
    assert caught.value.mistakes == (
        "output=x: no such setting; did you mean output_dir?",
        "imports: 'rllib:logs' is no import; write sb3:<path> or dopamine:<path> or dqn_zoo:<path> or nnabla_rl:<path>",
        "imports: sb3:no/such/place: there is no no/such/place",
    )


def test_a_path_with_commas_or_brackets_is_one_import(tmp_path: Path) -> None:
    places = [tmp_path / "a,b", tmp_path / "c", tmp_path / "d[1]"]
    for place in places:
        place.mkdir()
    words = [f"sb3:{places[0]}", f"dopamine:{places[1]}", f"sb3:{places[2]}"]
    wanted = tuple(Import(tool, place) for tool, place in zip(("sb3", "dopamine", "sb3"), places, strict=True))
    assert parse_arguments([f"imports=[{','.join(words)}]"])[1] == wanted
    assert parse_arguments([f"imports={words[0]}"])[1] == wanted[:1]
    assert parse_arguments([f"imports={words[2]}"])[1] == wanted[2:]


def test_results_of_other_tools_are_in_the_page_under_their_names(tmp_path: Path) -> None:
    folder = write_run(tmp_path, [episode(1.0, 3_000_000)])
    theirs = write_dopamine(tmp_path / "theirs" / "pong.json", [("DQN", [-21.0, 7.5])])
    main([f"results_dir={folder.parents[2]}", f"output_dir={tmp_path / 'out'}", f"imports=dopamine:{theirs}"])
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Dopamine: DQN (1 game): imported" in page and "Dopamine: DQN, 1 run, protocol unknown" in page
    assert "7.5" in (tmp_path / "out" / "tables" / "imported.md").read_text()
