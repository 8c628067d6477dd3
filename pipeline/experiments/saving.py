"""When a run takes a checkpoint: every so often while it goes on, and at its end.

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
from pipeline.experiments.files.checkpoint import Checkpoint
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
        """`exact`: takes them of a deterministic run, which has its roles' states beside them."""
        self._exact = exact
        self._folder = folder
        self._config = config
        self._say = say
        self._due_at = time.monotonic() + config.every_minutes * 60
        self._num_missed = 0
        self._taking = Errand[Checkpoint]("pipeline-checkpoint")

    def save(self, fleet: Fleet, roles: Mapping[str, RoleProgress], generation: int) -> Checkpoint:
        """Take one now and write it. Raises what `Fleet.snapshot` raises."""
        self.settle()
        saved = self._take(fleet, roles, generation)
        self._due_at, self._num_missed = time.monotonic() + self._config.every_minutes * 60, 0
        return saved

    @property
    def is_taking(self) -> bool:
        """Whether one was begun by `save_if_due` that has not heard yet what became of it."""
        return self._taking.is_under_way

    def settle(self) -> None:
        """None is taken any more when this returns: none of a generation that is over may come after it."""
        self._taking.settle()

    def save_if_due(self, fleet: Fleet, roles: Mapping[str, RoleProgress], generation: int) -> None:
        """Begin one if it is time, and hear what has become of it: at each turn of a loop, which it does not hold up.

        A shard that does not answer, or a full disk, puts it off, twice in a row at most.
        """
        if not self._taking.is_under_way and time.monotonic() < self._due_at:
            return
        try:
            if self._taking.ask(partial(self._take, fleet, dict(roles), generation)) is not None:
                self._due_at, self._num_missed = time.monotonic() + self._config.every_minutes * 60, 0
        except (CallTimeoutError, UnreachableError, CheckpointError) as error:
            self._num_missed += 1
            if self._num_missed >= _MAX_MISSED:
                raise
            self._due_at = time.monotonic() + _RETRY_SECONDS
            self._say(f"no checkpoint could be taken, it is tried again in {_RETRY_SECONDS:g} s: {error}")

    def save_what_is_left(self, fleet: Fleet, roles: Mapping[str, RoleProgress], generation: int) -> None:
        """Take one of a fleet that ends with an error, if its shards still answer and that version has none yet."""
        self.settle()
        if self._exact is not None:
            return  # roles that failed in mid-step have no state that it could be gone on from bit for bit
        try:
            server = fleet.snapshot()
            # One of the same version was saved in order, with counters that are no older.
            if not checkpoint.path_of(self._folder, server.version).exists():
                checkpoint.save(self._folder, Checkpoint(server, dict(roles), generation), self._config.keep)
        except Exception as error:  # what ended the run counts, not what comes of this
            self._say(f"what was learned last could not be saved: {error or type(error).__name__}")
        else:
            self._say(f"saved as it was at update {server.version:,}")

    def _take(self, fleet: Fleet, roles: Mapping[str, RoleProgress], generation: int) -> Checkpoint:
        if self._exact is not None:
            return self._exact.save(fleet, generation)
        taken = Checkpoint(fleet.snapshot(), dict(roles), generation)
        checkpoint.save(self._folder, taken, self._config.keep)
        return taken
