"""The end of a run folder that another run takes the place of: never half a folder that could be taken for a run.

Not here: whether it may be deleted (`pipeline.experiments.files.run_folder`).
"""

import errno
import shutil
import uuid
from pathlib import Path

from pipeline.run_folders import CONFIG

HIDDEN = f".{CONFIG}"
"""How names begin of what a start or an end that was killed may leave in a run folder."""


def delete(path: Path) -> None:
    """Delete a run folder. Of a link to one, as to another disk, the link stays, and what is behind it is emptied."""
    if path.is_symlink():
        _empty(path)
        return
    # Renamed first: half a folder, if this is cut short, would be taken for a run.
    prefix = f".{path.name}.deleted."
    path.rename(path.with_name(f"{prefix}{uuid.uuid4().hex}"))
    for doomed in [entry for entry in path.parent.iterdir() if entry.name.startswith(prefix)]:
        _remove(doomed)


def _empty(path: Path) -> None:
    # The folder around the one behind the link may be nobody's to write in, so that all is moved inside. The config
    # goes last: if this is cut short, the same command finds a run again and deletes the rest.
    prefix = f"{HIDDEN}.deleted."
    doomed = path / f"{prefix}{uuid.uuid4().hex}"
    doomed.mkdir()
    entries = [entry for entry in path.iterdir() if not entry.name.startswith(prefix)]
    for entry in sorted(entries, key=lambda entry: entry.name == CONFIG):
        entry.rename(doomed / entry.name)
    for folder in [entry for entry in path.iterdir() if entry.name.startswith(prefix)]:
        _remove(folder)


def _remove(folder: Path) -> None:
    try:
        shutil.rmtree(folder)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EBUSY):
            raise
        # On a network disk a file stays while another program has it open: all else goes now, and it the next time.
        shutil.rmtree(folder, ignore_errors=True)
