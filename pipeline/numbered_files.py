"""Files that are called by a number with twelve digits: checkpoints by their version, frames by their first step.

    000000012000.npz          one of them
    000000012000_good.npz     somebody's copy: neither read nor counted nor deleted

Not here: what is in them.
"""

from pathlib import Path


def path_of(folder: Path, number: int) -> Path:
    """Where the file with this number is, or would be."""
    return folder / f"{number:012d}.npz"


def numbers_in(folder: Path) -> list[int]:
    """Of all that are there, the smallest first; none of a folder that is not there."""
    stems = {path.stem for path in folder.glob("[0-9]*.npz")}
    numbers = {int(stem) for stem in stems if stem.isascii() and stem.isdecimal()}
    return sorted(number for number in numbers if path_of(folder, number).stem in stems)
