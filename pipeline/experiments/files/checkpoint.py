"""Checkpoints: the server's state and every role's counters in one file, written whole or not at all.

    checkpoints/000000012000.npz     named by the server's version, newest = largest
        params, target, slot.<name>  (P,) float32: whole vectors, so that a resume may use another number of shards
        meta                         UTF-8 JSON: versions, target versions, progress of each role, format

Loading never unpickles anything.
Not here: when to save (`pipeline.experiments.saving`), the replay, which is filled anew.
"""

import json
import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pipeline.errors import CheckpointError
from pipeline.param_server.snapshot import ServerSnapshot
from pipeline.roles.progress import RoleProgress
from pipeline.whole_file import whole_file

FORMAT = 1
_SLOT = "slot."


class Checkpoint(NamedTuple):
    """What a run goes on from."""

    server: ServerSnapshot
    progress: dict[str, RoleProgress]
    """Role -> how far it was."""
    generation: int
    """Of the server that the snapshot was taken of; what goes on from it is a later one."""

    @property
    def num_steps(self) -> int:
        """Agent steps of all roles together."""
        return sum(progress.num_steps for progress in self.progress.values())

    @property
    def wall_seconds(self) -> float:
        """Wall time of the run up to here, pauses not counted."""
        return max((progress.wall_seconds for progress in self.progress.values()), default=0.0)

    @property
    def wall_seconds_of_roles(self) -> dict[str, float]:
        """Role -> the same by its own clock, which lags where it was started again."""
        return {role: progress.wall_seconds for role, progress in self.progress.items()}


def save(folder: Path, checkpoint: Checkpoint, keep: int) -> Path:
    """Write the checkpoint into `folder` and delete all but the `keep` newest; returns the file.

    Raises CheckpointError if the disk refuses it; those that are there stay.
    """
    server = checkpoint.server
    meta = {
        "format": FORMAT,
        "versions": server.versions,
        "target_versions": server.target_versions,
        "generation": checkpoint.generation,
        "progress": {role: progress._asdict() for role, progress in checkpoint.progress.items()},
    }
    arrays = {"params": server.params, "target": server.target}
    arrays |= {f"{_SLOT}{name}": slot for name, slot in server.slots.items()}
    arrays["meta"] = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)
    path = path_of(folder, server.version)
    try:
        # Not the folders above: where a run folder was deleted, a checkpoint alone is of no use.
        folder.mkdir(exist_ok=True)
        with whole_file(path) as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]  # the stub takes keywords for allow_pickle
    except OSError as error:
        raise CheckpointError(f"{path} could not be written: {error}") from error
    for old in _all(folder)[:-keep]:
        old.unlink()
    return path


def load(path: Path) -> Checkpoint:
    """Read one checkpoint. Raises CheckpointError if it is damaged or of another format."""
    try:
        # Opened here: of a damaged file, NumPy would not close what it opened itself.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            meta = json.loads(arrays["meta"].tobytes())
            if meta["format"] != FORMAT:
                raise CheckpointError(f"{path} has format {meta['format']}, this version of pipeline reads {FORMAT}")
            slots = {name.removeprefix(_SLOT): arrays[name] for name in arrays.files if name.startswith(_SLOT)}
            server = ServerSnapshot(
                tuple(meta["versions"]), arrays["params"], tuple(meta["target_versions"]), arrays["target"], slots
            )
    except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise CheckpointError(f"{path} cannot be read: {error!r}") from error
    progress = {role: RoleProgress(**values) for role, values in meta["progress"].items()}
    return Checkpoint(server, progress, meta["generation"])


def load_newest(folder: Path) -> Checkpoint:
    """The newest checkpoint that can be read. Raises CheckpointError, naming every damaged one, if there is none."""
    damaged = []
    for path in reversed(_all(folder)):
        try:
            return load(path)
        except CheckpointError as error:
            damaged.append(str(error))
    raise CheckpointError("; ".join([f"no readable checkpoint in {folder}", *damaged]))


def path_of(folder: Path, version: int) -> Path:
    """Where the checkpoint of this version of the server is, or would be."""
    return folder / f"{version:012d}.npz"


def any_in(folder: Path) -> bool:
    """True if there is a checkpoint, readable or not."""
    return bool(_all(folder))


def _all(folder: Path) -> list[Path]:
    return sorted(folder.glob("[0-9]*.npz"))
