"""Where files are that a user names: folders by any name, patterns, links. All commands find runs by this module.

A place is taken as it is called, whatever signs are in its name and wherever it really lies. Below it links are
followed, each folder is seen once, and folders that are called like hidden ones are left out: runs are deleted in such.
Not here: what is in a run's files (`pipeline.experiments.files.run_folder`, `pipeline.results.load`).
"""

import fnmatch
import glob
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from pipeline.rows import ROW_FILES
from pipeline.run_facts import RUN

CONFIG = "config.yaml"
"""Name of the file of a run's settings inside its folder."""

CHECKPOINTS = "checkpoints"
"""Name of the folder of checkpoints inside a run folder."""

RECORDINGS = "recordings"
"""Name of the folder of recorded evaluation games inside a run folder."""

DISCARDED = "discarded"
"""Name of the folder, inside a run's, of what was lost or replaced."""

_MARKS = frozenset({CONFIG, RUN, *ROW_FILES.values()})
"""A run folder has one of these at least: a killed run may lack the others."""

_NO_RUN = "config.json"
"""In an exported agent, which has rows of evaluations, too."""

_INSIDE = frozenset({CHECKPOINTS, RECORDINGS, DISCARDED, "exports", "tensorboard", "wandb"})
"""Folders of a run folder, in which there is no other run."""


def at_home(word: str) -> str:
    """The path that a word or a setting names. What begins with ~ is in the home, unless something is called so here.

    Only some shells put the home in its place behind a `name=`, and none does in a file.
    """
    return os.path.expanduser(word) if word.startswith("~") and not os.path.lexists(word) else word


def absolute(word: str) -> Path:
    """The same path, wherever the program goes meanwhile."""
    return Path(at_home(word)).absolute()


def places_of(word: str) -> list[Path]:
    """What a word of the command line names: the path of that name if there is one, else what fits the pattern."""
    word = at_home(word)
    if os.path.lexists(word):
        return [Path(word)]
    return [Path(place) for place in sorted(glob.glob(word, recursive=True))]


def run_folders(place: Path, unreadable: Callable[[OSError], object] | None = None) -> list[Path]:
    """The run folders at and below a place, in order of their paths.

    `unreadable` is told of each folder that may not be looked into; None: it is raised.
    """
    found = []
    for folder, folders, files in _walk(place, unreadable or _raise):
        if not _MARKS.isdisjoint(files) and _NO_RUN not in files:
            found.append(folder)
            folders[:] = [name for name in folders if name not in _INSIDE]
    return found


def files_below(place: Path, pattern: str, unreadable: Callable[[OSError], object]) -> list[Path]:
    """The files at and below a folder whose names fit a pattern such as `*.npz`, in order of their paths.

    `unreadable` is told of each folder that may not be looked into.
    """
    walked = _walk(place, unreadable)
    return [folder / name for folder, _, files in walked for name in sorted(fnmatch.filter(files, pattern))]


def unreadable_mistakes(word: str, unreadable: Sequence[OSError], say: Callable[[str], object] | None) -> list[str]:
    """A line for each folder that a word of the command line leads to and that may not be read.

    `say`: of a word that leads to something beside, who hears of them instead, for they are no mistakes then: a folder
    above runs may have others in it that are nobody's business, such as the disk's own.
    """
    lines = [f"{word}: {error.filename} cannot be read: {error.strerror}" for error in unreadable]
    if say is None:
        return lines
    for line in lines:
        say(line)
    return []


def named_path(path: Path) -> Path:
    """The absolute path by the names that it was called by: what is behind a link may be called otherwise."""
    return Path(os.path.abspath(path))


def results_dir_of(folder: Path) -> Path:
    """Where a run folder's experiment lies; near the root of the disk the highest folder that there is above it."""
    real = folder.resolve()
    return [real, *real.parents][:4][-1]


def unquoted(text: str) -> str:
    """A value that is quoted as a word of Hydra's with a space in it is, without its quotes: `'a b'` is `a b`.

    As it stands where a file or folder is called so, quotes and all.
    """
    is_quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "'\""
    return text[1:-1] if is_quoted and not os.path.lexists(text) else text


def split_places(text: str, is_there: Callable[[str], bool]) -> list[str]:
    """A list of places with commas between, `a,b` or `[a,b]`, whose own names may have commas.

    Taken apart into as many as there can be, if all of them are there; else at every comma, for the error to name.
    """
    if text.startswith("[") and text.endswith("]") and not is_there(text):
        text = text[1:-1]
    pieces = text.split(",")
    words = [word for piece in pieces if (word := unquoted(piece.strip()))]
    if all(map(is_there, words)):
        return words
    best: list[list[str] | None] = [[], *([None] * len(pieces))]
    for end in range(1, len(pieces) + 1):
        for start in range(end):
            before, word = best[start], unquoted(",".join(pieces[start:end]).strip())
            longer = before is not None and (best[end] is None or len(before) + 1 > len(best[end] or ()))
            if longer and is_there(word):
                best[end] = [*(before or ()), word]
    return best[-1] or words


def _raise(error: OSError) -> None:
    raise error


def _walk(place: Path, unreadable: Callable[[OSError], object]) -> Iterator[tuple[Path, list[str], list[str]]]:
    """As `os.walk`, in order of names, with links, each folder once, and without hidden folders below `place`."""
    seen = set[str]()

    def tell(error: OSError) -> None:
        # A place that is not there is told by who asks for it; one that is deleted meanwhile has nothing to find.
        if not isinstance(error, FileNotFoundError | NotADirectoryError):
            unreadable(error)

    for name, folders, files in os.walk(place, followlinks=True, onerror=tell):
        folders[:] = sorted(folder for folder in folders if not folder.startswith("."))
        if (real := os.path.realpath(name)) in seen:
            folders.clear()
            continue
        seen.add(real)
        yield Path(name), folders, files


def recording_name(protocol: str, agent: str, version: int, *, sampled: bool, digest: str = "") -> str:
    """The file of these parameters' games in `recordings/`; whatever a protocol is called, it makes a file name.

    `digest`: eight hexadecimal digits, of an environment that is another one than in the file without.
    """
    # No name of a protocol leaves a plus in a file's.
    called = f"{_cleaned(protocol)}{digest and f'+{digest}'}"
    return f"{called}_{agent}{'_sampled' if sampled else ''}_{version:012d}.npz"


def recordings_of(folder: Path, protocol: str, agent: str, *, sampled: bool) -> dict[Path, int]:
    """The recordings in `folder` that were played alike, those with a digest too, and whose version each is of."""
    name = rf"{re.escape(_cleaned(protocol))}(\+[0-9a-f]{{8}})?_{re.escape(agent)}{'_sampled' if sampled else ''}"
    alike = re.compile(rf"{name}_([0-9]{{12}})\.npz")
    found = ((path, alike.fullmatch(path.name)) for path in sorted(folder.glob("*.npz")))
    return {path: int(fits[2]) for path, fits in found if fits is not None}


def _cleaned(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name)
