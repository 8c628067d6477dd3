"""Saves a replay beside its owner's work, and finds what an earlier start of the same owner has saved.

    checkpoints/replay/bundle-0/000000001003/    of the owner's third start
        state.npz                                all but the frames (`pipeline.states`), and its format
        frames/0/...                             frames of its first writer (`pipeline.replay.frame_files`)

Its owner goes on meanwhile. Each start writes to a folder of its own, so that a host that was given up, and writes on,
spoils nothing; once it is whole, those of earlier starts are deleted. What is read is checked, and a start whose files
are damaged is passed over. The replay is as new as its newest save, whatever the parameters are that learning goes on
from: nothing is exact here (docs/decisions/0039-free-running-roles-keep-their-replay.md).
Not here: exact checkpoints (`pipeline.experiments.exact`), who owns a replay (`pipeline.roles`).
"""

import logging
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pipeline.checked_files import arrays_in
from pipeline.errors import CheckpointError, ConfigError
from pipeline.numbered_files import number_of
from pipeline.replay.frame_files import FrameFiles, HeldSteps
from pipeline.replay.memory import ReplayMemory, ReplayState
from pipeline.states import pack, unpack
from pipeline.whole_file import whole_arrays

_FORMAT = 1
_FORMAT_NAME = "format"
STATE, _FRAMES = "state.npz", "frames"
_MOST_BYTES = 2**33
"""What the state may unpack to: frames, which are the most of a replay, lie elsewhere."""
_MOST_AXES = 2

_LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True)
class KeptReplays:
    """Where the owners of a run's replays save them, and how often."""

    folder: str
    """Absolute, below the run's folder; each owner has one of its own in it."""
    every_seconds: float

    def check(self) -> None:
        """Raise ConfigError if this host does not see the run's folder."""
        if not Path(self.folder).parent.is_dir():
            raise ConfigError(
                [
                    f"checkpoint.replay=true: this host does not see {Path(self.folder).parent}: results_dir has to "
                    "lie on a disk that all hosts share, or leave checkpoint.replay=false"
                ]
            )

    def are_there(self) -> bool:
        """Whether any was saved; of one whose first save has not ended nothing is."""
        return any(Path(self.folder).glob(f"*/*/{STATE}"))


def kept(
    make: Callable[[], ReplayMemory], where: KeptReplays | None, owner: str, start: int
) -> tuple[ReplayMemory, "ReplayKeeper | None"]:
    """The replay of this owner, with what its earlier starts have saved, and its keeper.

    An empty one and None, if replays are not kept. Raises as `KeptReplays.check`.
    """
    if where is None:
        return make(), None
    where.check()
    keeper = ReplayKeeper(make, Path(where.folder) / owner, start, where.every_seconds)
    return keeper.memory, keeper


class ReplayKeeper:
    """Of one replay. For its owner's thread; it writes in one of its own."""

    def __init__(
        self,
        make: Callable[[], ReplayMemory],
        folder: Path,
        start: int,
        every_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`make` gives an empty replay; `folder` is the owner's; `start` is the number of its start alone."""
        self._folder = folder
        self._own = folder / f"{start:012d}"
        self._every_seconds = every_seconds
        self._clock = clock
        self.memory = self._found(make, start) or make()
        """The replay: what was found, else an empty one."""
        self._files = _frame_files(self._own, self.memory)
        self._saved_at = clock()
        self._writing: threading.Thread | None = None
        self._has_failed = False

    def save_if_due(self) -> None:
        """Begin to save, if it is time and nothing is being written. Returns within milliseconds."""
        if self._clock() >= self._saved_at + self._every_seconds and not self._is_writing():
            self._begin()

    def close(self) -> None:
        """Save what is new, and wait until it is written."""
        if self._writing is not None:
            self._writing.join()
        self._begin()
        if self._writing is not None:
            self._writing.join()

    def _is_writing(self) -> bool:
        return self._writing is not None and self._writing.is_alive()

    def _begin(self) -> None:
        if self._has_failed:
            return
        self._saved_at = self._clock()
        held = [files.begin(reader) for files, reader in zip(self._files, self.memory.frames, strict=True)]
        self._writing = threading.Thread(
            target=self._write, args=(self.memory.state(), held), name="replay-keeper", daemon=True
        )
        self._writing.start()

    def _write(self, state: ReplayState, held: list[HeldSteps]) -> None:
        try:
            # Where a run folder was deleted, a replay alone is of no use, and would stand in the next run's way.
            if not (checkpoints := self._folder.parents[1]).is_dir():
                raise FileNotFoundError(f"{checkpoints} is there no more")
            # In turn, a stretch of each: of a full replay a writer's next step waits until its oldest one is written,
            # and whoever else comes to the owner waits behind it.
            left = [
                (files.written(reader, steps), reader)
                for files, reader, steps in zip(self._files, self.memory.frames, held, strict=True)
            ]
            while left:
                for stretches, reader in list(left):
                    if next(stretches, None) is None:
                        reader.done()
                        left.remove((stretches, reader))
            whole_arrays(self._own / STATE, pack(state) | {_FORMAT_NAME: np.array([_FORMAT])})
            for files, reader, steps in zip(self._files, self.memory.frames, held, strict=True):
                files.delete_before(steps.held_from, reader)
            for older in self._starts():
                if older < self._own:
                    shutil.rmtree(older, ignore_errors=True)
        except (CheckpointError, OSError) as error:
            # What is learned is worth more than what could be learned from again.
            self._has_failed = True
            _LOGGER.warning("%s is saved no more: %s", self._own, error)
        finally:
            for reader in self.memory.frames:
                reader.done()

    def _found(self, make: Callable[[], ReplayMemory], start: int) -> ReplayMemory | None:
        for older in reversed(self._starts()):
            if older.name < f"{start:012d}" and (older / STATE).exists():
                memory = make()
                try:
                    load(older, memory)
                except CheckpointError as error:
                    _LOGGER.warning("%s; a replay before it is taken, or an empty one", error)
                else:
                    return memory
        return None

    def _starts(self) -> list[Path]:
        there = self._folder.iterdir() if self._folder.is_dir() else ()
        return sorted(path for path in there if number_of(path.name) is not None and path.is_dir())


def load(folder: Path, memory: ReplayMemory) -> None:
    """Put back what one start has saved, but for its random stream: a new start draws its own.

    Raises CheckpointError, after which the memory is of no use.
    """
    path = folder / STATE
    try:
        arrays = arrays_in(path, _MOST_BYTES, _MOST_AXES)
        if (number := arrays.pop(_FORMAT_NAME, np.zeros(0)).tolist()) != [_FORMAT]:
            raise ValueError(f"it has format {number}, this version of pipeline reads {_FORMAT}")
        state = unpack(ReplayState, arrays)
        if not (np.isfinite(state.ring.reward).all() and np.isfinite(state.ring.continues).all()):
            raise ValueError("it has rewards that are no numbers")
        stream = memory.state().sampler.stream
        memory.restore(state._replace(sampler=state.sampler._replace(stream=stream)))
        memory.check_valid()
    except (OSError, ValueError, AssertionError, CheckpointError) as error:
        raise CheckpointError(f"{path} cannot be read: {error}") from error
    for files, reader in zip(_frame_files(folder, memory), memory.frames, strict=True):
        files.load(reader)


def _frame_files(folder: Path, memory: ReplayMemory) -> list[FrameFiles]:
    return [FrameFiles(folder / _FRAMES / str(writer)) for writer in range(len(memory.frames))]
