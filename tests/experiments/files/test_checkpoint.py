"""Checkpoints: written whole, read without trust, the newest that can be read wins."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from pipeline.errors import CheckpointError
from pipeline.experiments.files import checkpoint
from pipeline.experiments.files.checkpoint import Checkpoint
from pipeline.optimizers.config import AdamConfig
from pipeline.param_server.layout import ParamLayout
from pipeline.param_server.shard import ParameterShard
from pipeline.param_server.snapshot import ServerSnapshot, first_snapshot, merge_snapshots, split_snapshot
from pipeline.roles.progress import RoleProgress
from tests.param_server.configs import server_config
from tests.param_server.conftest import push_of

ADAM = AdamConfig(kind="adam", learning_rate=0.1, learning_rate_changes=(), beta1=0.9, beta2=0.999, epsilon=1e-8)
PROGRESS = {
    "bundle-0": RoleProgress(100, 25, 7, 0.5, 90, 1.25),
    "bundle-1": RoleProgress(2**40, 30, 6, 0.25, 80, 1.5),
}


def server(num_updates: int, num_shards: int = 1, start: ServerSnapshot | None = None) -> ServerSnapshot:
    """A server of 7 parameters after this many updates more."""
    start = start or first_snapshot(np.arange(7, dtype=np.float32))
    config = server_config(num_shards=num_shards, target_period_updates=2)
    layout = ParamLayout(7, num_shards)
    shards = [ParameterShard(part, ADAM, config, 1) for part in split_snapshot(start, layout)]
    for number in range(1, num_updates + 1):
        for shard, part in zip(shards, layout.cut(np.full(7, number, np.float32)), strict=True):
            version = shard.snapshot().version
            assert shard.push(push_of(part, sequence=number, computed_at=version)).admitted
    return merge_snapshots([shard.snapshot() for shard in shards])


def assert_same(one: ServerSnapshot, other: ServerSnapshot) -> None:
    np.testing.assert_equal(one._asdict(), other._asdict())


def test_what_was_saved_is_loaded_bit_for_bit(tmp_path: Path) -> None:
    saved = Checkpoint(server(5), PROGRESS, generation=3)
    path = checkpoint.save(tmp_path / "checkpoints", saved, keep=2)
    assert path.name == "000000000005.npz"
    loaded = checkpoint.load(path)
    assert_same(loaded.server, saved.server)
    assert loaded.progress == PROGRESS and loaded.generation == 3
    assert loaded.num_steps == 100 + 2**40 and loaded.wall_seconds == 1.5
    assert [path.name for path in path.parent.iterdir()] == ["000000000005.npz"]


def test_a_copy_that_somebody_keeps_beside_them_is_neither_read_nor_deleted(tmp_path: Path) -> None:
    first = checkpoint.save(tmp_path, Checkpoint(server(1), {}, 1), keep=2)
    copy = shutil.copy(first, tmp_path / "000000000001_good.npz")
    for num_updates in (2, 3, 4):
        checkpoint.save(tmp_path, Checkpoint(server(num_updates), {}, 1), keep=2)
    assert Path(copy).exists()
    assert checkpoint.newest_version(tmp_path) == checkpoint.load_newest(tmp_path).server.version == 4
    assert [path.stem for path in checkpoint.newer_than(tmp_path, 0)] == ["000000000003", "000000000004"]


def test_only_the_newest_are_kept(tmp_path: Path) -> None:
    for num_updates in (1, 2, 10, 9):
        checkpoint.save(tmp_path, Checkpoint(server(num_updates), {}, 1), keep=2)
    assert [path.stem for path in sorted(tmp_path.iterdir())] == ["000000000009", "000000000010"]


def test_an_old_one_that_cannot_be_removed_ends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(1, "Operation not permitted", str(path))

    with monkeypatch.context() as immutable:
        immutable.setattr(Path, "unlink", refuse)
        for num_updates in (1, 2, 3):
            checkpoint.save(tmp_path, Checkpoint(server(num_updates), {}, 1), keep=1)
    assert len(list(tmp_path.iterdir())) == 3
    checkpoint.save(tmp_path, Checkpoint(server(4), {}, 1), keep=1)
    assert [path.stem for path in tmp_path.iterdir()] == ["000000000004"]


def test_the_newest_that_can_be_read_wins(tmp_path: Path) -> None:
    for num_updates in (1, 2, 3):
        checkpoint.save(tmp_path, Checkpoint(server(num_updates), {}, 1), keep=3)
    newest, second = tmp_path / "000000000003.npz", tmp_path / "000000000002.npz"
    newest.write_bytes(newest.read_bytes()[:-200])
    assert_same(checkpoint.load_newest(tmp_path).server, server(2))
    second.write_bytes(b"")
    assert_same(checkpoint.load_newest(tmp_path).server, server(1))


def test_a_checkpoint_whose_bytes_were_flipped_is_damaged(tmp_path: Path) -> None:
    path = checkpoint.save(tmp_path, Checkpoint(server(1), {}, 1), keep=1)
    content = bytearray(path.read_bytes())
    at = content.index(server(1).params.tobytes())
    content[at] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"000000000001\.npz cannot be read"):
        checkpoint.load(path)


def test_without_any_readable_checkpoint_each_damaged_one_is_named(tmp_path: Path) -> None:
    for name in ("000000000001.npz", "000000000002.npz"):
        (tmp_path / name).write_bytes(b"damaged")
    assert checkpoint.any_in(tmp_path)
    with pytest.raises(CheckpointError, match=r"(?s)no readable checkpoint in .*0002.npz .*0001.npz "):
        checkpoint.load_newest(tmp_path)
    assert not checkpoint.any_in(tmp_path / "nowhere")
    with pytest.raises(CheckpointError, match="no readable checkpoint"):
        checkpoint.load_newest(tmp_path / "nowhere")


def test_half_a_checkpoint_under_its_temporary_name_is_none(tmp_path: Path) -> None:
    (tmp_path / ".000000000009.npz.123").write_bytes(b"half")
    assert not checkpoint.any_in(tmp_path)


def test_a_checkpoint_goes_on_with_another_number_of_shards(tmp_path: Path) -> None:
    checkpoint.save(tmp_path, Checkpoint(server(4, num_shards=3), {}, 1), keep=1)
    loaded = checkpoint.load_newest(tmp_path).server
    gone_on = server(3, num_shards=2, start=loaded)
    in_one = server(3, start=server(4))
    assert gone_on.version == in_one.version == 7
    np.testing.assert_array_equal(gone_on.params, in_one.params)
    np.testing.assert_equal(gone_on.slots, in_one.slots)


class _Bomb:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (_explode, ("unpickled",))


def _explode(text: str) -> None:
    raise AssertionError(text)


def test_a_file_with_pickled_objects_is_refused_without_unpickling_them(tmp_path: Path) -> None:
    path = tmp_path / "000000000001.npz"
    meta = {"format": 1, "versions": [1], "target_versions": [0], "generation": 1, "progress": {}}
    arrays = {
        "params": np.array([_Bomb()], dtype=object),
        "target": np.zeros(1, np.float32),
        "meta": np.frombuffer(json.dumps(meta).encode(), np.uint8),
    }
    np.savez(path, **arrays)  # type: ignore[arg-type]  # the stub takes keywords for allow_pickle
    with pytest.raises(CheckpointError, match="holds Python objects, which are never unpickled"):
        checkpoint.load(path)


def test_another_format_is_refused_with_both_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "FORMAT", 7)
    path = checkpoint.save(tmp_path, Checkpoint(server(1), {}, 1), keep=1)
    monkeypatch.undo()
    with pytest.raises(CheckpointError, match="has format 7, this version of pipeline reads 1"):
        checkpoint.load(path)


FIT = checkpoint.Fit(7, ("mean", "mean_square"))


def damaged_in(folder: Path, num_updates: int, **arrays: np.ndarray) -> Path:
    """A checkpoint with other arrays, every checksum right."""
    path = checkpoint.save(folder, Checkpoint(server(num_updates), PROGRESS, 1), keep=9)
    with np.load(path) as archive:
        changed = dict(archive) | arrays
    np.savez(path, **changed)
    return path


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("params", np.zeros(7), "needed 7 float32"),
        ("params", np.full(7, np.nan, np.float32), "params holds values that are not finite"),
        ("target", np.zeros(6, np.float32), "target holds 6 float32, needed 7 float32 as in params"),
        ("slot.mean", np.zeros(6, np.float32), "slot.mean holds 6 float32"),
        ("slot.mean", np.full(7, np.inf, np.float32), "slot.mean holds values that are not finite"),
        ("more", np.zeros(7, np.float32), "more is no array of a checkpoint"),
        ("params", np.zeros((7, 1), np.float32), "only one dimension is allowed"),
    ],
)
def test_arrays_that_no_server_could_use_are_found_out_and_the_one_before_is_taken(
    tmp_path: Path, name: str, array: np.ndarray, message: str
) -> None:
    checkpoint.save(tmp_path, Checkpoint(server(1), PROGRESS, 1), keep=9)
    path = damaged_in(tmp_path, 2, **{name: array})
    with pytest.raises(CheckpointError, match=rf"000000000002\.npz cannot be read: .*{message}"):
        checkpoint.load(path)
    said: list[str] = []
    assert_same(checkpoint.load_newest(tmp_path, FIT, said.append).server, server(1))
    assert len(said) == 1 and said[0].endswith("; the checkpoint before it is taken")


@pytest.mark.parametrize(
    ("fit", "message"),
    [
        (checkpoint.Fit(128_244, ("mean", "mean_square")), "holds 7 parameters, the network has 128,244"),
        (checkpoint.Fit(7, ("mean_square",)), "optimizer state mean, mean_square, this optimizer wants mean_square"),
    ],
)
def test_a_checkpoint_of_another_network_or_optimizer_is_refused(
    tmp_path: Path, fit: checkpoint.Fit, message: str
) -> None:
    checkpoint.save(tmp_path, Checkpoint(server(1), {}, 1), keep=1)
    with pytest.raises(CheckpointError, match=message):
        checkpoint.load_newest(tmp_path, fit)


def test_a_new_optimizer_has_no_state_yet(tmp_path: Path) -> None:
    checkpoint.save(tmp_path, Checkpoint(server(0)._replace(slots={}), {}, 1), keep=1)
    assert checkpoint.load_newest(tmp_path, FIT).server.slots == {}


def test_a_checkpoint_under_the_name_of_another_is_refused(tmp_path: Path) -> None:
    path = checkpoint.save(tmp_path, Checkpoint(server(1), {}, 1), keep=1)
    with pytest.raises(CheckpointError, match="it is of update 1, its name of another"):
        checkpoint.load(path.rename(tmp_path / "000000000009.npz"))


def test_parameters_that_are_no_numbers_any_more_take_no_checkpoint_s_place(tmp_path: Path) -> None:
    checkpoint.save(tmp_path, Checkpoint(server(1), {}, 1), keep=1)
    lost = server(2)._replace(params=np.full(7, np.nan, np.float32))
    with pytest.raises(CheckpointError, match="the parameters are no finite numbers any more"):
        checkpoint.save(tmp_path, Checkpoint(lost, {}, 1), keep=1)
    assert [path.stem for path in tmp_path.iterdir()] == ["000000000001"]


@pytest.mark.slow
def test_no_single_bit_of_a_checkpoint_makes_anything_but_a_checkpoint_error(tmp_path: Path) -> None:
    path = checkpoint.save(tmp_path, Checkpoint(server(1), PROGRESS, 1), keep=1)
    sound = path.read_bytes()
    for at in range(0, len(sound) * 8, 5):
        data = bytearray(sound)
        data[at // 8] ^= 1 << at % 8
        path.write_bytes(data)
        try:
            assert_same(checkpoint.load(path).server, server(1))
        except CheckpointError:
            continue
