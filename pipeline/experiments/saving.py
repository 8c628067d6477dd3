"""When a run takes a checkpoint, and what it keeps in memory between two of them.

    every so many minutes    shards -> memory of the command -> file
    every so many seconds    shards -> memory of the command            for a host that dies with its shards

Not here: what a checkpoint is and its file (`pipeline.experiments.files.checkpoint`).
"""

import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from pipeline.config.course import CheckpointConfig
from pipeline.errand import Errand
from pipeline.errors import CallTimeoutError, CheckpointError, UnreachableError
from pipeline.experiments.exact import ExactRun
from pipeline.experiments.files import checkpoint
from pipeline.experiments.files.checkpoint import Checkpoint, Fit
from pipeline.numbered_files import path_of
from pipeline.roles.progress import RoleProgress
from pipeline.topologies.fleet import Fleet

_RETRY_SECONDS = 60.0
_MAX_MISSED = 3
"""Checkpoints in a row that could not be taken, after which the run ends: it would go on without a net."""


class Saver:
    """Takes checkpoints of the fleets of one run."""

    def __init__(
        self, folder: Path, config: CheckpointConfig, say: Callable[[str], None], exact: ExactRun | None = None
    ) -> None:
        """`exact`: takes them of a deterministic run, which has its roles' states beside them, and none in memory."""
        self._exact = exact
        self._folder = folder
        self._config = config
        self._say = say
        self._memory_seconds = float("inf") if exact or config.memory_seconds is None else config.memory_seconds
        self._kept: Checkpoint | None = None
        self._num_missed = 0
        self._taking = Errand[Checkpoint]("pipeline-checkpoint")
        self._is_for_file = False
        """Of what is being taken."""
        self._file_due_at = self._memory_due_at = 0.0
        self._put_off()

    def save(self, fleet: Fleet, roles: Mapping[str, RoleProgress], generation: int) -> Checkpoint:
        """Take one now and write it. Raises what `Fleet.snapshot` raises."""
        self.settle()
        saved = self._take(fleet, roles, generation)
        self._put_off()
        return saved

    def settle(self) -> None:
        """None is taken any more when this returns: none of a generation that is over may come after it."""
        self._taking.settle()

    def save_if_due(self, fleet: Fleet, roles: Mapping[str, RoleProgress], generation: int) -> None:
        """Begin one if it is time, and hear what has become of it: at each turn of a loop, which it does not hold up.

        A shard that does not answer, or a full disk, puts a checkpoint off, twice in a row at most.
        """
        if not self._taking.is_under_way:
            now = time.monotonic()
            if now < min(self._file_due_at, self._memory_due_at):
                return
            self._is_for_file = now >= self._file_due_at
        take = self._take if self._is_for_file else _snapshot
        try:
            taken = self._taking.ask(partial(take, fleet, dict(roles), generation))
        except (CallTimeoutError, UnreachableError, CheckpointError) as error:
            self._missed(error)
            return
        if taken is None:
            return
        if self._memory_seconds < float("inf") and checkpoint.is_finite(taken.server):
            self._kept = taken
        if self._is_for_file:
            self._put_off()
        else:
            self._memory_due_at = time.monotonic() + self._memory_seconds

    def newest(self, fit: Fit) -> Checkpoint:
        """What to go back to: what is kept in memory, which is written now, or the newest file if that is newer.

        Raises CheckpointError if nothing is kept and no file can be used.
        """
        self.save_kept()
        kept = self._kept
        try:
            in_file = checkpoint.load_newest(self._folder, fit, self._say)
        except CheckpointError:
            if kept is None:
                raise
            return kept
        return in_file if kept is None or kept.server.version <= in_file.server.version else kept

    def save_kept(self) -> None:
        """Write what is kept in memory, of a fleet that cannot be asked any more; a disk that refuses it is said."""
        if self._kept is None or self._kept.server.version <= checkpoint.newest_version(self._folder):
            return
        try:
            checkpoint.save(self._folder, self._kept, self._config.keep)
        except CheckpointError as error:
            self._say(f"what was kept in memory could not be saved: {error}")
        else:
            self._say(f"saved as the command had it in memory, at update {self._kept.server.version:,}")

    def save_what_is_left(self, fleet: Fleet, roles: Mapping[str, RoleProgress], generation: int) -> None:
        """Take one of a fleet that ends with an error, if its shards still answer and that version has none yet."""
        self.settle()
        if not fleet.has_servers:
            self.save_kept()
            return
        if self._exact is not None:
            return  # roles that failed in mid-step have no state that it could be gone on from bit for bit
        try:
            server = fleet.snapshot()
            # One of the same version was saved in order, with counters that are no older.
            if not path_of(self._folder, server.version).exists():
                checkpoint.save(self._folder, Checkpoint(server, dict(roles), generation), self._config.keep)
        except Exception as error:  # what ended the run counts, not what comes of this
            self._say(f"what was learned last could not be saved: {error or type(error).__name__}")
            self.save_kept()
        else:
            self._say(f"saved as it was at update {server.version:,}")

    def _put_off(self) -> None:
        now = time.monotonic()
        self._file_due_at, self._num_missed = now + self._config.every_minutes * 60, 0
        self._memory_due_at = now + self._memory_seconds

    def _missed(self, error: Exception) -> None:
        self._memory_due_at = time.monotonic() + self._memory_seconds
        if not self._is_for_file:
            return  # the next one may be taken, and whoever is lost is found by others
        self._num_missed += 1
        if self._num_missed >= _MAX_MISSED:
            raise error
        self._file_due_at = time.monotonic() + _RETRY_SECONDS
        self._say(f"no checkpoint could be taken, it is tried again in {_RETRY_SECONDS:g} s: {error}")

    def _take(self, fleet: Fleet, roles: Mapping[str, RoleProgress], generation: int) -> Checkpoint:
        if self._exact is not None:
            return self._exact.save(fleet, generation)
        taken = _snapshot(fleet, roles, generation)
        checkpoint.save(self._folder, taken, self._config.keep)
        return taken


def _snapshot(fleet: Fleet, roles: Mapping[str, RoleProgress], generation: int) -> Checkpoint:
    return Checkpoint(fleet.snapshot(), dict(roles), generation)
