"""A disk that is full, or that may not be written, as an error that was foreseen.

Not here: files that are written whole or not at all (`pipeline.whole_file`).
"""

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pipeline.errors import ConfigError, DiskError
from pipeline.run_folders import CONFIG

_REFUSALS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG)
"""Of a write only. Not EIO, which a read may have as well."""
_DENIALS = (errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP)
"""Of a path, be it read or written. A port may be denied as well, but names no file."""


def why_unwritable(folder: Path) -> str | None:
    """Why no file can be made in a folder that is there or can be made; None if one can."""
    try:
        there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
        for name in folder.parts:
            if "\0" in name or len(os.fsencode(name)) > os.pathconf(there, "PC_NAME_MAX"):
                return f"{name[:20]!r} is no name, or one that is too long"
        if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
            return f"{there} is read-only or no folder"
        # Only a try tells: the files of /proc belong to root, who can make none there. What it leaves, if it is killed,
        # is no obstacle for a run (`pipeline.experiments.files.deletion.HIDDEN`).
        Path(tempfile.mkdtemp(prefix=f".{CONFIG}.", dir=there)).rmdir()
    except OSError as error:
        return error.strerror or str(error)  # without the name of what was tried
    except ValueError as error:
        return str(error)
    return None


def check_writable(setting: str, *folders: Path) -> None:
    """Raise ConfigError if no file can be made in one of the folders; `setting`: what named them, `output=film.mp4`."""
    for folder in folders:
        if (why := why_unwritable(folder)) is not None:
            raise ConfigError([f"{setting} cannot be written: {why}; choose another"])


@contextlib.contextmanager
def told_if_refused(place: Path | None = None) -> Iterator[None]:
    """Raises DiskError where an OSError of the block is of a disk; `place` is named if the error names no file."""
    try:
        yield
    except OSError as error:
        if error.errno in _DENIALS and error.filename is not None:
            raise DiskError(f"{error.filename}: {error.strerror}; allow it, or choose another place") from error
        if error.errno not in _REFUSALS:
            raise
        where = error.filename or place or "a file"
        way_out = "make room or choose another folder, then type the same again"
        raise DiskError(f"{where} could not be written: {error.strerror}; {way_out}") from error
