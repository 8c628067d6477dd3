"""Run folders that are links, which `overwrite=true` empties; whole ones: `test_run_folder.py`."""

import contextlib
import errno
import shutil
from pathlib import Path
from typing import Any

import pytest

from pipeline.experiments.files import checkpoint
from pipeline.results.load import load_runs
from tests.experiments.files.test_run_folder import EPISODE, FILES, raise_interrupt, save_checkpoint
from tests.experiments.smoke_runs import opened, smoke_config


def test_overwrite_empties_what_is_behind_a_linked_run_folder_and_leaves_the_link(tmp_path: Path) -> None:
    path = smoke_config(tmp_path).folder
    disk = tmp_path / "disk"
    disk.mkdir()
    path.parent.mkdir(parents=True)
    path.symlink_to(disk)
    folder = opened(smoke_config(tmp_path))
    folder.write([EPISODE])
    folder.close()
    save_checkpoint(folder)
    again = opened(smoke_config(tmp_path, "overwrite=true"))
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
    save_checkpoint(opened(smoke_config(tmp_path)))
    with monkeypatch.context() as interrupted:
        interrupted.setattr(shutil, "rmtree", raise_interrupt)
        with pytest.raises(KeyboardInterrupt):
            opened(smoke_config(tmp_path, "overwrite=true"))
    assert load_runs(tmp_path).runs.empty
    opened(smoke_config(tmp_path, "overwrite=true"))
    opened(smoke_config(tmp_path, "overwrite=true"))
    assert {entry.name for entry in disk.iterdir()} == {"config.yaml", *FILES}


@pytest.mark.parametrize(
    ("number", "is_passed_over"), [(errno.EBUSY, True), (errno.ENOTEMPTY, True), (errno.EACCES, False)]
)
def test_what_another_program_has_open_on_a_network_disk_stays_hidden_and_all_else_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, is_passed_over: bool
) -> None:
    path = opened(smoke_config(tmp_path)).path
    (path / "left").touch()
    rmtree, tried = shutil.rmtree, []

    def refuse_once(folder: Path, **words: Any) -> None:
        tried.append(folder)
        if len(tried) == 1:
            raise OSError(number, "refused")
        rmtree(folder, **words)

    monkeypatch.setattr(shutil, "rmtree", refuse_once)
    with contextlib.nullcontext() if is_passed_over else pytest.raises(OSError, match="refused"):
        opened(smoke_config(tmp_path, "overwrite=true"))
    assert not (path / "left").exists()
    assert len(tried) == (2 if is_passed_over else 1)
