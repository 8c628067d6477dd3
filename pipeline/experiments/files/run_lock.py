"""One writer per run folder: a training or an evaluation holds the folder, and others are refused meanwhile.

The operating system keeps the lock on `config.yaml` and gives it back when its process ends, however it ends: nothing
is left behind that would have to be cleaned up. On a network disk it is as good as that disk's locks are.
Not here: the folder (`pipeline.experiments.files.run_folder`).
"""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise RunFolderError(
                f"{config_file.parent} is being trained or evaluated by another command right now: wait for its end, "
                "or end it with Ctrl-C"
            ) from error
        yield


def check_free(config_file: Path) -> None:
    """Raise what `hold` would."""
    with hold(config_file):
        pass
