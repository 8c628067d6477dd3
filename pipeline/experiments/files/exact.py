"""What goes beside a checkpoint so that a run goes on from it bit for bit: the state of its roles.

    checkpoints/000000012000.npz                   the server and the counters (`pipeline.experiments.files.checkpoint`)
    checkpoints/exact/000000012000.npz             of the same moment:
        bundle-0/learner.outliers..., bundle-0/    arrays and JSON of each role's state (`pipeline.states`)
        meta                                       UTF-8 JSON: format, progress of the run, rows written so far
    checkpoints/exact/frames/bundle-0/...          frames of the replays (`pipeline.replay.frame_files`)

Frames are written first, then the states, then the checkpoint: one that is there is whole. No file needs unpickling.
Not here: when (`pipeline.experiments.saving`), what the states are (`pipeline.roles`).
"""

import contextlib
import dataclasses
import json
from collections.abc import Mapping
from itertools import compress
from operator import not_
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pipeline.checked_files import arrays_in, as_declared, json_in
from pipeline.errors import CheckpointError
from pipeline.experiments.files.row_lines import Lines, columns_of, lines_of, row_in, set_aside
from pipeline.numbered_files import numbers_in, path_of
from pipeline.replay.frame_files import FrameFiles, HeldSteps
from pipeline.replay.frames import FrameReader
from pipeline.roles.cuts import Cut, PackedStates
from pipeline.roles.progress import RoleProgress
from pipeline.rows import ROW_FILES, EvaluationRow, Row
from pipeline.run_folders import DISCARDED
from pipeline.states import unpack
from pipeline.whole_file import whole_arrays, whole_file

FORMAT = 1
EXACT = "exact"
"""Name of the folder below that of the checkpoints."""
_META = "meta"
_MOST_AXES = 6
_MOST_BYTES = 2**33
"""What a file may unpack to: frames, which are the most of a replay, lie elsewhere."""
_FRAMES = "frames"


class SavedStates(NamedTuple):
    """What the file holds."""

    states: PackedStates
    num_rows: dict[str, int]
    progress: dict[str, RoleProgress]
    generation: int
    frames_from: dict[str, int]
    """By replay: the oldest step that it holds."""


class ExactFiles:
    """Of one run, in the folder of its checkpoints."""

    def __init__(self, checkpoints: Path, state: type[Any]) -> None:
        """`state`: what each role's is (`pipeline.states`)."""
        self._folder = checkpoints / EXACT
        self._state = state
        self._frames: dict[str, FrameFiles] = {}
        self._frames_from: dict[int, Mapping[str, int]] = {}
        """By version of what was written or read: the first step of each replay that it needs."""

    def begin(self, cut: Cut) -> dict[str, HeldSteps]:
        """The frames that this cut needs and no file has; its roles stand."""
        return {name: self._frames_of(name).begin(reader) for name, reader in cut.frames.items()}

    def write(self, version: int, cut: Cut, held: Mapping[str, HeldSteps], generation: int) -> None:
        """Write what goes beside the checkpoint of `version`, while roles go on. Raises CheckpointError."""
        try:
            # Not the folders above: where a run folder was deleted, this alone is of no use.
            self._folder.mkdir(exist_ok=True)
            for name, steps in held.items():
                self._frames_of(name).write(cut.frames[name], steps)
        except OSError as error:
            raise CheckpointError(f"{self._folder} could not be made: {error}") from error
        finally:
            for reader in cut.frames.values():
                reader.done()
        meta = {
            "format": FORMAT,
            "num_rows": cut.num_rows,
            "progress": {cut.role: cut.progress._asdict()},
            "generation": generation,
            "frames_from": {name: steps.held_from for name, steps in held.items()},
        }
        arrays = {f"{role}/{name}": array for role, packed in cut.states.items() for name, array in packed.items()}
        arrays[_META] = np.frombuffer(json.dumps(meta).encode(), np.uint8)
        try:
            whole_arrays(self.path_of(version), arrays)
        except OSError as error:
            raise CheckpointError(f"{self.path_of(version)} could not be written: {error}") from error
        self._frames_from[version] = {name: steps.held_from for name, steps in held.items()}

    def path_of(self, version: int) -> Path:
        """Where the states beside the checkpoint of this version are, or would be."""
        return path_of(self._folder, version)

    def load(self, version: int) -> SavedStates:
        """The states beside a checkpoint. Raises CheckpointError if they are damaged, missing or of another format."""
        path = self.path_of(version)
        try:
            arrays = arrays_in(path, _MOST_BYTES, _MOST_AXES)
            meta = json_in(arrays.pop(_META, np.zeros(0)).tobytes())
            if (number := meta.pop("format", None)) != FORMAT:
                raise CheckpointError(f"{path} has format {number}, this version of pipeline reads {FORMAT}")
            saved = _checked(meta, arrays)
            self._check(path, saved.states)
        except (OSError, ValueError) as error:
            raise CheckpointError(f"{path} cannot be read: {error}") from error
        self._frames_from[version] = saved.frames_from
        return saved

    def _check(self, path: Path, states: PackedStates) -> None:
        # Here, where an older one can be taken, and not by the role that goes on from it.
        for role, packed in states.items():
            try:
                unpack(self._state, packed)
            except CheckpointError as error:
                raise CheckpointError(f"{path} cannot be read: {role}: {error}") from error

    def load_frames(self, replay: str, reader: FrameReader) -> None:
        """Put back the frames of a replay whose state is restored."""
        self._frames_of(replay).load(reader)

    def versions(self) -> list[int]:
        """Of the checkpoints that have states beside them, the newest first."""
        return [version for version in self._with_states() if self._checkpoint_of(version).exists()]

    def delete_without_checkpoint(self, frames: Mapping[str, FrameReader]) -> None:
        """Delete the states whose checkpoint is gone, and frames that no others need."""
        for version in self._with_states():
            if not self._checkpoint_of(version).exists():
                # As of checkpoints: one that cannot be deleted is no reason to end a training.
                with contextlib.suppress(OSError):
                    self.path_of(version).unlink()
        kept = [self._needed_by(version) for version in self.versions()]
        for name, reader in frames.items():
            if wanted := [one[name] for one in kept if name in one]:
                self._frames_of(name).delete_before(min(wanted), reader)

    def _needed_by(self, version: int) -> Mapping[str, int]:
        if version not in self._frames_from:
            # Nobody can go on from what is damaged, and so it needs nothing.
            with contextlib.suppress(CheckpointError):
                self.load(version)
        return self._frames_from.setdefault(version, {})

    def _with_states(self) -> list[int]:
        return numbers_in(self._folder)[::-1]

    def _checkpoint_of(self, version: int) -> Path:
        return path_of(self._folder.parent, version)

    def _frames_of(self, replay: str) -> FrameFiles:
        return self._frames.setdefault(replay, FrameFiles(self._folder / _FRAMES / replay))


def keep_rows(run: Path, num_rows: Mapping[str, int] | None) -> int:
    """Move all but the first so many rows of a run folder, by their class, to `discarded/`; returns how many lines.

    None: all rows stay, as evaluations do, which score parameters of the past. Lines that are no rows (cut short,
    damaged) go in any case. Nobody else writes rows meanwhile.
    """
    num_discarded = 0
    for row_type, (header, lines) in _files_of(run).items():
        limit = None if num_rows is None or row_type is EvaluationRow else num_rows.get(row_type.__name__, 0)
        newer = len(lines) if limit is None else limit
        stays = [i < newer and row_in(line, (row_type,), header) is not None for i, line in enumerate(lines)]
        if not all(stays):
            set_aside(run / DISCARDED / ROW_FILES[row_type], [*compress(lines, map(not_, stays))])
            with whole_file(run / ROW_FILES[row_type]) as file:
                file.writelines([header, *compress(lines, stays)])
        num_discarded += stays.count(False)
    return num_discarded


def rows_there(run: Path, num_rows: Mapping[str, int]) -> dict[str, int]:
    """Of the first so many rows of a run folder, by their class, how many are there, whole."""
    there = dict.fromkeys(num_rows, 0)
    for row_type, (header, lines) in _files_of(run).items():
        if (name := row_type.__name__) in there:
            there[name] = sum(row_in(line, (row_type,), header) is not None for line in lines[: num_rows[name]])
    return there


def has_lines(run: Path, num_rows: Mapping[str, int]) -> bool:
    """Whether a run folder has as many lines of rows, by their class, whatever is in them."""
    files = {row_type.__name__: file for row_type, file in _files_of(run).items()}
    return all(name in files and len(files[name].lines) >= number for name, number in num_rows.items() if number)


def _files_of(run: Path) -> dict[type[Row], Lines]:
    """Those of a run folder whose columns are a class's."""
    files = {row_type: lines_of(run / name) for row_type, name in ROW_FILES.items()}
    return {
        row_type: file
        for row_type, file in files.items()
        if columns_of(file.header) == [field.name for field in dataclasses.fields(row_type)]
    }


def _checked(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> SavedStates:
    """Raises ValueError with what is wrong."""
    progress, generation = meta.get("progress"), meta.get("generation")
    if not isinstance(progress, dict) or type(generation) is not int or generation < 0:
        raise ValueError("progress or generation is missing")
    states: dict[str, dict[str, np.ndarray]] = {}
    for name, array in arrays.items():
        role, slash, rest = name.partition("/")
        if not slash:
            raise ValueError(f"{name} is no array of a role")
        states.setdefault(role, {})[rest] = array
    of_roles = {role: as_declared(RoleProgress, values) for role, values in progress.items()}
    return SavedStates(states, _counts(meta, "num_rows"), of_roles, generation, _counts(meta, "frames_from"))


def _counts(meta: Mapping[str, Any], name: str) -> dict[str, int]:
    found = meta.get(name)
    if not isinstance(found, dict) or not all(type(count) is int and count >= 0 for count in found.values()):
        raise ValueError(f"{name} is no list of whole numbers from 0 on")
    return found
