"""Files that are there as a whole or not at all, whatever ends the process or fills the disk while they are written.

    whole_file(path)       the block writes bytes
    whole_text(path, text) the same for a text, UTF-8
    new_text(path, text)   the same where nothing may be: of two that write at once one fails
    whole_arrays(path, ..) arrays, compressed
    whole_path(path)       somebody else writes, a program for example, to the path that the block is given
    whole_folder(path)     the block fills the folder that it is given

Not here: what is in them.
"""

import contextlib
import os
import shutil
import uuid
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO

import numpy as np

_LEVEL = 1
"""Of zlib: higher ones take five times as long for a few percent."""


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file to write, which is at `path` when the block ends: synced, in place of an older one; not after an error.

    Raises OSError if the disk refuses it; what was at `path` stays.
    """
    # Ends in nothing that anybody looks for: a process that is killed leaves it behind.
    with _in_place_of(path, f".{path.name}.{_nobody_s_name()}") as temporary, temporary.open("wb") as file:
        yield file


def whole_text(path: Path, text: str) -> None:
    """Write a text in UTF-8, its line ends as they are. Raises OSError; what was at `path` stays then."""
    with whole_file(path) as file:
        file.write(text.encode())


def new_text(path: Path, text: str) -> None:
    """Write a text where nothing is. Raises FileExistsError if anything is, be it since a moment ago, and OSError."""
    with whole_path(path, is_new=True) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")


def whole_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """What `np.savez_compressed` writes, five times as fast, for names that may be empty behind a slash.

    Raises OSError; what was at `path` stays then.
    """
    with whole_file(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.ascontiguousarray(array), allow_pickle=False)


@contextlib.contextmanager
def whole_path(path: Path, *, is_new: bool = False) -> Iterator[Path]:
    """Where to write a file that is at `path` when the block ends, with the same suffix; as `whole_file` else.

    `is_new`: it takes nothing's place. Raises FileExistsError if there is anything when the block ends.
    """
    with _in_place_of(path, f".{path.name}.{_nobody_s_name()}{path.suffix}", is_new=is_new) as temporary:
        # What the disk refuses is an OSError here, and not in somebody else's words.
        temporary.touch()
        temporary.unlink()
        yield temporary


@contextlib.contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A folder to fill, which is at `path` when the block ends, in place of an older one; not after an error.

    Of a link to a folder, as to another disk, the link stays. Raises OSError if the disk refuses it; what was at `path`
    stays.
    """
    path = path.resolve() if path.is_symlink() else path
    name = f".{path.name}.{_nobody_s_name()}"
    temporary, older = path.with_name(name), path.with_name(f"{name}.old")
    try:
        temporary.mkdir(parents=True)
        yield temporary
        if path.exists():
            path.rename(older)
        temporary.rename(path)
    except BaseException:
        if older.exists():
            older.rename(path)
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    shutil.rmtree(older, ignore_errors=True)


def _nobody_s_name() -> str:
    """Threads of a process, and processes of two machines with one number, may write the same file at once."""
    return uuid.uuid4().hex[:12]


@contextlib.contextmanager
def _in_place_of(path: Path, name: str, *, is_new: bool = False) -> Iterator[Path]:
    temporary = path.with_name(name)
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        if is_new:
            _put_where_nothing_is(temporary, path)
        else:
            temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def _put_where_nothing_is(temporary: Path, path: Path) -> None:
    try:
        path.hardlink_to(temporary)
    except FileExistsError:
        # On a network disk the answer to one's own link may be lost, and a second try finds the first one's.
        if not path.exists() or not os.path.samefile(temporary, path):
            raise
        temporary.unlink()
    except OSError:  # a disk without hard links: whoever makes the empty file first has it
        path.open("xb").close()
        temporary.replace(path)
    else:
        temporary.unlink()
