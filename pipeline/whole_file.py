"""Files that are there as a whole or not at all, whatever ends the process or fills the disk while they are written.

Not here: what is in them.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file to write, which is at `path` when the block ends: synced, in place of an older one; not after an error.

    Raises OSError if the disk refuses it; what was at `path` stays.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
