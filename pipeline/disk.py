"""A disk that is full, or that may not be written, as an error that was foreseen.

Not here: files that are written whole or not at all (`pipeline.whole_file`).
"""

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pipeline.errors import DiskError
from pipeline.run_folders import CONFIG

_REFUSALS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG)
"""Not EIO, which a read may have as well."""


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
    except (OSError, ValueError) as error:
        return str(error)
    return None


@contextlib.contextmanager
def told_if_refused(place: Path | None = None) -> Iterator[None]:
    """Raises DiskError where an OSError of the block is of a disk; `place` is named if the error names no file."""
    try:
        yield
    except OSError as error:
        if error.errno not in _REFUSALS:
            raise
        where = error.filename or place or "a file"
        way_out = "make room or choose another folder, then type the same again"
        raise DiskError(f"{where} could not be written: {error.strerror}; {way_out}") from error
