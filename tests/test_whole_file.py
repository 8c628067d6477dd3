"""A file is there as a whole or not at all."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.whole_file import new_text, whole_file, whole_folder, whole_path, whole_text
from tests.killed import killed_while_writing


def test_it_takes_the_place_of_an_older_one_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("older")
    with whole_file(path) as file:
        file.write(b"newer")
        assert path.read_text() == "older"
    assert path.read_text() == "newer" and list(tmp_path.iterdir()) == [path]


def test_an_error_leaves_the_older_one_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("older")
    with pytest.raises(KeyboardInterrupt), whole_file(path) as file:
        file.write(b"new")
        raise KeyboardInterrupt
    assert path.read_text() == "older" and list(tmp_path.iterdir()) == [path]


def _written_to_a_file(path: Path) -> None:
    with whole_file(path) as file:
        file.write(b"newer")


def _written_to_a_path(path: Path) -> None:
    with whole_path(path) as temporary:
        temporary.write_bytes(b"newer")


@pytest.mark.parametrize("write", [_written_to_a_file, _written_to_a_path])
def test_all_of_it_is_on_the_disk_before_it_takes_the_older_one_s_place(
    write: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[str, int, int]] = []
    sync, replace = os.fsync, Path.replace

    def record(call: str, facts: os.stat_result) -> None:
        calls.append((call, facts.st_ino, facts.st_size))

    def recorded_sync(file: int) -> None:
        record("sync", os.fstat(file))
        sync(file)

    def recorded_replace(path: Path, target: Path) -> Path:
        record("replace", path.stat())
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", recorded_sync)
    monkeypatch.setattr(Path, "replace", recorded_replace)
    path = tmp_path / "file"
    path.write_text("older")
    write(path)
    assert calls == [(call, path.stat().st_ino, len("newer")) for call in ("sync", "replace")]


def test_a_text_keeps_its_line_ends_and_is_utf_8_in_every_locale(tmp_path: Path) -> None:
    path = tmp_path / "file"
    whole_text(path, "π\r\n")
    assert path.read_bytes() == b"\xcf\x80\r\n"


def test_a_new_file_takes_the_place_of_none_whatever_the_disk_can_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_link: Path, _target: Path) -> None:
        raise PermissionError("no hard links here")

    for number in range(2):
        path = tmp_path / f"file{number}"
        new_text(path, "first\r\n")
        with pytest.raises(FileExistsError):
            new_text(path, "second")
        assert path.read_bytes() == b"first\r\n" and len(list(tmp_path.iterdir())) == number + 1
        monkeypatch.setattr(Path, "hardlink_to", refuse)


def test_a_link_of_one_s_own_whose_answer_was_lost_is_no_other_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = Path.hardlink_to

    def link_twice(path: Path, target: Path) -> None:
        link(path, target)
        link(path, target)

    monkeypatch.setattr(Path, "hardlink_to", link_twice)
    new_text(tmp_path / "file", "first")
    assert (tmp_path / "file").read_text() == "first" and list(tmp_path.iterdir()) == [tmp_path / "file"]


def test_somebody_else_may_write_it_under_the_same_suffix(tmp_path: Path) -> None:
    path = tmp_path / "film.mp4"
    with whole_path(path) as temporary:
        assert temporary.suffix == ".mp4"
        temporary.write_bytes(b"film")
        assert not path.exists()
    assert path.read_bytes() == b"film" and list(tmp_path.iterdir()) == [path]


def test_nothing_written_is_an_error_and_leaves_the_older_one(tmp_path: Path) -> None:
    path = tmp_path / "film.mp4"
    path.write_text("older")
    with pytest.raises(FileNotFoundError), whole_path(path):
        pass
    assert path.read_text() == "older" and list(tmp_path.iterdir()) == [path]


def test_what_a_killed_process_leaves_begins_with_the_file_s_name_and_has_no_suffix_of_its(tmp_path: Path) -> None:
    left = killed_while_writing(tmp_path / "file.npz")
    assert left.name.startswith(".file.npz.") and left.suffix != ".npz"


@pytest.mark.parametrize("is_there", [True, False])
def test_a_folder_behind_a_link_takes_the_place_of_what_it_leads_to_and_the_link_stays(
    tmp_path: Path, is_there: bool
) -> None:
    disk, link = tmp_path / "disk", tmp_path / "here" / "agent"
    disk.mkdir()
    link.parent.mkdir()
    link.symlink_to(disk / "agent")
    if is_there:
        (disk / "agent").mkdir()
        (disk / "agent" / "older").touch()
    with whole_folder(link) as inside:
        (inside / "newer").touch()
    assert link.is_symlink() and [path.name for path in link.iterdir()] == ["newer"]
    assert [path.name for path in disk.iterdir()] == ["agent"] and list(link.parent.iterdir()) == [link]
    with pytest.raises(KeyboardInterrupt), whole_folder(link) as inside:
        raise KeyboardInterrupt
    assert [path.name for path in link.iterdir()] == ["newer"] and [path.name for path in disk.iterdir()] == ["agent"]
