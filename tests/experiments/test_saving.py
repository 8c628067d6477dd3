"""When checkpoints are taken, and what becomes of one that cannot be. Real ones: `test_run`, `test_train_command`."""

import threading
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from pipeline.config.course import CheckpointConfig
from pipeline.errors import CallTimeoutError, UnreachableError
from pipeline.experiments import saving
from pipeline.experiments.files import checkpoint
from pipeline.experiments.saving import Saver
from pipeline.param_server.snapshot import ServerSnapshot, first_snapshot
from pipeline.topologies.fleet import Fleet
from tests.clocks import Clock


class SlowFleet:
    """Its server answers unless `error` is set."""

    error: Exception | None = None

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.go_on.set()
        self.num_asked = 0

    def snapshot(self) -> ServerSnapshot:
        self.num_asked += 1
        self.go_on.wait(60)
        if self.error is not None:
            raise self.error
        return first_snapshot(np.zeros(7, np.float32))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(saving, "time", clock)
    return clock


def look(saver: Saver, fleet: Fleet) -> None:
    """Once, and until what was begun has been heard of."""
    saver.save_if_due(fleet, {}, 1)
    while saver.is_taking:
        saver.save_if_due(fleet, {}, 1)


def test_checkpoints_come_at_their_time_and_one_that_fails_is_tried_again_soon(tmp_path: Path, clock: Clock) -> None:
    said: list[str] = []
    slow = SlowFleet()
    saver, fleet = Saver(tmp_path, CheckpointConfig(every_minutes=10.0, keep=2), said.append), cast(Fleet, slow)
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
    saver, fleet = Saver(tmp_path, CheckpointConfig(every_minutes=1.0, keep=2), lambda _: None), cast(Fleet, slow)
    slow.go_on.clear()
    clock.now = 60.0
    for _ in range(100):
        saver.save_if_due(fleet, {}, 1)
    assert saver.is_taking and slow.num_asked == 1
    slow.go_on.set()
    saver.settle()
    assert checkpoint.any_in(tmp_path), "and nothing comes after it was settled"


def test_a_run_does_not_go_on_for_long_without_checkpoints(tmp_path: Path, clock: Clock) -> None:
    slow = SlowFleet()
    slow.error = UnreachableError("shard-0 cannot be reached")
    saver, fleet = Saver(tmp_path, CheckpointConfig(every_minutes=1.0, keep=2), lambda _: None), cast(Fleet, slow)
    for clock.now in (60.0, 120.0):
        look(saver, fleet)
    clock.now = 180.0
    with pytest.raises(UnreachableError):
        look(saver, fleet)


def test_of_a_fleet_that_failed_what_is_left_is_saved_if_it_answers(tmp_path: Path, clock: Clock) -> None:
    slow = SlowFleet()
    saver, fleet = Saver(tmp_path, CheckpointConfig(every_minutes=1.0, keep=2), lambda _: None), cast(Fleet, slow)
    slow.error = UnreachableError("shard-0 cannot be reached")
    saver.save_what_is_left(fleet, {}, 1)
    assert not checkpoint.any_in(tmp_path)
    slow.error = None
    saver.save_what_is_left(fleet, {}, 1)
    assert checkpoint.any_in(tmp_path)
    saver.save_what_is_left(fleet, {}, 2)
    assert checkpoint.load_newest(tmp_path).generation == 1, "what was saved in order stays"
