"""Pipes, folders and files of other programs in the place of a run's files: one sentence, at once."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pipeline.errors import PipelineError, RunFolderError
from pipeline.experiments.files import checkpoint, evaluation_rows, run_lock
from pipeline.experiments.files.checkpoint import Checkpoint
from pipeline.experiments.files.newer_rows import set_newer_aside
from pipeline.experiments.files.run_folder import RunFolder, check_folder
from pipeline.experiments.files.saved_config import read_config
from pipeline.param_server.snapshot import first_snapshot
from pipeline.results.load import load_run, load_runs
from pipeline.run_facts import facts_in
from tests.experiments.files.test_run_folder import EPISODE, EVALUATION, UPDATE
from tests.experiments.smoke_runs import opened, smoke_config

Make = Callable[[Path], None]
ODD: dict[str, Make] = {"a pipe": os.mkfifo, "a folder": Path.mkdir}


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """Of a run that has ended."""
    made = opened(smoke_config(tmp_path))
    made.write([EPISODE, UPDATE, EVALUATION])
    made.close()
    made.write_run({"end_reason": "budget"})
    checkpoint.save(made.checkpoints, Checkpoint(first_snapshot(np.zeros(3, np.float32)), {}, 1), keep=1)
    return made


def in_place_of(path: Path, make: Make) -> None:
    """What `make` makes, where a file was."""
    path.unlink()
    make(path)


@pytest.mark.parametrize("make", ODD.values(), ids=ODD)
@pytest.mark.parametrize("name", ["episodes.csv", "updates.csv", "evaluations.csv", "config.yaml"])
def test_a_resume_ends_with_a_sentence(folder: RunFolder, tmp_path: Path, name: str, make: Make) -> None:
    in_place_of(folder.path / name, make)
    with pytest.raises(RunFolderError, match=r"it is a folder, a pipe or a device, and no file: '.*" + name):
        check_folder(smoke_config(tmp_path, "resume=true"))


@pytest.mark.parametrize("make", ODD.values(), ids=ODD)
def test_readers_end_with_a_sentence(folder: RunFolder, make: Make) -> None:
    path = folder.path
    for name, read in (
        ("run.json", lambda: facts_in(path)),
        ("evaluations.csv", lambda: evaluation_rows.keys_in(path)),
        ("checkpoints/000000000000.npz", lambda: checkpoint.load_newest(folder.checkpoints)),
        ("config.yaml", lambda: read_config(path)),
        ("config.yaml", lambda: run_lock.check_free(path / "config.yaml")),
    ):
        if not (path / name).is_fifo() and (path / name).is_file():
            in_place_of(path / name, make)
        with pytest.raises(PipelineError, match="it is a folder, a pipe or a device, and no file"):
            read()


@pytest.mark.parametrize("make", ODD.values(), ids=ODD)
@pytest.mark.parametrize("name", ["run.json", "episodes.csv", "config.yaml"])
def test_a_report_reads_the_other_runs(folder: RunFolder, tmp_path: Path, name: str, make: Make) -> None:
    good = opened(smoke_config(tmp_path, "seed=1"))
    good.write([EPISODE])
    good.close()
    in_place_of(folder.path / name, make)
    loaded = load_runs(tmp_path)
    assert 1 in set(loaded.runs["seed"]) and str(folder.path / name) in " ".join(loaded.problems)


@pytest.mark.parametrize("number", ["9" * 30, "nan", "1.5"])
def test_a_number_that_is_none_is_told_with_the_way_out_and_spoils_no_other_run(
    folder: RunFolder, tmp_path: Path, number: str
) -> None:
    with (folder.path / "episodes.csv").open("a") as file:
        file.write(f"bundle-0,3,100,{number},12.0,50,False,0.5,7,1.25\n")
    with pytest.raises(
        RunFolderError, match=r"episodes\.csv: .*; resume=true moves a line that is no row to discarded/"
    ):
        load_run(folder.path)
    assert "skipped" in load_runs(tmp_path).problems[0]
    assert set_newer_aside(folder.path, 7, 1e9, {}) == 1 and len(load_run(folder.path).episodes) == 1


@pytest.mark.parametrize("change", [lambda data: b"\xef\xbb\xbf" + data, lambda data: data.replace(b"\n", b"\r\n")])
def test_what_an_editor_has_done_to_rows_is_called_by_its_name(
    folder: RunFolder, tmp_path: Path, change: Callable[[bytes], bytes]
) -> None:
    for name in ("updates.csv", "evaluations.csv"):
        path = folder.path / name
        path.write_bytes(change(path.read_bytes()))
    for read in (
        lambda: check_folder(smoke_config(tmp_path, "resume=true")),
        lambda: evaluation_rows.keys_in(folder.path),
    ):
        with pytest.raises(RunFolderError, match=r"was rewritten by another program \(a byte-order mark, or line ends"):
            read()


@pytest.mark.parametrize("content", [b"", b"\0" * 64, b"\n"])
def test_empty_settings_are_called_empty(folder: RunFolder, content: bytes) -> None:
    (folder.path / "config.yaml").write_bytes(content)
    with pytest.raises(RunFolderError, match=r"config\.yaml cannot be read: .*it is empty"):
        read_config(folder.path)


def test_a_folder_that_nobody_can_write_in_is_told_in_a_sentence(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "open", refused)
    with pytest.raises(RunFolderError, match=r"cannot be written: .*Operation not permitted"):
        run_lock.check_free(folder.path / "config.yaml")
