"""The folder of one run: refused when taken, written as rows come, trimmed back to the checkpoint of a resume.

    results/runs/<experiment>/<game>/<seed>/
        config.yaml  run.json  episodes.csv  updates.csv  evaluations.csv  checkpoints/  recordings/  discarded/  jobs/

Only the coordinator writes here; hosts need no shared disk. `run.json` gets its `end_reason` last: a folder without one
is of a run that goes on, or that was killed.
Not here: reading folders back into tables (`pipeline.results.load`).
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

from pipeline.checked_files import bytes_in
from pipeline.config.run_config import RunConfig, differences
from pipeline.config.tree import Tree, build, to_yaml, tree_from_yaml
from pipeline.disk import why_unwritable
from pipeline.errors import ConfigError, RunFolderError, UnfitFolderError
from pipeline.experiments.files import checkpoint, run_lock
from pipeline.experiments.files.checkpoint import Checkpoint
from pipeline.experiments.files.deletion import HIDDEN, delete
from pipeline.experiments.files.exact import keep_rows
from pipeline.experiments.files.job_logs import JOBS
from pipeline.experiments.files.newer_rows import set_newer_aside, set_newer_checkpoints_aside
from pipeline.experiments.files.row_lines import columns_of, lines_of, what_is_foreign
from pipeline.kinds import is_of_own_class
from pipeline.rows import ROW_FILES, EpisodeRow, EvaluationRow, Row
from pipeline.run_facts import RUN, facts_in
from pipeline.run_folders import CHECKPOINTS as CHECKPOINTS
from pipeline.run_folders import CONFIG as CONFIG
from pipeline.run_folders import DISCARDED as DISCARDED
from pipeline.run_folders import RECORDINGS as RECORDINGS
from pipeline.whole_file import new_text, whole_text

_ANEW = "delete the run and start anew: overwrite=true"
_OTHER_PLACE = "choose another results_dir"
_MOST_MISTAKES, _MOST_CHANGED = 3, 12
"""Settings that are named: as examples of a config that does not fit; of those that are not the run's."""


class RunFolder:
    """Made by `open_folder`. `write` is for one thread at a time, in a process that holds `run_lock`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._files: dict[type[Any], io.TextIOWrapper] = {}

    @property
    def checkpoints(self) -> Path:
        """Where the checkpoints are."""
        return self.path / CHECKPOINTS

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

    def go_back_to(self, start: Checkpoint, num_rows: Mapping[str, int] | None = None) -> int:
        """Move all that is newer than this checkpoint to `discarded/`; returns how many lines of rows.

        The training behind it was lost: the run goes on from the checkpoint and will write that time anew.
        `num_rows`: how many rows of each class a deterministic run had made there.
        """
        set_newer_checkpoints_aside(self.path, start.server.version)
        if num_rows is not None:
            return keep_rows(self.path, num_rows)
        return set_newer_aside(self.path, start.server.version, start.wall_seconds, start.wall_seconds_of_roles)

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


def read_config(path: Path) -> RunConfig:
    """The config of the run whose folder is `path`.

    Raises RunFolderError if there is none, it is of another version of pipeline, or files that it names are gone.
    """
    tree = saved_settings(path)
    check_version(path, tree)
    try:
        return build(tree)
    except ConfigError as error:
        raise names_the_unusable(path, error) from error


def names_the_unusable(path: Path, error: ConfigError) -> UnfitFolderError:
    """What a run folder's config asks for that is gone here, or was changed."""
    return UnfitFolderError(f"{path / CONFIG} names what cannot be used here: {'; '.join(error.mistakes)}")


def saved_settings(path: Path) -> Tree:
    """What `config.yaml` in the run folder `path` says. Raises RunFolderError if there is none, or it is none."""
    try:
        if not (text := bytes_in(path / CONFIG).decode()).strip("\0 \n"):
            raise ValueError("it is empty")
        return tree_from_yaml(text)
    except (OSError, ValueError, ConfigError) as error:
        raise RunFolderError(f"{path / CONFIG} cannot be read: {error}") from error


def check_version(path: Path, tree: Tree, aside: tuple[str, ...] = ("cluster",)) -> None:
    """Raise RunFolderError if the settings of a run folder are of another version of pipeline.

    Those of the groups `aside` do not count: others take their place, or what they name may be gone. Nor do classes of
    the user's own, which may be gone or changed.
    """
    try:
        build(tree)
    except ConfigError as error:
        mistakes = [line for line in error.mistakes if not line.startswith(aside) and not is_of_own_class(line)]
        if not mistakes:
            return
        commit = RunFolder(path).read_run().get("commit")
        which = f", commit {str(commit)[:7]} of it" if commit else ""
        raise UnfitFolderError(
            f"{path / CONFIG} was written by another version of pipeline{which}: go on with that version, or start "
            f"another run (another seed or results_dir). What does not fit:{_below(mistakes, _MOST_MISTAKES)}"
        ) from error


def check_folder(config: RunConfig) -> None:
    """Raise RunFolderError if the run's folder is taken, cannot be made, or is unfit to be resumed. Changes nothing."""
    path = config.folder
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


def open_folder(config: RunConfig) -> RunFolder:
    """The run's folder, new, emptied or to be resumed, as the config says. Raises what `check_folder` raises."""
    path = config.folder
    # Before the look, which refuses what is no path: a run that another command begins meanwhile is not ours.
    exists = os.path.exists(path / CONFIG)
    check_folder(config)
    # A command that waits for the old file finds that it is there no more, and not that it is free.
    with run_lock.hold(path / CONFIG) if exists else contextlib.nullcontext():
        if exists and config.overwrite:
            delete(path)
        path.mkdir(parents=True, exist_ok=True)
        folder = RunFolder(path)
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


def _check_same_run(path: Path, config: RunConfig) -> None:
    if changed := differences(read_config(path), config):
        raise UnfitFolderError(
            f"{path} cannot be resumed with other settings:{_below(changed, _MOST_CHANGED)}\n"
            "Give the same settings again, or start another run (another seed or results_dir); with "
            f"init_from={path} it begins with these parameters"
        )
    for row_type in _row_types(config):
        name = ROW_FILES[row_type]
        header = lines_of(path / name).header
        if header and columns_of(header) != [field.name for field in dataclasses.fields(row_type)]:
            way_out = "go on with that version, or start another run (another seed or results_dir)"
            raise UnfitFolderError(f"{path / name} {what_is_foreign(header, way_out)}")


def _below(lines: Sequence[str], most: int) -> str:
    """Each on a line of its own; of many the first ones, and how many more there are."""
    more = len(lines) - most
    return "".join(f"\n  {line}" for line in [*lines[:most], *([f"and {more} more"] if more > 0 else [])])


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
