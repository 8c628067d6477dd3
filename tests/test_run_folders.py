import errno
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from pipeline.config.arguments import parse_words
from pipeline.errors import ConfigError
from pipeline.experiments.scoring.request import find_runs
from pipeline.report import ReportArguments
from pipeline.results.load import load_runs
from pipeline.run_folders import files_below, places_of, results_dir_of, run_folders, split_places, unquoted
from tests.experiments.smoke_runs import opened, smoke_config


def make(folder: Path, *names: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).touch()
    return folder


def test_a_run_is_where_any_of_its_files_is_at_any_depth(tmp_path: Path) -> None:
    wanted = [
        make(tmp_path / "a" / "Pong" / "0", "config.yaml"),
        make(tmp_path / "a" / "Pong" / "10", "run.json"),
        make(tmp_path / "a" / "Pong" / "2", "updates.csv"),
        make(tmp_path / "b", "evaluations.csv"),
    ]
    make(tmp_path / "c", "notes.txt")
    assert run_folders(tmp_path) == wanted
    assert run_folders(wanted[3]) == wanted[3:]
    assert run_folders(tmp_path / "nowhere") == []


def test_a_word_in_the_home_is_there_and_makes_no_folder_called_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = make(tmp_path / "home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(make(tmp_path / "here"))
    run = make(home / "runs" / "dqn" / "Pong" / "0", "config.yaml")
    assert places_of("~/runs") == [home / "runs"] and places_of("~/runs/*/*/0") == [run]
    assert find_runs(["~/runs/*"]) == [run]
    assert parse_words(ReportArguments, ["output_dir=~/report"]).output_dir == home / "report"
    folder = opened(smoke_config(Path("~/runs"))).path
    assert folder == home / "runs" / "smoke_gorila" / "Breakout" / "0" and list(Path().iterdir()) == []
    # As an earlier version, or a shell that was told to, has made one.
    make(Path("~/runs"))
    assert places_of("~/runs") == [Path("~/runs")]
    assert parse_words(ReportArguments, ["output_dir=~/runs"]).output_dir == Path("~/runs")
    assert places_of("~nobody-is-called-so/x") == []


def test_what_may_not_be_looked_into_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = make(tmp_path / "a" / "Pong" / "0", "config.yaml")
    theirs = make(tmp_path / "a" / "Pong" / "1", "config.yaml")
    look = os.scandir

    def refuse(place: str) -> Any:
        # Root, whom these tests may belong to, is refused nothing.
        if str(place) == str(theirs):
            raise PermissionError(errno.EACCES, "Permission denied", str(place))
        return look(place)

    monkeypatch.setattr(os, "scandir", refuse)
    told: list[OSError] = []
    assert run_folders(tmp_path, told.append) == [wanted] and [error.filename for error in told] == [str(theirs)]
    assert files_below(tmp_path, "config.yaml", told.append) == [wanted / "config.yaml"]
    assert [error.filename for error in told] == [str(theirs)] * 2
    with pytest.raises(PermissionError, match="Pong/1"):
        run_folders(tmp_path)
    assert f"{theirs}: skipped: it cannot be read: Permission denied" in load_runs(tmp_path).problems
    with pytest.raises(ConfigError, match=f"{theirs} cannot be read: Permission denied"):
        find_runs([str(theirs)])
    said: list[str] = []
    assert find_runs([str(tmp_path)], said.append) == [wanted]
    assert said == [f"run={tmp_path}: {theirs} cannot be read: Permission denied"]


def test_a_run_whose_settings_the_disk_does_not_give_is_told_beside_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted, stale = (make(tmp_path / name, "config.yaml") for name in "ab")
    ask = Path.stat

    def refuse(path: Path, **more: Any) -> os.stat_result:
        if path.parent == stale:
            raise OSError(errno.ESTALE, "Stale file handle", str(path))
        return ask(path, **more)

    monkeypatch.setattr(Path, "stat", refuse)
    said: list[str] = []
    assert find_runs([str(tmp_path)], said.append) == [wanted]
    assert said == [f"run={tmp_path}: {stale / 'config.yaml'} cannot be read: Stale file handle"]
    with pytest.raises(ConfigError, match="Stale file handle"):
        find_runs([str(stale)])


@pytest.mark.parametrize(
    ("folder", "results_dir"),
    [("/data/runs/dqn/Pong/0", "/data/runs"), ("/data/run5", "/"), ("/run5", "/"), ("/", "/")],
)
def test_a_run_folder_near_the_root_has_a_results_dir_too(folder: str, results_dir: str) -> None:
    assert results_dir_of(Path(folder)) == Path(results_dir)


def test_what_is_inside_of_a_run_is_no_other_run(tmp_path: Path) -> None:
    run = make(tmp_path / "run", "config.yaml")
    make(run / "discarded", "episodes.csv")
    make(run / "exports" / "7", "config.json", "evaluations.csv")
    make(tmp_path / "agents" / "pong", "config.json", "evaluations.csv")
    assert run_folders(tmp_path) == [run]


def test_hidden_folders_are_left_out_below_a_place_and_not_as_one(tmp_path: Path) -> None:
    doomed = make(tmp_path / ".0.deleted.7", "config.yaml")
    make(tmp_path / "outputs" / ".hydra", "config.yaml")
    assert run_folders(tmp_path) == []
    assert run_folders(doomed) == [doomed]


def test_links_are_followed_and_each_folder_is_seen_once(tmp_path: Path) -> None:
    make(tmp_path / "disk" / "x", "run.json", "1.npz")
    place = make(tmp_path / "place")
    (place / "a").symlink_to(tmp_path / "disk")
    (place / "b").symlink_to(tmp_path / "disk" / "x")
    (tmp_path / "disk" / "circle").symlink_to(place)
    assert run_folders(place) == [place / "a" / "x"]
    told: list[OSError] = []
    assert files_below(place, "*.npz", told.append) == [place / "a" / "x" / "1.npz"] and told == []


def test_a_name_is_a_place_before_it_is_a_pattern(tmp_path: Path) -> None:
    (tmp_path / "run[1]").mkdir()
    (tmp_path / "run1").mkdir()
    assert places_of(str(tmp_path / "run[1]")) == [tmp_path / "run[1]"]
    assert places_of(str(tmp_path / "run[12]")) == [tmp_path / "run1"]
    assert places_of(str(tmp_path / "run?")) == [tmp_path / "run1"]


@pytest.mark.parametrize(
    ("text", "there", "wanted"),
    [
        ("a", "a", ["a"]),
        ("a,b", "a b", ["a", "b"]),
        ("[a, b]", "a b", ["a", "b"]),
        ("a,b", ["a,b"], ["a,b"]),
        ("[a,b,c]", ["a,b", "c"], ["a,b", "c"]),
        ("a,b,c", ["a", "b,c"], ["a", "b,c"]),
        ("a,b", ["a", "b", "a,b"], ["a", "b"]),
        ("[1]", ["[1]"], ["[1]"]),
        ("x[1]", ["x[1]"], ["x[1]"]),
        ("a,x,b", "a b", ["a", "x", "b"]),
        ("a,,b,", "a b", ["a", "b"]),
    ],
)
def test_a_list_is_taken_apart_into_what_is_there(text: str, there: Iterable[str], wanted: list[str]) -> None:
    assert split_places(text, set(there.split() if isinstance(there, str) else there).__contains__) == wanted


def test_quotes_around_a_value_are_no_part_of_it_unless_something_is_called_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert [unquoted(text) for text in ("'a b'", '"a b"', "'a b", "'", "")] == ["a b", "a b", "'a b", "'", ""]
    assert split_places("['a b', \"c\"]", {"a b", "c"}.__contains__) == ["a b", "c"]
    (tmp_path / "'a b'").mkdir()
    assert unquoted("'a b'") == "'a b'"
