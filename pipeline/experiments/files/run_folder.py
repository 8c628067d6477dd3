"""The folder of one run: refused when taken, written as rows come, trimmed back to the checkpoint of a resume.

    results/runs/<experiment>/<game>/<seed>/
        config.yaml  run.json  episodes.csv  updates.csv  evaluations.csv  checkpoints/  recordings/  discarded/  jobs/

Only the coordinator writes here; hosts need no shared disk. `run.json` gets its `end_reason` last: a folder without one
is of a run that goes on, or that was killed.
Not here: its config (`.saved_config`), reading folders back into tables (`pipeline.results.load`).
"""

import contextlib
import csv
import dataclasses
import io
import json
import os
import uuid
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from pipeline.config.run_config import RunConfig, differences
from pipeline.config.tree import to_yaml
from pipeline.config.words import lines_below
from pipeline.disk import why_unwritable
from pipeline.errors import RunFolderError, UnfitFolderError
from pipeline.experiments.files import checkpoint, run_lock
from pipeline.experiments.files.checkpoint import Checkpoint
from pipeline.experiments.files.deletion import HIDDEN, delete
from pipeline.experiments.files.exact import keep_rows
from pipeline.experiments.files.job_logs import JOBS
from pipeline.experiments.files.newer_rows import set_newer_aside, set_newer_checkpoints_aside
from pipeline.experiments.files.row_lines import columns_of, lines_of, what_is_foreign
from pipeline.experiments.files.saved_config import read_config
from pipeline.rows import ROW_FILES, EpisodeRow, EvaluationRow, Row
from pipeline.run_facts import GENERATION, RUN, facts_in
from pipeline.run_folders import CHECKPOINTS as CHECKPOINTS
from pipeline.run_folders import CONFIG as CONFIG
from pipeline.run_folders import DISCARDED as DISCARDED
from pipeline.run_folders import RECORDINGS as RECORDINGS
from pipeline.whole_file import new_text, whole_text

_ANEW = "delete the run and start anew: overwrite=true"
_OTHER_PLACE = "choose another results_dir"
_MOST_CHANGED = 12
"""Settings that are named of those that are not the run's."""


class RunFolder:
    """Made by `open_folder`. `write` is for one thread at a time, in a process that holds `run_lock`."""

    def __init__(self, path: Path, num_begun: int = 0) -> None:
        """`num_begun`: the highest generation of a run that was deleted here."""
        self._num_begun = num_begun
        self.path = path.absolute()
        """Absolute: the program around a run may go elsewhere (`os.chdir`) while it goes on."""
        self._files: dict[type[Any], io.TextIOWrapper] = {}

    @property
    def checkpoints(self) -> Path:
        """Where the checkpoints are."""
        return self.path / CHECKPOINTS

    @property
    def generation(self) -> int:
        """The highest that has begun here, in a deleted run, too: of one that was killed, roles may go on for a while.

        As far as `run.json` says, which older versions wrote without it; 0 then.
        """
        number: int = self.read_run().get(GENERATION, 0)
        return max(self._num_begun, number)

    def hold(self) -> AbstractContextManager[None]:
        """Refuse every other writer meanwhile. Raises RunFolderError if there is one."""
        return run_lock.hold(self.path / CONFIG)

    def write(self, rows: Sequence[Row]) -> None:
        """Append rows to their files and hand them to the operating system, so that a killed run still has them.

        Raises RunFolderError if the disk refuses them.
        """
        touched = set()
        try:
            # What is written to a file that was deleted is lost without a word.
            if not all(Path(place).exists() for place in (self.path, *(file.name for file in self._files.values()))):
                raise FileNotFoundError("the folder was deleted or moved away while its run went on")
            for row in rows:
                file = self._file(type(row))
                csv.writer(file, lineterminator="\n").writerow(dataclasses.astuple(row))
                touched.add(file)
            for file in touched:
                file.flush()
        except OSError as error:
            raise RunFolderError(f"{self.path}: rows could not be written: {error}") from error

    def write_headers(self, config: RunConfig) -> None:
        """Make the files that are not there yet, so that no rows and no file are told apart."""
        for row_type in _row_types(config):
            self._file(row_type)
        self.close()

    def read_run(self) -> dict[str, Any]:
        """What `run.json` says; empty if there is none, or none that can be read."""
        try:
            return facts_in(self.path)
        except RunFolderError:
            return {}

    def set_aside_unreadable_run(self) -> str | None:
        """Move a `run.json` that cannot be read to `discarded/`; returns a sentence about it, None if nothing was."""
        try:
            facts_in(self.path)
        except RunFolderError as error:
            (self.path / DISCARDED).mkdir(exist_ok=True)
            aside = self.path / DISCARDED / f"{uuid.uuid4().hex[:8]}.{RUN}"
            (self.path / RUN).rename(aside)
            return f"{error.__cause__}: {RUN} was moved to {aside}, and when the run began is not known any more"
        return None

    def write_run(self, values: dict[str, Any]) -> None:
        """Replace `run.json`, whole or not at all."""
        whole_text(self.path / RUN, (json.dumps(values, indent=2) + "\n"))

    def go_back_to(self, start: Checkpoint) -> int:
        """Move all that is newer than this checkpoint to `discarded/`; returns how many lines of rows.

        The training behind it was lost: the run goes on from the checkpoint and will write that time anew.
        """
        set_newer_checkpoints_aside(self.path, start.server.version)
        return set_newer_aside(self.path, start.server.version, start.wall_seconds, start.wall_seconds_of_roles)

    def go_back_exactly(self, start: Checkpoint, num_rows: Mapping[str, int] | None) -> int:
        """The same of a deterministic run, which had made so many rows of each class there.

        `num_rows`: None: no training follows that would make newer ones again, and all rows stay.
        """
        set_newer_checkpoints_aside(self.path, start.server.version)
        return keep_rows(self.path, num_rows)

    def close(self) -> None:
        """Close the row files. Raises RunFolderError, when all are closed, if the disk has refused rows."""
        files, self._files = list(self._files.values()), {}
        try:
            with contextlib.ExitStack() as stack:
                for file in files:
                    stack.callback(file.close)
                for file in files:
                    file.flush()
                    os.fsync(file.fileno())
        except OSError as error:
            raise RunFolderError(f"{self.path}: the last rows could not be written: {error}") from error

    def _file(self, row_type: type[Row]) -> io.TextIOWrapper:
        if row_type not in self._files:
            path = self.path / ROW_FILES[row_type]
            is_new = not path.exists() or path.stat().st_size == 0
            file = self._files[row_type] = path.open("a", newline="", encoding="utf-8")
            if is_new:
                csv.writer(file, lineterminator="\n").writerow(field.name for field in dataclasses.fields(row_type))
        return self._files[row_type]


def check_folder(config: RunConfig, place: Path | None = None) -> None:
    """Raise RunFolderError if the run's folder is taken, cannot be made, or is unfit to be resumed. Changes nothing.

    `place`: where it is (`open_folder`); None: as the config says now.
    """
    path = place or config.folder
    if (why := why_unwritable(path)) is not None:
        raise RunFolderError(f"{path} cannot be written: {why}; {_OTHER_PLACE}")
    if path.is_symlink() and not path.exists():
        raise RunFolderError(
            f"{path} is a link to {path.readlink()}, where nothing is: make that folder, or remove the link"
        )
    exists = (path / CONFIG).exists()
    if not exists and path.exists() and not (path.is_dir() and _is_ours_to_begin(path)):
        raise UnfitFolderError(f"{path} is there and is no run folder: move it away, or choose another results_dir")
    if not exists:
        run_lock.check_possible(path)
    elif config.resume or config.overwrite:
        run_lock.check_free(path / CONFIG)
    if exists and not config.resume and not config.overwrite:
        raise UnfitFolderError(
            f"{path} holds a run already. Go on with it: resume=true. Delete it and start anew: overwrite=true. "
            "Or choose another seed or results_dir"
        )
    if exists and config.resume:
        _check_same_run(path, config)
        _check_checkpoints(path)


def open_folder(config: RunConfig, path: Path) -> RunFolder:
    """The run's folder, new, emptied or to be resumed, as the config says. Raises what `check_folder` raises.

    `path`: where it is, wherever the program around has gone since the config was read.
    """
    # Before the look, which refuses what is no path: a run that another command begins meanwhile is not ours.
    exists = os.path.exists(path / CONFIG)
    check_folder(config, path)
    # A command that waits for the old file finds that it is there no more, and not that it is free.
    with run_lock.hold(path / CONFIG) if exists else contextlib.nullcontext():
        num_begun = RunFolder(path).generation
        if exists and config.overwrite:
            delete(path)
        path.mkdir(parents=True, exist_ok=True)
        folder = RunFolder(path, num_begun)
        # Without it, checkpoints are of no use.
        if exists and not config.overwrite:
            whole_text(path / CONFIG, to_yaml(config))
        else:
            _begin(path / CONFIG, config)
        folder.write_headers(config)
    return folder


def _begin(path: Path, config: RunConfig) -> None:
    try:
        new_text(path, to_yaml(config))
    except FileExistsError as error:  # of two commands that saw no run here, one has been faster
        raise RunFolderError(run_lock.busy(path.parent)) from error


def _is_ours_to_begin(path: Path) -> bool:
    # A start that ended before its config was written leaves no more than this.
    return all(entry.name == JOBS or entry.name.startswith(HIDDEN) for entry in path.iterdir())


def _saved_run(path: Path, config: RunConfig) -> RunConfig:
    try:
        return read_config(path)
    except UnfitFolderError:
        # A resume may have another cluster, and the old one's certificates, say, may be gone.
        return read_config(path, config.cluster)


def _check_same_run(path: Path, config: RunConfig) -> None:
    if changed := differences(_saved_run(path, config), config):
        raise UnfitFolderError(
            f"{path} cannot be resumed with other settings:{lines_below(changed, _MOST_CHANGED)}\n"
            "Give the same settings again, or start another run (another seed or results_dir); with "
            f"init_from={path} it begins with these parameters"
        )
    for row_type in _row_types(config):
        name = ROW_FILES[row_type]
        header = lines_of(path / name).header
        if header and columns_of(header) != [field.name for field in dataclasses.fields(row_type)]:
            way_out = "go on with that version, or start another run (another seed or results_dir)"
            raise UnfitFolderError(f"{path / name} {what_is_foreign(header, way_out)}")


def _check_checkpoints(path: Path) -> None:
    """A start leaves a checkpoint before any role can write."""
    folder = path / CHECKPOINTS
    if folder.is_symlink() and not folder.exists():
        raise RunFolderError(f"{folder} is a link to {folder.readlink()}, where nothing is: is a disk missing?")
    if folder.exists() and not folder.is_dir():
        raise UnfitFolderError(f"{folder} is no folder: put the run's checkpoints there, or {_ANEW}")
    if not checkpoint.any_in(folder) and any(lines_of(path / name).lines for name in set(ROW_FILES.values())):
        raise UnfitFolderError(
            f"{path} has rows of a training, and no checkpoint of it to go on from: put it into {folder}, or {_ANEW}"
        )


def _row_types(config: RunConfig) -> tuple[type[Row], ...]:
    """What a run writes: one kind of update, its algorithm's."""
    return EpisodeRow, config.algorithm.UPDATE_ROW, EvaluationRow
