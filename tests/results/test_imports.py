import errno
import os
from pathlib import Path
from typing import Any

import pytest

from pipeline.results.imports import Import, load_imports, parse_import
from tests.results.foreign_files import write_dopamine, write_dqn_zoo, write_monitor


def test_several_tools_are_read_into_one_frame(tmp_path: Path) -> None:
    write_monitor(tmp_path / "a2c" / "monitor.csv", [(1.0, 10, 1.0)])
    wanted = [
        Import("sb3", tmp_path / "a2c"),
        Import("dopamine", write_dopamine(tmp_path / "pong.json", [("DQN", [1.0])])),
        Import("dqn_zoo", write_dqn_zoo(tmp_path / "iqn.csv", [("pong", 1, 1, "2.0")])),
    ]
    points, problems = load_imports([*wanted, wanted[0]])
    assert points[["tool", "agent", "game"]].to_numpy().tolist() == [
        ["sb3", "a2c", "Breakout"], ["dopamine", "DQN", "Pong"], ["dqn_zoo", "iqn", "Pong"],
    ]  # fmt: skip
    assert problems == ()


def test_a_bad_file_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    write_monitor(tmp_path / "good" / "monitor.csv", [(1.0, 10, 1.0)])
    write_monitor(tmp_path / "bad" / "monitor.csv", [(1.0, 10, 1.0)], "CartPole-v1")
    points, problems = load_imports([Import("sb3", tmp_path)])
    assert points["run"].tolist() == ["good"]
    assert problems == (f"{tmp_path / 'bad'}: skipped: CartPole-v1 is none of the Atari games",)


@pytest.mark.parametrize("number", [errno.EACCES, errno.ESTALE])
def test_a_folder_that_may_not_be_read_is_named_and_all_others_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    write_monitor(tmp_path / "good" / "monitor.csv", [(1.0, 10, 1.0)])
    theirs = tmp_path / "lost+found"
    theirs.mkdir()
    look = os.scandir

    def refuse(place: str) -> Any:
        # Root, whom these tests may belong to, is refused nothing.
        if str(place) == str(theirs):
            raise OSError(number, os.strerror(number), str(place))
        return look(place)

    monkeypatch.setattr(os, "scandir", refuse)
    points, problems = load_imports([Import("sb3", tmp_path), Import("nnabla_rl", theirs)])
    assert points["run"].tolist() == ["good"]
    assert problems == (f"{theirs}: skipped: it cannot be read: {os.strerror(number)}",) * 2


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "results.tar.gz").write_bytes(b"\x1f\x8b\x08\xff")
    points, (problem,) = load_imports([Import("dqn_zoo", tmp_path / "results.tar.gz")])
    assert points.empty and problem.startswith(f"{tmp_path / 'results.tar.gz'}: skipped: ")


def test_runs_of_folders_with_the_same_name_are_told_apart_or_named(tmp_path: Path) -> None:
    for agent, score in (("a2c", 400.0), ("ppo", 10.0)):
        write_monitor(tmp_path / agent / "Breakout_1" / "monitor.csv", [(score, 10, 1.0)])
    points, problems = load_imports([Import("sb3", tmp_path)])
    assert points.set_index("run")["score"].to_dict() == {"a2c/Breakout_1": 400.0, "ppo/Breakout_1": 10.0}
    assert problems == ()
    again = tmp_path / "again" / tmp_path.name
    write_monitor(again / "a2c" / "Breakout_1" / "monitor.csv", [(7.0, 10, 1.0)])
    _, (problem,) = load_imports([Import("sb3", tmp_path / "a2c"), Import("sb3", again / "a2c")])
    assert problem.endswith(f"is in {tmp_path / 'a2c' / 'Breakout_1'}; import folders of other names")


def test_a_line_that_was_cut_off_is_named_and_the_rest_of_its_file_is_read(tmp_path: Path) -> None:
    path = write_monitor(tmp_path / "a2c" / "monitor.csv", [(1.0, 10, 1.0)])
    path.write_text(path.read_text() + "4.0,1")
    points, problems = load_imports([Import("sb3", tmp_path / "a2c")])
    assert points["score"].tolist() == [1.0]
    assert problems == (f"{path}: line 4 is cut off and was skipped",)


def test_a_path_with_nothing_of_the_tool_is_named(tmp_path: Path) -> None:
    points, problems = load_imports([Import("dopamine", tmp_path)])
    assert points.empty
    assert problems == (f"{tmp_path}: no files of Dopamine are there",)


def test_a_word_names_tool_and_path(tmp_path: Path) -> None:
    assert parse_import(f"sb3:{tmp_path}") == Import("sb3", tmp_path)


@pytest.mark.parametrize("word", ["sb3", "sb3:", "rllib:logs", "logs"])
def test_a_word_that_names_no_tool_or_no_path_is_answered_with_those_there_are(word: str) -> None:
    with pytest.raises(
        ValueError, match="is no import; write sb3:<path> or dopamine:<path> or dqn_zoo:<path> or nnabla"
    ):
        parse_import(word)


def test_a_path_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ValueError, match="sb3:nowhere/at/all: there is no nowhere/at/all"):
        parse_import("sb3:nowhere/at/all")
