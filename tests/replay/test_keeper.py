"""A replay that is saved beside its owner's work: found again, whatever ended its owner, and never half of it."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pipeline.errors import ConfigError
from pipeline.replay import frame_files
from pipeline.replay import keeper as keeper_module
from pipeline.replay.frame_files import FrameFiles
from pipeline.replay.keeper import KeptReplays, ReplayKeeper, kept
from pipeline.replay.memory import ReplayMemory
from pipeline.replay.rate_limit import RateLimit
from pipeline.replay.shard import ReplayShard
from pipeline.whole_file import whole_arrays
from tests.clocks import Clock
from tests.replay.chunks import NUM_LANES, STACK, chunk_of
from tests.replay.memories import make_replay
from tests.replay.slow_replay import scripted_steps

GREY = (2, 3)


def play(replay: ReplayMemory, num_steps: int, writer: int = 0) -> None:
    for step in scripted_steps(np.random.default_rng(replay.frames[writer].end), num_steps, [6, 9], GREY):
        replay.add(step, writer)


def empty(capacity: int = 80, num_writers: int = 1) -> ReplayMemory:
    return make_replay(capacity, num_writers=num_writers, num_lanes=2, frame_shape=GREY)


def keeper_of(folder: Path, start: int, make: Callable[[], ReplayMemory] = empty) -> ReplayKeeper:
    return ReplayKeeper(make, folder, start, every_seconds=60.0)


def assert_equal(one: ReplayMemory, other: ReplayMemory) -> None:
    one.check_valid()
    np.testing.assert_equal(one.state(), other.state())
    for mine, others in zip(one.frames, other.frames, strict=True):
        assert mine.read(mine.start, mine.end).tobytes() == others.read(others.start, others.end).tobytes()


@pytest.mark.parametrize("num_steps", [1, 20, 90])
def test_the_next_start_of_the_same_owner_goes_on_with_what_was_saved(tmp_path: Path, num_steps: int) -> None:
    first = keeper_of(tmp_path, 1)
    play(first.memory, num_steps)
    first.close()
    second = keeper_of(tmp_path, 2)
    assert_equal(second.memory, first.memory)
    play(second.memory, 30)
    second.close()
    assert [path.name for path in tmp_path.iterdir()] == ["000000000002"]
    assert_equal(keeper_of(tmp_path, 3).memory, second.memory)


def test_the_next_start_draws_from_its_own_stream_and_not_what_was_drawn_before(tmp_path: Path) -> None:
    def seeded(seed: int) -> Callable[[], ReplayMemory]:
        return lambda: make_replay(80, num_lanes=2, frame_shape=GREY, seed=seed)

    first = keeper_of(tmp_path, 1, seeded(1))
    play(first.memory, 30)
    first.close()
    drawn = [first.memory.sample().key.tolist() for _ in range(3)]
    second = keeper_of(tmp_path, 2, seeded(2)).memory
    assert [second.sample().key.tolist() for _ in range(3)] != drawn
    fresh = seeded(2)()
    play(fresh, 30)
    np.testing.assert_equal(keeper_of(tmp_path, 3, seeded(2)).memory.state(), fresh.state())


def test_all_writers_of_a_shard_are_saved(tmp_path: Path) -> None:
    def make() -> ReplayMemory:
        return empty(num_writers=2)

    first = keeper_of(tmp_path, 1, make)
    play(first.memory, 7, writer=0)
    play(first.memory, 25, writer=1)
    first.close()
    assert_equal(keeper_of(tmp_path, 2, make).memory, first.memory)


def test_no_writer_waits_until_all_frames_of_another_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Files of ten steps of two lanes; each writer holds 20.
    monkeypatch.setattr(keeper_module, "FrameFiles", lambda folder: FrameFiles(folder, stretch_bytes=10 * 2 * 2 * 3))
    written: list[str] = []

    def write(path: Path, arrays: dict[str, np.ndarray]) -> None:
        written.append(path.parent.name)
        whole_arrays(path, arrays)

    monkeypatch.setattr(frame_files, "whole_arrays", write)
    first = keeper_of(tmp_path, 1, lambda: empty(num_writers=2))
    for writer in range(2):
        play(first.memory, 30, writer)
    first.close()
    assert written == ["0", "1"] * 2
    assert_equal(keeper_of(tmp_path, 2, lambda: empty(num_writers=2)).memory, first.memory)


def test_it_is_saved_when_it_is_time_and_not_before(tmp_path: Path) -> None:
    clock = Clock()
    keeper = ReplayKeeper(empty, tmp_path, 1, every_seconds=60.0, clock=clock.monotonic)
    play(keeper.memory, 10)
    clock.now += 59.0
    keeper.save_if_due()
    assert not list(tmp_path.iterdir())
    clock.now += 1.0
    keeper.save_if_due()
    play(keeper.memory, 1)
    keeper.save_if_due()
    assert keeper._writing is not None
    keeper._writing.join()
    assert keeper_of(tmp_path, 2).memory.frames[0].end == 10


def test_who_was_given_up_and_writes_on_spoils_nothing(tmp_path: Path) -> None:
    ghost = keeper_of(tmp_path, 1)
    play(ghost.memory, 20)
    ghost.close()
    owner = keeper_of(tmp_path, 2)
    play(owner.memory, 15)
    owner.close()
    play(ghost.memory, 40)
    ghost.close()
    assert_equal(keeper_of(tmp_path, 3).memory, owner.memory)


def test_a_copy_beside_the_saves_is_neither_taken_nor_deleted(tmp_path: Path) -> None:
    first = keeper_of(tmp_path, 1)
    play(first.memory, 20)
    first.close()
    copy = shutil.copytree(tmp_path / "000000000001", tmp_path / "000000000001_good")
    second = keeper_of(tmp_path, 2)
    play(second.memory, 5)
    second.close()
    assert_equal(keeper_of(tmp_path, 3).memory, second.memory)
    assert copy.is_dir() and not (tmp_path / "000000000001").exists()


@pytest.mark.parametrize("what", ["state.npz", "frames/0/000000000000.npz"])
@pytest.mark.parametrize("is_missing", [True, False])
def test_what_is_damaged_is_passed_over_with_a_sentence(
    tmp_path: Path, what: str, is_missing: bool, caplog: pytest.LogCaptureFixture
) -> None:
    older, newer = keeper_of(tmp_path, 1), keeper_of(tmp_path, 2)
    for keeper, num_steps in ((newer, 9), (older, 20)):
        play(keeper.memory, num_steps)
        keeper.close()
    damaged = tmp_path / "000000000002" / what
    if is_missing:
        damaged.unlink()
    else:
        damaged.write_bytes(damaged.read_bytes()[:-30])
    assert_equal(keeper_of(tmp_path, 3).memory, older.memory)
    is_no_save = is_missing and what == "state.npz"
    assert is_no_save or (str(damaged) in caplog.text and "cannot be read" in caplog.text)


def test_a_replay_of_another_shape_begins_empty(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    first = keeper_of(tmp_path, 1)
    play(first.memory, 20)
    first.close()
    assert keeper_of(tmp_path, 2, lambda: empty(capacity=60)).memory.num_transitions() == 0
    assert "resume with the replay and the lanes" in caplog.text


def test_a_disk_that_refuses_it_is_told_once_and_ends_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    keeper = keeper_of(tmp_path / "gone", 1)
    (tmp_path / "gone").write_text("a file where a folder should be")
    for _ in range(2):
        play(keeper.memory, 100)
        keeper.close()
    assert caplog.text.count("is saved no more") == 1


def test_a_run_folder_that_was_deleted_does_not_come_back(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    checkpoints = tmp_path / "run" / "checkpoints"
    checkpoints.mkdir(parents=True)
    keeper = keeper_of(checkpoints / "replay" / "bundle-0", 1)
    play(keeper.memory, 20)
    shutil.rmtree(tmp_path / "run")
    keeper.close()
    assert not (tmp_path / "run").exists()
    assert "checkpoints is there no more" in caplog.text


def test_a_host_that_does_not_see_the_folder_says_what_to_do(tmp_path: Path) -> None:
    seen = KeptReplays(str(tmp_path / "checkpoints" / "replay"), 60.0)
    with pytest.raises(ConfigError, match=r"does not see .*checkpoints: results_dir has to lie on a disk"):
        kept(empty, seen, "bundle-0", 1)
    (tmp_path / "checkpoints").mkdir()
    memory, keeper = kept(empty, seen, "bundle-0", 1)
    assert keeper is not None and keeper.memory is memory
    assert kept(empty, None, "bundle-0", 1)[1] is None


def test_a_shard_of_a_global_replay_has_its_memory_saved_when_steps_come(tmp_path: Path) -> None:
    def chunk_memory() -> ReplayMemory:
        return make_replay(64, num_lanes=NUM_LANES, frame_shape=(6, 5), stack=STACK)

    keeper = ReplayKeeper(chunk_memory, tmp_path, 1, every_seconds=0.0)
    shard = ReplayShard(keeper.memory, RateLimit(1, None, 1), keeper)
    assert shard.add(chunk_of(range(5))).held_back == ""
    assert keeper._writing is not None
    keeper._writing.join()
    assert keeper_of(tmp_path, 2, chunk_memory).memory.frames[0].end == 5
