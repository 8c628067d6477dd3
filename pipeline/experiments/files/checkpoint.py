"""Checkpoints: the server's state and every role's counters in one file, written whole or not at all.

    checkpoints/000000012000.npz     named by the server's version, newest = largest (`pipeline.numbered_files`)
        params, target, slot.<name>  (P,) float32: whole vectors, so that a resume may use another number of shards
        meta                         UTF-8 JSON: versions, target versions, progress of each role, format

Loading never unpickles anything, and checks all of it: one that is damaged, or does not fit its run, is passed over for
the one before it.
Not here: when to save (`pipeline.experiments.saving`), the replay, which is filled anew.
"""

import contextlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pipeline.checked_files import arrays_in, as_declared, at_least_zero, json_in
from pipeline.errors import CheckpointError
from pipeline.numbered_files import numbers_in, path_of
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


class Fit(NamedTuple):
    """What a checkpoint must hold for a run to use it."""

    num_parameters: int
    """P, of the run's network."""
    slots: tuple[str, ...]
    """Of the run's optimizer."""


def save(folder: Path, checkpoint: Checkpoint, keep: int) -> Path:
    """Write the checkpoint into `folder` and delete all but the `keep` newest; returns the file.

    Raises CheckpointError if the disk refuses it, or parameters are not finite; those that are there stay.
    """
    server, path = checkpoint.server, path_of(folder, checkpoint.server.version)
    if not is_finite(server):
        raise CheckpointError(f"{path} was not written: the parameters are no finite numbers any more")
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
    try:
        # Not the folders above: where a run folder was deleted, a checkpoint alone is of no use.
        folder.mkdir(exist_ok=True)
        with whole_file(path) as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]  # the stub takes keywords for allow_pickle
    except OSError as error:
        raise CheckpointError(f"{path} could not be written: {error}") from error
    for old in numbers_in(folder)[:-keep]:
        # One that somebody else removes, or keeps from being removed, is no reason to end a training.
        with contextlib.suppress(OSError):
            path_of(folder, old).unlink()
    return path


def is_finite(server: ServerSnapshot) -> bool:
    """Whether a run could go on from these parameters."""
    return bool(np.isfinite(server.params).all() and np.isfinite(server.target).all())


def load(path: Path, fit: Fit | None = None, *, any_name: bool = False) -> Checkpoint:
    """Read one checkpoint. Raises CheckpointError if it is damaged, of another format, or does not `fit`.

    `any_name`: of a copy, which may be called as its owner likes; else the name has to be that of its update.
    """
    try:
        # Members are stored as they are: none is larger than the file.
        arrays = arrays_in(path, path.stat().st_size)
        meta = json_in(arrays.pop("meta", np.zeros(0)).tobytes())
        if (number := meta.pop("format", None)) != FORMAT:
            raise CheckpointError(f"{path} has format {number}, this version of pipeline reads {FORMAT}")
        loaded = _checked(meta, arrays)
        if not any_name and path != path_of(path.parent, loaded.server.version):
            raise ValueError(f"it is of update {loaded.server.version:,}, its name of another")
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path} cannot be read: {error}") from error
    if fit is not None:
        _check_fit(path, loaded.server, fit)
    return loaded


def load_newest(folder: Path, fit: Fit | None = None, say: Callable[[str], None] | None = None) -> Checkpoint:
    """The newest checkpoint that can be read and fits; `say` is told of each newer one that was passed over.

    Raises CheckpointError, naming every one that cannot be used, if there is none.
    """
    damaged: list[str] = []
    for version in reversed(numbers_in(folder)):
        try:
            loaded = load(path_of(folder, version), fit)
        except CheckpointError as error:
            damaged.append(str(error))
            continue
        if say is not None:
            for line in damaged:
                say(f"{line}; the checkpoint before it is taken")
        return loaded
    raise CheckpointError("; ".join([f"no readable checkpoint in {folder}", *damaged]))


def any_in(folder: Path) -> bool:
    """True if there is a checkpoint, readable or not."""
    return bool(numbers_in(folder))


def newest_version(folder: Path) -> int:
    """Of all that are there, readable or not; -1 if there is none."""
    return max(numbers_in(folder), default=-1)


def newer_than(folder: Path, version: int) -> list[Path]:
    """Those of newer versions of the server, readable or not."""
    return [path_of(folder, newer) for newer in numbers_in(folder) if newer > version]


def _checked(meta: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> Checkpoint:
    """Raises ValueError with what is wrong."""
    size = arrays["params"].size if "params" in arrays else 0
    for name, array in arrays.items():
        if name not in ("params", "target") and not name.startswith(_SLOT):
            raise ValueError(f"{name} is no array of a checkpoint")
        if array.dtype != np.float32 or array.size != size:
            raise ValueError(f"{name} holds {array.size:,} {array.dtype}, needed {size:,} float32 as in params")
        if not np.isfinite(array).all():
            raise ValueError(f"{name} holds values that are not finite")
    if not size or "target" not in arrays:
        raise ValueError("params or target is missing")
    versions, target_versions = _versions(meta, "versions"), _versions(meta, "target_versions")
    if len(versions) != len(target_versions) or len(versions) > size:
        raise ValueError(f"it is of {len(versions)} shards, and of {len(target_versions)} of the target network")
    progress, generation = meta.get("progress"), meta.get("generation")
    if not isinstance(progress, dict) or type(generation) is not int or generation < 0:
        raise ValueError("progress or generation is missing")
    roles = {role: as_declared(RoleProgress, values) for role, values in progress.items()}
    for role in roles.values():
        at_least_zero(role._asdict())
    slots = {name.removeprefix(_SLOT): array for name, array in arrays.items() if name.startswith(_SLOT)}
    server = ServerSnapshot(versions, arrays["params"], target_versions, arrays["target"], slots)
    return Checkpoint(server, roles, generation)


def _versions(meta: Mapping[str, Any], name: str) -> tuple[int, ...]:
    found = meta.get(name)
    if not isinstance(found, list) or not found or not all(type(one) is int and one >= 0 for one in found):
        raise ValueError(f"{name} is no list of whole numbers from 0 on")
    return tuple(found)


def _check_fit(path: Path, server: ServerSnapshot, fit: Fit) -> None:
    if server.params.size != fit.num_parameters:
        raise CheckpointError(
            f"{path} holds {server.params.size:,} parameters, the network has {fit.num_parameters:,}: "
            "resume with the network (and the game) that the run was started with"
        )
    is_new = not server.slots and server.version == 0
    if set(server.slots) != set(fit.slots) and not is_new:
        raise CheckpointError(
            f"{path} holds the optimizer state {', '.join(sorted(server.slots)) or 'of none'}, this optimizer wants "
            f"{', '.join(sorted(fit.slots)) or 'none'}: resume with the optimizer that the run was started with"
        )
