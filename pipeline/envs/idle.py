"""Emulators that nobody plays any more, for whoever wants the same ones next.

    keep(recipe, emulators)   when lanes are closed
    take(recipe)              when lanes are opened: as new after their first reset, which gives every lane a seed

ale-py computes a table of colours for each lane that it makes, 0.13 s, and holds Python's lock meanwhile. A run opens
the same lanes again and again: for each player of an evaluation, and for roles that go back to a checkpoint.
Not here: making and playing them (`pipeline.envs.atari`).
"""

import ctypes
import threading
from typing import NamedTuple

from ale_py.vector_env import AtariVectorEnv

from pipeline.envs.protocol import EnvironmentConfig

MAX_IDLE_LANES = 32
"""Kept in one process, the newest ones; a lane takes 1.6 MiB. Ours: what two bundles of 16 play."""


class Recipe(NamedTuple):
    """All that emulators are made from."""

    game: str
    config: EnvironmentConfig
    num_lanes: int
    num_threads: int


class IdleEmulators:
    """Used by several threads."""

    def __init__(self, max_lanes: int = MAX_IDLE_LANES) -> None:
        self._max_lanes = max_lanes
        self._lock = threading.Lock()
        self._kept: list[tuple[Recipe, AtariVectorEnv]] = []
        """Oldest first."""

    def take(self, recipe: Recipe) -> AtariVectorEnv | None:
        """Those that were kept last of what was made so; None if there are none."""
        with self._lock:
            for index in reversed(range(len(self._kept))):
                if self._kept[index][0] == recipe:
                    return self._kept.pop(index)[1]
            return None

    def keep(self, recipe: Recipe, emulators: AtariVectorEnv) -> None:
        """Emulators that nobody uses from now on. The oldest end where room is short, these where there is none."""
        if recipe.num_lanes > self._max_lanes:
            end_emulators(emulators)
            return
        with self._lock:
            self._kept.append((recipe, emulators))
            surplus = sum(kept.num_lanes for kept, _ in self._kept) - self._max_lanes
            while surplus > 0:
                oldest, ended = self._kept.pop(0)
                surplus -= oldest.num_lanes
                end_emulators(ended)

    def forget_after_fork(self) -> None:
        """In a child process that was forked: its copies of the emulators have no threads, and would never answer.

        Nor can they be ended: to delete one aborts the process.
        """
        self._lock = threading.Lock()
        for _, emulators in self._kept:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(emulators.ale))  # so that nothing ever deletes it
        self._kept = []

    def end_all(self) -> None:
        """Before the process ends: ale-py writes a warning to the terminal for each that is left."""
        with self._lock:
            while self._kept:
                end_emulators(self._kept.pop()[1])


def end_emulators(emulators: AtariVectorEnv) -> None:
    """Stop their threads. They cannot be used afterwards."""
    emulators.close()
    del emulators.ale  # its threads end with the object; ale-py's own close() leaves them running
