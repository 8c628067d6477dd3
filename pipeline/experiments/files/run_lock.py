"""One writer per run folder: a training or an evaluation holds the folder, and others are refused meanwhile.

The operating system keeps the lock on `config.yaml` and gives it back when its process ends, however it ends: nothing
is left behind that would have to be cleaned up. On a network disk it is as good as that disk's locks are.
Not here: the folder (`pipeline.experiments.files.run_folder`).
"""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from pipeline.checked_files import check_regular
from pipeline.errors import RunFolderError


@contextmanager
def hold(config_file: Path) -> Iterator[None]:
    """Be the only one who writes beside `config_file`, which must be there.

    Raises RunFolderError if somebody else is, or nobody can be.
    """
    try:
        check_regular(config_file)
        opened = config_file.open("r+b")
    except OSError as error:
        raise RunFolderError(f"{config_file.parent} cannot be written: {error}") from error
    with opened as file:
        _lock(file, config_file.parent)
        # Whoever held it has put another file in its place meanwhile, and holds that one.
        if not _is_same(file.fileno(), config_file):
            raise RunFolderError(busy(config_file.parent))
        yield


def busy(folder: Path) -> str:
    """What is said of a folder that somebody else writes in."""
    return (
        f"{folder} is being trained or evaluated by another command right now: wait for its end, or end it with Ctrl-C"
    )


def _lock(file: IO[bytes], folder: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise RunFolderError(busy(folder)) from error
    except OSError as error:
        raise RunFolderError(
            f"{folder} cannot be held: its disk has no locks ({error.strerror}), so that two commands might write "
            "there at once; choose another results_dir"
        ) from error


def _is_same(opened: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(opened), path.stat())
    except FileNotFoundError:
        return False


def check_free(config_file: Path) -> None:
    """Raise what `hold` would."""
    with hold(config_file):
        pass


def check_possible(folder: Path) -> None:
    """Raise RunFolderError if nobody could hold this folder, once it is made: its disk has no locks."""
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    with tempfile.TemporaryFile(dir=there) as file:
        _lock(file, folder)
