"""Files and folders that are called by a number with twelve digits: checkpoints by their version, frames by a step.

    000000012000.npz          one of them
    000000012000_good.npz     somebody's copy: neither read nor counted nor deleted

Not here: what is in them.
"""

import glob
from pathlib import Path


def path_of(folder: Path, number: int, prefix: str = "") -> Path:
    """Where the file with this number is, or would be; `prefix`: what its name begins with."""
    return folder / f"{prefix}{number:012d}.npz"


def numbers_in(folder: Path, prefix: str = "") -> list[int]:
    """Of all such files that are there, the smallest first; none of a folder that is not there."""
    stems = (path.stem.removeprefix(prefix) for path in folder.glob(f"{glob.escape(prefix)}[0-9]*.npz"))
    return sorted(number for stem in stems if (number := number_of(stem)) is not None)


def number_of(name: str) -> int | None:
    """The number that a name is, written as they are written here; None of any other name."""
    is_number = name.isascii() and name.isdecimal()
    return int(name) if is_number and f"{int(name):012d}" == name else None
