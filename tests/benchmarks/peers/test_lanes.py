"""Cores for rounds that are measured at once."""

import psutil
import pytest

from benchmarks.peers.__main__ import rotated
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


def test_a_lane_has_cores_that_this_process_may_use() -> None:
    (lane,) = lanes(1, 1)
    assert set(lane) <= set(psutil.Process().cpu_affinity())


def test_a_lane_begins_with_another_contender() -> None:
    assert [rotated("abc", by) for by in (0, 1, 4)] == [["a", "b", "c"], ["b", "c", "a"], ["b", "c", "a"]]
