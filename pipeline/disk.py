"""A disk that is full, or that may not be written, as an error that was foreseen.

Not here: files that are written whole or not at all (`pipeline.whole_file`).
"""

import contextlib
import errno
from collections.abc import Iterator
from pathlib import Path

from pipeline.errors import DiskError

_REFUSALS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG)
"""Not EIO, which a read may have as well."""


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
