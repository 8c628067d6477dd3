"""When checkpoints are taken, and what becomes of one that cannot be. Real ones: `test_run`, `test_train_command`."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from pipeline.config.course import CheckpointConfig
from pipeline.errors import CallTimeoutError, CheckpointError, UnreachableError
from pipeline.experiments import saving
from pipeline.experiments.files import checkpoint
from pipeline.experiments.files.checkpoint import Fit
from pipeline.experiments.saving import Saver
from pipeline.param_server.snapshot import ServerSnapshot, first_snapshot
from pipeline.topologies.fleet import Fleet
from tests.clocks import Clock


class SlowFleet:
    """Its server answers unless `error` is set."""

    error: Exception | None = None
    version = 0
    params = np.zeros(7, np.float32)
    has_servers = True

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.go_on.set()
        self.num_asked = 0

    def snapshot(self) -> ServerSnapshot:
        self.num_asked += 1
        self.go_on.wait(60)
        if self.error is not None:
            raise self.error
        return first_snapshot(self.params)._replace(versions=(self.version,))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(saving, "time", clock)
    return clock


def files_alone(every_minutes: float) -> CheckpointConfig:
    """Checkpoints, and nothing in memory."""
    return CheckpointConfig(every_minutes, keep=2, memory_seconds=None, replay=False)


def look(saver: Saver, fleet: Fleet) -> None:
    """Once, and until what was begun has been heard of."""
    saver.save_if_due(fleet, {}, 1)
    while saver._taking.is_under_way:
        saver.save_if_due(fleet, {}, 1)


def test_checkpoints_come_at_their_time_and_one_that_fails_is_tried_again_soon(tmp_path: Path, clock: Clock) -> None:
    said: list[str] = []
    slow = SlowFleet()
    saver, fleet = (
        Saver(tmp_path, files_alone(10.0), said.append),
        cast(Fleet, slow),
    )
    clock.now = 599.0
    look(saver, fleet)
    assert not checkpoint.any_in(tmp_path)
    clock.now, slow.error = 600.0, CallTimeoutError("snapshot of shard-0 did not answer within 60 s")
    look(saver, fleet)
    assert said == [
        "no checkpoint could be taken, it is tried again in 60 s: snapshot of shard-0 did not answer within 60 s"
    ]
    clock.now, slow.error = 659.0, None
    look(saver, fleet)
    assert not checkpoint.any_in(tmp_path)
    clock.now = 660.0
    look(saver, fleet)
    assert checkpoint.any_in(tmp_path) and len(said) == 1


def test_a_shard_that_stands_still_holds_up_nobody_who_looks_for_a_checkpoint(tmp_path: Path, clock: Clock) -> None:
    slow = SlowFleet()
    saver, fleet = (
        Saver(tmp_path, files_alone(1.0), lambda _: None),
        cast(Fleet, slow),
    )
    slow.go_on.clear()
    clock.now = 60.0
    for _ in range(100):
        saver.save_if_due(fleet, {}, 1)
    assert saver._taking.is_under_way and slow.num_asked == 1
    slow.go_on.set()
    saver.settle()
    assert checkpoint.any_in(tmp_path), "and nothing comes after it was settled"


def test_a_run_does_not_go_on_for_long_without_checkpoints(tmp_path: Path, clock: Clock) -> None:
    slow = SlowFleet()
    slow.error = UnreachableError("shard-0 cannot be reached")
    saver, fleet = (
        Saver(tmp_path, files_alone(1.0), lambda _: None),
        cast(Fleet, slow),
    )
    for clock.now in (60.0, 120.0):
        look(saver, fleet)
    clock.now = 180.0
    with pytest.raises(UnreachableError):
        look(saver, fleet)


def test_of_a_fleet_that_failed_what_is_left_is_saved_if_it_answers(tmp_path: Path, clock: Clock) -> None:
    slow = SlowFleet()
    saver, fleet = (
        Saver(tmp_path, files_alone(1.0), lambda _: None),
        cast(Fleet, slow),
    )
    slow.error = UnreachableError("shard-0 cannot be reached")
    saver.save_what_is_left(fleet, {}, 1)
    assert not checkpoint.any_in(tmp_path)
    slow.error = None
    saver.save_what_is_left(fleet, {}, 1)
    assert checkpoint.any_in(tmp_path)
    saver.save_what_is_left(fleet, {}, 2)
    assert checkpoint.load_newest(tmp_path).generation == 1, "what was saved in order stays"


FIT = Fit(7, ())


def in_memory(folder: Path, say: Callable[[str], None] = lambda _: None) -> tuple[Saver, SlowFleet]:
    """One that takes a snapshot each ten seconds, and a checkpoint when an hour is over."""
    return Saver(
        folder, CheckpointConfig(every_minutes=60.0, keep=2, memory_seconds=10.0, replay=False), say
    ), SlowFleet()


def test_between_two_checkpoints_the_command_keeps_the_newest_snapshot_and_goes_back_to_it(
    tmp_path: Path, clock: Clock
) -> None:
    said: list[str] = []
    saver, slow = in_memory(tmp_path, said.append)
    fleet = cast(Fleet, slow)
    saver.save(fleet, {}, 1)
    for clock.now, slow.version in ((9.0, 1), (10.0, 2), (19.0, 3), (20.0, 4), (29.0, 5)):
        look(saver, fleet)
    assert (slow.num_asked, checkpoint.newest_version(tmp_path), said) == (3, 0, []), "nothing is written meanwhile"
    assert saver.newest(FIT).server.version == 4
    assert checkpoint.load_newest(tmp_path).server.version == 4, "whoever resumes has it, too"
    assert said == ["saved as the command had it in memory, at update 4"]


def test_a_snapshot_that_fails_or_is_no_number_is_passed_over_in_silence(tmp_path: Path, clock: Clock) -> None:
    said: list[str] = []
    saver, slow = in_memory(tmp_path, said.append)
    fleet = cast(Fleet, slow)
    clock.now, slow.version = 10.0, 1
    look(saver, fleet)
    clock.now, slow.error = 20.0, UnreachableError("shard-0 cannot be reached")
    look(saver, fleet)
    clock.now, slow.error, slow.version, slow.params = 30.0, None, 2, np.full(7, np.nan, np.float32)
    look(saver, fleet)
    assert said == [] and slow.num_asked == 3
    assert saver.newest(FIT).server.version == 1


def test_a_newer_file_counts_more_than_memory_and_without_either_there_is_an_error(
    tmp_path: Path, clock: Clock
) -> None:
    saver, slow = in_memory(tmp_path / "a")
    fleet = cast(Fleet, slow)
    with pytest.raises(CheckpointError, match="no readable checkpoint"):
        saver.newest(FIT)
    clock.now, slow.version = 10.0, 1
    look(saver, fleet)
    slow.version = 7
    saver.save(fleet, {}, 1)
    assert saver.newest(FIT).server.version == 7
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["000000000007.npz"]


def test_of_a_fleet_that_cannot_be_asked_memory_is_saved(tmp_path: Path, clock: Clock) -> None:
    said: list[str] = []
    saver, slow = in_memory(tmp_path, said.append)
    fleet = cast(Fleet, slow)
    clock.now, slow.version = 10.0, 3
    look(saver, fleet)
    slow.error = UnreachableError("shard-0 cannot be reached")
    saver.save_what_is_left(fleet, {}, 1)
    assert said == [
        "what was learned last could not be saved: shard-0 cannot be reached",
        "saved as the command had it in memory, at update 3",
    ]
    assert checkpoint.load_newest(tmp_path).server.version == 3


def test_of_a_fleet_whose_servers_were_never_there_nothing_is_saved_or_said(tmp_path: Path) -> None:
    said: list[str] = []
    saver, slow = in_memory(tmp_path, said.append)
    slow.has_servers = False
    saver.save_what_is_left(cast(Fleet, slow), {}, 1)
    assert said == [] and slow.num_asked == 0 and list(tmp_path.iterdir()) == []


def test_a_disk_that_refuses_what_was_in_memory_is_said_and_it_is_gone_on_from_all_the_same(
    tmp_path: Path, clock: Clock
) -> None:
    said: list[str] = []
    saver, slow = in_memory(tmp_path / "gone" / "checkpoints", said.append)
    clock.now, slow.version = 10.0, 3
    look(saver, cast(Fleet, slow))
    assert saver.newest(FIT).server.version == 3
    (line,) = said
    assert line.startswith("what was kept in memory could not be saved: ")
