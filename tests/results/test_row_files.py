"""Rows of one file."""

from pathlib import Path

import pytest

from pipeline.results.row_files import read_rows
from pipeline.rows import EpisodeRow
from tests.results.run_folders import episode, write_run


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_run(tmp_path, [episode(float(score)) for score in range(50)]) / "episodes.csv"


def test_of_the_end_of_a_file_only_whole_lines_count_wherever_it_begins(path: Path) -> None:
    header, *lines = path.read_bytes().splitlines(keepends=True)
    size = path.stat().st_size
    for max_bytes in range(1, size + 10):
        behind = max(size - max_bytes, 0)
        ends = [len(header) + len(b"".join(lines[:number])) for number in range(len(lines))]
        # A line that begins where the end does cannot be told from the rest of one.
        expected = [number for number, begin in enumerate(ends) if begin > behind or behind == 0]
        assert read_rows(path, [EpisodeRow], max_bytes=max_bytes).frame["score"].tolist() == expected


def test_what_is_before_the_end_does_not_matter_and_a_last_line_that_was_cut_off_is_named(path: Path) -> None:
    header, *lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([header, b"\xff" * 1000, b"\n", *lines, lines[0][:9]]))
    read = read_rows(path, [EpisodeRow], max_bytes=10 * len(lines[-1]))
    assert read.frame["score"].tolist()[-1] == 49.0 and "cut off" in read.problems[0]
