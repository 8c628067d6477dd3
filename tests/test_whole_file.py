"""A file is there as a whole or not at all."""

from pathlib import Path

import pytest

from pipeline.whole_file import whole_file


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
