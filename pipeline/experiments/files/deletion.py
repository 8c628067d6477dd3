"""The end of a run folder that another run takes the place of: never half a folder that could be taken for a run.

Not here: whether it may be deleted (`pipeline.experiments.files.run_folder`).
"""

import errno
import shutil
import uuid
from pathlib import Path

from pipeline.run_folders import CHECKPOINTS, CONFIG, DISCARDED, RECORDINGS

_MAY_BE_LINKS = (CHECKPOINTS, RECORDINGS, DISCARDED)
"""Folders of a run that people have on another disk."""
HIDDEN = f".{CONFIG}"
"""How names begin of what a start or an end that was killed may leave in a run folder."""


def delete(path: Path) -> None:
    """Delete a run folder. Of a link to one, as to another disk, the link stays, and what is behind it is emptied.

    So it is of a link in it to the folder of its checkpoints, say, unless that is another run's.
    """
    if path.is_symlink() or _links_in(path):
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
    prefix, links = f"{HIDDEN}.deleted.", _links_in(path)
    for link in links:
        _empty(link)
    doomed = path / f"{prefix}{uuid.uuid4().hex}"
    doomed.mkdir()
    entries = [entry for entry in path.iterdir() if entry not in links and not entry.name.startswith(prefix)]
    for entry in sorted(entries, key=lambda entry: entry.name == CONFIG):
        entry.rename(doomed / entry.name)
    for folder in [entry for entry in path.iterdir() if entry.name.startswith(prefix)]:
        _remove(folder)


def _links_in(path: Path) -> list[Path]:
    links = [path / name for name in _MAY_BE_LINKS if (path / name).is_symlink() and (path / name).is_dir()]
    return [link for link in links if not (link.resolve().parent / CONFIG).exists()]


def _remove(folder: Path) -> None:
    try:
        shutil.rmtree(folder)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EBUSY):
            raise
        # On a network disk a file stays while another program has it open: all else goes now, and it the next time.
        shutil.rmtree(folder, ignore_errors=True)
