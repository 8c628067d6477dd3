"""A deterministic run's checkpoints: cuts of it, written beside its training, and what it goes on from, bit for bit.

    take     its roles stand: their states, the shards' snapshot, which frames are new     milliseconds
    write    frames, states, checkpoint                                                     while the training goes on

Not here: when (`pipeline.experiments.saving`), the files (`pipeline.experiments.files.exact`), why such a run repeats
itself (`pipeline.roles.turns`).
"""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pipeline.algorithms.config import AlgorithmConfig
from pipeline.config.run_config import RunConfig
from pipeline.config.words import listed
from pipeline.errors import CheckpointError, ConfigError
from pipeline.experiments.files import checkpoint
from pipeline.experiments.files.checkpoint import Checkpoint, Fit
from pipeline.experiments.files.exact import EXACT, ExactFiles, SavedStates, has_lines, rows_there
from pipeline.experiments.files.run_folder import CHECKPOINTS
from pipeline.numbered_files import path_of
from pipeline.roles.cuts import CutDesk, StartState
from pipeline.roles.role import role_of
from pipeline.rows import ROW_FILES
from pipeline.topologies.fleet import Fleet

_STAND_SECONDS = 60.0
"""How long roles may take to finish their steps."""
_ROW_SECONDS = 10.0
"""How long rows may take from a role to their file; longer, and the disk refuses them, say."""
_LOOK_SECONDS = 0.05


def state_of(algorithm: AlgorithmConfig) -> type[Any]:
    """What the state of its role is. Raises ConfigError for one that cannot be saved and restored bit for bit."""
    role = role_of(type(algorithm))
    if role.STATE is None:
        raise ConfigError(
            [
                f"deterministic=true: {role.__name__}, which carries out algorithm.kind={algorithm.kind}, has no "
                "state: give it a STATE, state() and restore(), or leave deterministic=false"
            ]
        )
    return role.STATE


def exact_run(config: RunConfig) -> "ExactRun | None":
    """That of a deterministic run; None: this one is not. Raises as `state_of`."""
    if not config.deterministic:
        return None
    return ExactRun(config.folder, config.checkpoint.keep, state_of(config.algorithm))


class ExactRun:
    """Takes and writes the cuts of one run, and finds what it goes on from."""

    def __init__(self, run: Path, keep: int, state: type[Any]) -> None:
        """`run`: its folder; `state`: what each role's is."""
        self.desk = CutDesk()
        """Where its roles come by."""
        self._run = run
        self._checkpoints = run / CHECKPOINTS
        self._keep = keep
        self._files = ExactFiles(self._checkpoints, state)

    def save(self, fleet: Fleet, generation: int) -> Checkpoint:
        """Take a cut now, let the roles go on, and write it. Raises what `Fleet.snapshot` and writing raise."""
        cut = self.desk.take(_STAND_SECONDS)
        try:
            # The frames last: once they are wanted, somebody has to read them.
            server, held = fleet.snapshot(), self._files.begin(cut)
        finally:
            self.desk.release()
        saved = Checkpoint(server, {cut.role: cut.progress}, generation)
        self._files.write(server.version, cut, held, generation)
        self._await_rows(cut.num_rows)
        checkpoint.save(self._checkpoints, saved, self._keep)
        self._files.delete_without_checkpoint(cut.frames)
        return saved

    def _await_rows(self, num_rows: Mapping[str, int]) -> None:
        """Let the rows that the cut counts come to their files, on their way as they are. A killed run keeps those."""
        deadline = time.monotonic() + _ROW_SECONDS
        while not has_lines(self._run, num_rows) and time.monotonic() < deadline:
            time.sleep(_LOOK_SECONDS)

    def find_start(self, fit: Fit, say: Callable[[str], None]) -> tuple[Checkpoint, dict[str, int]] | None:
        """The newest whole cut that fits, from which the roles will begin, and its number of rows, by their class.

        Rows that a cut counts and no file has would never be made again: one that has all of them goes first. None
        where there is none yet: the run begins anew. `say` is told of each newer one that was passed over, and of rows
        that are lost. Raises CheckpointError, naming what is damaged, if there is none left.
        """
        damaged: list[str] = []
        unread: list[str] = []
        lacking: list[tuple[Checkpoint, SavedStates, dict[str, int]]] = []
        for version in self._files.versions():
            try:
                start = checkpoint.load(path_of(self._checkpoints, version), fit)
                saved = self._files.load(version)
            except CheckpointError as error:
                damaged.append(str(error))
                unread.append(str(error))
                continue
            if (there := rows_there(self._run, saved.num_rows)) != saved.num_rows:
                lacking.append((start, saved, there))
                damaged.append(f"{_lost(saved.num_rows, there)} of the checkpoint of update {version:,} are not whole")
                continue
            for line in damaged:
                say(f"{line}; the checkpoint before it is taken")
            return self._begin_at(start, saved, there)
        if lacking:
            # The newest of those that cost the fewest rows.
            start, saved, there = min(lacking, key=lambda cut: sum(cut[1].num_rows.values()) - sum(cut[2].values()))
            for line in unread:
                say(line)
            say(
                f"{_lost(saved.num_rows, there)} are lost, which the checkpoint of update {start.server.version:,} "
                "counts: they are not whole, and no checkpoint has all of its rows"
            )
            return self._begin_at(start, saved, there)
        if damaged:
            raise CheckpointError("; ".join(["no checkpoint can be gone on from bit for bit", *damaged]))
        # That of update 0 has none beside it.
        if checkpoint.newest_version(self._checkpoints) > 0:
            raise CheckpointError(
                f"no checkpoint can be gone on from bit for bit: {self._checkpoints / EXACT} lacks what belongs to "
                "them; put it back"
            )
        return None

    def _begin_at(
        self, start: Checkpoint, saved: SavedStates, there: dict[str, int]
    ) -> tuple[Checkpoint, dict[str, int]]:
        self.desk.start = StartState(saved.states, there, self._files.load_frames)
        return start._replace(progress=saved.progress, generation=saved.generation), saved.num_rows


def _lost(num_rows: Mapping[str, int], there: Mapping[str, int]) -> str:
    """How many rows of which file are not there."""
    files = {row_type.__name__: name for row_type, name in ROW_FILES.items()}
    return listed(
        f"{number - there[name]} rows of {files.get(name, name)}"
        for name, number in num_rows.items()
        if number > there[name]
    )
