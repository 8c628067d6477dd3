"""Frames in files: only new ones are written, older checkpoints stay whole, and what is damaged is named."""

import errno
from pathlib import Path

import numpy as np
import pytest

from pipeline.errors import CheckpointError
from pipeline.replay.frame_files import FrameFiles
from pipeline.replay.frames import FrameReader
from pipeline.replay.memory import ReplayMemory
from tests.replay.memories import make_replay
from tests.replay.slow_replay import scripted_steps

GREY = (2, 3)
STRETCH = 8
"""Steps of a file: 12 bytes each."""


def play(replay: ReplayMemory, num_steps: int) -> None:
    for step in scripted_steps(np.random.default_rng(replay.frames[0].end), num_steps, [6, 9], GREY):
        replay.add(step)


def replay_of(capacity: int = 80) -> ReplayMemory:
    return make_replay(capacity, num_lanes=2, frame_shape=GREY)


def files(folder: Path) -> FrameFiles:
    return FrameFiles(folder, stretch_bytes=STRETCH * 12)


def save(saved: FrameFiles, replay: ReplayMemory) -> None:
    reader = replay.frames[0]
    saved.write(reader, saved.begin(reader))
    reader.done()


def all_frames(reader: FrameReader) -> bytes:
    return reader.read(reader.start, reader.end).tobytes()


def assert_loads(folder: Path, replay: ReplayMemory) -> FrameFiles:
    again, loaded = replay_of(), files(folder)
    again.restore(replay.state())
    loaded.load(again.frames[0])
    assert all_frames(again.frames[0]) == all_frames(replay.frames[0])
    return loaded


def test_each_checkpoint_writes_what_is_new_and_loads_whole(tmp_path: Path) -> None:
    replay, saved = replay_of(), files(tmp_path)
    for num_steps in (5, 3, 1, 20, 30, 39):
        play(replay, num_steps)
        times = {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("*.npz")}
        whole = {f"{start:012d}.npz" for start in range(0, replay.frames[0].end - num_steps - STRETCH + 1, STRETCH)}
        save(saved, replay)
        assert {name for name in whole if (tmp_path / name).stat().st_mtime_ns != times[name]} == set()
        assert_loads(tmp_path, replay)


def test_a_run_that_goes_on_from_files_writes_on_behind_them(tmp_path: Path) -> None:
    replay, saved = replay_of(), files(tmp_path)
    play(replay, 20)
    save(saved, replay)
    loaded = assert_loads(tmp_path, replay)
    play(replay, 9)
    save(loaded, replay)
    assert_loads(tmp_path, replay)


def test_an_older_checkpoint_stays_whole_when_the_replay_has_turned_over_since(tmp_path: Path) -> None:
    replay, saved = replay_of(), files(tmp_path)
    play(replay, 20)
    save(saved, replay)
    older = replay_of()
    older.restore(replay.state())
    files(tmp_path).load(older.frames[0])
    play(replay, 41)  # steps 0 to 20 are gone, and the stretch of 16 to 23 is written again
    save(saved, replay)
    assert_loads(tmp_path, replay)
    assert_loads(tmp_path, older)


def test_files_whose_steps_nobody_needs_are_deleted(tmp_path: Path) -> None:
    replay, saved = replay_of(), files(tmp_path)
    play(replay, 60)
    save(saved, replay)
    saved.delete_before(replay.frames[0].start, replay.frames[0])
    assert min(int(path.stem) for path in tmp_path.glob("*.npz")) == 16
    assert_loads(tmp_path, replay)


def test_files_that_cannot_be_deleted_are_in_nobody_s_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replay, saved = replay_of(), files(tmp_path)
    play(replay, 60)
    save(saved, replay)

    def refuse(path: Path, **_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted", str(path))

    monkeypatch.setattr(Path, "unlink", refuse)
    saved.delete_before(replay.frames[0].start, replay.frames[0])
    assert_loads(tmp_path, replay)


def test_a_damaged_or_missing_file_is_named(tmp_path: Path) -> None:
    replay, saved = replay_of(), files(tmp_path)
    play(replay, 20)
    save(saved, replay)
    (tmp_path / "000000000008.npz").write_bytes(b"PK and so on")
    with pytest.raises(CheckpointError, match=r"000000000008\.npz cannot be read"):
        assert_loads(tmp_path, replay)
    (tmp_path / "000000000008.npz").unlink()
    with pytest.raises(CheckpointError, match=r"000000000008\.npz cannot be read"):
        assert_loads(tmp_path, replay)
