"""Run folders that are links, which `overwrite=true` empties; whole ones: `test_run_folder.py`."""

import contextlib
import errno
import shutil
from pathlib import Path
from typing import Any

import pytest

from pipeline.experiments.files import checkpoint, run_folder
from pipeline.experiments.files.run_folder import open_folder
from pipeline.results.load import load_runs
from tests.experiments.files.test_run_folder import EPISODE, FILES, raise_interrupt, save_checkpoint
from tests.experiments.smoke_runs import smoke_config


def test_overwrite_empties_what_is_behind_a_linked_run_folder_and_leaves_the_link(tmp_path: Path) -> None:
    path = smoke_config(tmp_path).folder
    disk = tmp_path / "disk"
    disk.mkdir()
    path.parent.mkdir(parents=True)
    path.symlink_to(disk)
    folder = open_folder(smoke_config(tmp_path))
    folder.write([EPISODE])
    folder.close()
    save_checkpoint(folder)
    again = open_folder(smoke_config(tmp_path, "overwrite=true"))
    assert path.is_symlink() and not checkpoint.any_in(again.checkpoints)
    assert {entry.name for entry in disk.iterdir()} == {"config.yaml", *FILES}
    assert [len((disk / name).read_text().splitlines()) for name in FILES] == [1, 1, 1]


def test_an_overwrite_behind_a_link_that_was_cut_short_is_made_good_by_the_same_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = smoke_config(tmp_path).folder
    disk = tmp_path / "disk"
    disk.mkdir()
    path.parent.mkdir(parents=True)
    path.symlink_to(disk)
    save_checkpoint(open_folder(smoke_config(tmp_path)))
    with monkeypatch.context() as interrupted:
        interrupted.setattr(shutil, "rmtree", raise_interrupt)
        with pytest.raises(KeyboardInterrupt):
            open_folder(smoke_config(tmp_path, "overwrite=true"))
    assert load_runs(tmp_path).runs.empty
    open_folder(smoke_config(tmp_path, "overwrite=true"))
    open_folder(smoke_config(tmp_path, "overwrite=true"))
    assert {entry.name for entry in disk.iterdir()} == {"config.yaml", *FILES}


def test_overwrite_empties_checkpoints_on_another_disk_and_leaves_the_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = tmp_path / "disk"
    folder = open_folder(smoke_config(tmp_path))
    save_checkpoint(folder)
    folder.checkpoints.rename(disk)
    folder.checkpoints.symlink_to(disk)
    with monkeypatch.context() as interrupted:
        # Between two of its steps: the same command makes it good.
        interrupted.setattr(run_folder, "_begin", raise_interrupt)
        with pytest.raises(KeyboardInterrupt):
            open_folder(smoke_config(tmp_path, "overwrite=true"))
    again = open_folder(smoke_config(tmp_path, "overwrite=true"))
    assert again.checkpoints.is_symlink() and list(disk.iterdir()) == []
    assert {entry.name for entry in again.path.iterdir()} == {"config.yaml", "checkpoints", *FILES}
    save_checkpoint(again)
    assert checkpoint.any_in(disk)


def test_overwrite_leaves_checkpoints_of_another_run_that_a_link_leads_to(tmp_path: Path) -> None:
    other, folder = open_folder(smoke_config(tmp_path)), open_folder(smoke_config(tmp_path, "seed=1"))
    save_checkpoint(other)
    folder.checkpoints.symlink_to(other.checkpoints)
    again = open_folder(smoke_config(tmp_path, "seed=1", "overwrite=true"))
    assert not again.checkpoints.exists() and checkpoint.any_in(other.checkpoints)


@pytest.mark.parametrize(
    ("number", "is_passed_over"), [(errno.EBUSY, True), (errno.ENOTEMPTY, True), (errno.EACCES, False)]
)
def test_what_another_program_has_open_on_a_network_disk_stays_hidden_and_all_else_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, is_passed_over: bool
) -> None:
    path = open_folder(smoke_config(tmp_path)).path
    (path / "left").touch()
    rmtree, tried = shutil.rmtree, []

    def refuse_once(folder: Path, **words: Any) -> None:
        tried.append(folder)
        if len(tried) == 1:
            raise OSError(number, "refused")
        rmtree(folder, **words)

    monkeypatch.setattr(shutil, "rmtree", refuse_once)
    with contextlib.nullcontext() if is_passed_over else pytest.raises(OSError, match="refused"):
        open_folder(smoke_config(tmp_path, "overwrite=true"))
    assert not (path / "left").exists()
    assert len(tried) == (2 if is_passed_over else 1)
