"""Rows of a run that is going on."""

from benchmarks.peers.drivers.ours import NewRows, as_progress
from benchmarks.peers.progress import Progress

HEAD = "role,version,total_frames,wall_seconds\n"


def test_each_row_is_told_once_and_only_when_it_is_whole() -> None:
    rows = NewRows()
    first, second = "bundle-0,100,3200,8.5\n", "bundle-1,150,4000,9.0\n"
    assert rows.of("") == [] and rows.of(HEAD) == []
    assert [row["role"] for row in rows.of(HEAD + first + second[:10])] == ["bundle-0"]
    assert [row["role"] for row in rows.of(HEAD + first + second)] == ["bundle-1"]
    assert rows.of(HEAD + first + second) == []


def test_steps_are_those_of_the_role_alone() -> None:
    row = {"role": "bundle-0", "version": "100", "total_frames": "3200", "wall_seconds": "8.5"}
    assert as_progress(row, 2) == Progress(8.5, 400, 100, "bundle-0")
