"""Checkpoints: written whole, read without trust, the newest that can be read wins."""

import json
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


def test_only_the_newest_are_kept(tmp_path: Path) -> None:
    for num_updates in (1, 2, 10, 9):
        checkpoint.save(tmp_path, Checkpoint(server(num_updates), {}, 1), keep=2)
    assert [path.stem for path in sorted(tmp_path.iterdir())] == ["000000000009", "000000000010"]


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
    with pytest.raises(CheckpointError, match="Object arrays cannot be loaded"):
        checkpoint.load(path)


def test_another_format_is_refused_with_both_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "FORMAT", 7)
    path = checkpoint.save(tmp_path, Checkpoint(server(1), {}, 1), keep=1)
    monkeypatch.undo()
    with pytest.raises(CheckpointError, match="has format 7, this version of pipeline reads 1"):
        checkpoint.load(path)
