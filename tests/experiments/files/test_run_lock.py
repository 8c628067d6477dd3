"""One writer per run folder: others are refused, before and while it is begun, and so is a disk without locks."""

import errno
import fcntl
from pathlib import Path
from typing import Any

import pytest

from pipeline.config.run_config import RunConfig
from pipeline.errors import RunFolderError
from pipeline.experiments.files import run_folder, run_lock
from pipeline.experiments.files.run_folder import check_folder
from pipeline.rows import ROW_FILES
from pipeline.whole_file import whole_text
from tests.experiments.smoke_runs import opened, smoke_config


@pytest.mark.parametrize("word", ["resume=true", "overwrite=true"])
def test_a_folder_that_somebody_writes_in_is_refused(tmp_path: Path, word: str) -> None:
    folder = opened(smoke_config(tmp_path))
    again = smoke_config(tmp_path, word)
    with (
        folder.hold(),
        pytest.raises(RunFolderError, match="is being trained or evaluated by another command right now"),
    ):
        opened(again)
    assert opened(again).path == folder.path


def test_a_disk_without_locks_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = opened(smoke_config(tmp_path))

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(
        RunFolderError, match=r"its disk has no locks \(No locks available\), .*choose another results_d"
    ):
        check_folder(smoke_config(tmp_path, "resume=true"))
    with pytest.raises(RunFolderError, match="its disk has no locks"), folder.hold():
        pass
    elsewhere = tmp_path / "elsewhere"
    with pytest.raises(RunFolderError, match=f"{elsewhere}/.* cannot be held: its disk has no locks"):
        check_folder(smoke_config(elsewhere))
    assert not elsewhere.exists(), "a folder was made that nobody can hold"


def test_of_two_that_begin_the_same_run_at_once_one_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = smoke_config(tmp_path)
    check = run_folder.check_folder

    def late(given: RunConfig, place: Path | None) -> None:
        check(given, place)
        # Behind the look, another command begins.
        monkeypatch.setattr(run_folder, "check_folder", check)
        opened(given)

    monkeypatch.setattr(run_folder, "check_folder", late)
    with pytest.raises(RunFolderError, match="is being trained or evaluated by another command right now"):
        opened(config)
    assert {path.name for path in config.folder.iterdir()} == {"config.yaml", *ROW_FILES.values()}


def test_who_has_waited_for_a_folder_does_not_get_it_by_a_file_that_was_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = opened(smoke_config(tmp_path)).path / "config.yaml"
    flock = fcntl.flock

    def late(*words: Any) -> None:
        # Between opening and locking, another command begins: it puts a new file in the old one's place.
        whole_text(config, config.read_text())
        flock(*words)

    monkeypatch.setattr(fcntl, "flock", late)
    with pytest.raises(RunFolderError, match="is being trained or evaluated by another command"):
        run_lock.check_free(config)
