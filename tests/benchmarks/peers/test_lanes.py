"""Cores for rounds that are measured at once."""

from pathlib import Path

import psutil
import pytest

from benchmarks.peers.__main__ import main, rotated
from benchmarks.peers.lanes import apart, lanes, split


def test_processors_that_share_a_core_come_after_one_of_each_core() -> None:
    assert apart({0: "0-0", 1: "0-0", 2: "0-1", 3: "0-1", 4: "1-0"}) == [0, 2, 4, 1, 3]
    assert apart({0: "0-0", 1: "0-1", 2: "0-0", 3: "0-1"}) == [0, 1, 2, 3]


def test_each_round_has_cores_of_its_own() -> None:
    assert split([0, 2, 4, 6, 1, 3], 2, 2) == [[0, 2], [4, 6]]


def test_one_round_takes_what_there_is_and_more_are_refused() -> None:
    assert split([0], 1, 2) == [[0]]
    with pytest.raises(SystemExit, match="--at-once 2 wants 4 cores, 2 for each round; there are 3: measure fewer"):
        split([0, 1, 2], 2, 2)
    with pytest.raises(SystemExit, match="--at-once 0 --cores 2: both are at least 1"):
        split([0, 1, 2], 0, 2)


def test_too_many_rounds_at_once_are_refused_before_anything_is_installed(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="measure fewer rounds at once"):
        main(["--at-once", "10000", "--only", "sb3_a2c", "--environments", str(tmp_path)])
    assert list(tmp_path.iterdir()) == []


def test_a_system_that_keeps_no_process_on_a_core_measures_one_round_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(psutil.Process, "cpu_affinity")
    assert lanes(1, 2) == [range(2)]
    with pytest.raises(SystemExit, match="--at-once 2: this system keeps no process on cores of its own"):
        lanes(2, 2)


def test_a_lane_has_cores_that_this_process_may_use() -> None:
    (lane,) = lanes(1, 1)
    assert set(lane) <= set(psutil.Process().cpu_affinity())


def test_a_lane_begins_with_another_contender() -> None:
    assert [rotated("abc", by) for by in (0, 1, 4)] == [["a", "b", "c"], ["b", "c", "a"], ["b", "c", "a"]]
