"""When a run takes a checkpoint: every so often while it goes on, and at its end.

Not here: what a checkpoint is and its file (`pipeline.experiments.files.checkpoint`).
"""

import contextlib
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from pipeline.config.course import CheckpointConfig
from pipeline.errors import CallTimeoutError, CheckpointError, UnreachableError
from pipeline.experiments.files import checkpoint
from pipeline.experiments.files.checkpoint import Checkpoint
from pipeline.roles.progress import RoleProgress
from pipeline.topologies.fleet import Fleet

_RETRY_SECONDS = 60.0
_MAX_MISSED = 3
"""Checkpoints in a row that could not be taken, after which the run ends: it would go on without a net."""


class Saver:
    """Takes checkpoints of the fleets of one run."""

    def __init__(self, folder: Path, config: CheckpointConfig, say: Callable[[str], None]) -> None:
        self._folder = folder
        self._config = config
        self._say = say
        self._due_at = time.monotonic() + config.every_minutes * 60
        self._num_missed = 0

    def save(self, fleet: Fleet, roles: Mapping[str, RoleProgress], generation: int) -> Checkpoint:
        """Take one now and write it. Raises what `Fleet.snapshot` raises."""
        saved = Checkpoint(fleet.snapshot(), dict(roles), generation)
        checkpoint.save(self._folder, saved, self._config.keep)
        self._due_at, self._num_missed = time.monotonic() + self._config.every_minutes * 60, 0
        return saved

    def save_if_due(self, fleet: Fleet, roles: Mapping[str, RoleProgress], generation: int) -> None:
        """Take one if it is time. A shard that does not answer, or a full disk, puts it off, twice in a row at most."""
        if time.monotonic() < self._due_at:
            return
        try:
            self.save(fleet, roles, generation)
        except (CallTimeoutError, UnreachableError, CheckpointError) as error:
            self._num_missed += 1
            if self._num_missed >= _MAX_MISSED:
                raise
            self._due_at = time.monotonic() + _RETRY_SECONDS
            self._say(f"no checkpoint could be taken, it is tried again in {_RETRY_SECONDS:g} s: {error}")

    def save_what_is_left(self, fleet: Fleet, roles: Mapping[str, RoleProgress], generation: int) -> None:
        """Take one of a fleet that ends with an error, if its shards still answer and that version has none yet."""
        # What ended the run counts, not what comes of this.
        with contextlib.suppress(Exception):
            server = fleet.snapshot()
            # One of the same version was saved in order, with counters that are no older.
            if not checkpoint.path_of(self._folder, server.version).exists():
                checkpoint.save(self._folder, Checkpoint(server, dict(roles), generation), self._config.keep)
