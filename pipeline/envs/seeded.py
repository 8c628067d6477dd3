"""Lanes whose every episode has a seed of its own, so that they can be put back where they were in mid-episode.

    lane 0   seed s0: a a a ... end   seed s1: a a a a a |      | what is kept of it: its first seed, that this is its
    lane 1   seed t0: a a a a a a a a a a a a a a a a a a |     | second episode, and the actions since

To restore all lanes, each plays the actions of its episode again from its seed; those with fewer begin later, so that
all arrive together. Sticky actions, no-ops and a frame cap come again by themselves, since they follow from seed and
actions (`pipeline.envs.episodes`).

A seed for each episode costs what a ROM's loading does, some 70 ms in which all lanes wait, so that only those have it
who ask for it. Not here: the emulator (`pipeline.envs.atari`), random frame skips (`pipeline.envs.due_lanes`).
"""

from typing import NamedTuple

import numpy as np

from pipeline import seeding
from pipeline.envs.atari import AtariLanes, LaneResults
from pipeline.envs.protocol import EnvironmentConfig
from pipeline.errors import CheckpointError
from pipeline.types import BoolArray, Int64Array, UInt8Array


class LanesState(NamedTuple):
    """Where E lanes are, as the way to get there again."""

    first_seeds: Int64Array
    """(E,): of each lane's first episode; those of all later ones follow from it."""
    num_ended: Int64Array
    """(E,): episodes of each lane before the one that it is in."""
    num_actions: Int64Array
    """(E,): actions since that one began, those behind its end not counted."""
    actions: UInt8Array
    """These actions, lane after lane."""


class SeededLanes(AtariLanes):
    """AtariLanes that restart from seeds. The step after an end is the same: it ignores its action."""

    def __init__(self, game: str, config: EnvironmentConfig, num_lanes: int, num_threads: int) -> None:
        super().__init__(game, config, num_lanes, num_threads)
        self._first_seeds: Int64Array = np.zeros(num_lanes, dtype=np.int64)
        self._num_ended: Int64Array = np.zeros(num_lanes, dtype=np.int64)
        self._played = [bytearray() for _ in range(num_lanes)]

    def reset_lanes(self, mask: BoolArray, seeds: Int64Array) -> UInt8Array:
        """See `AtariLanes`; the seeds of all later episodes of these lanes follow from `seeds`."""
        observation = super().reset_lanes(mask, seeds)
        self._first_seeds[mask] = seeds
        self._num_ended[mask] = 0
        self._forget(mask)
        return observation

    def step(self, actions: Int64Array) -> LaneResults:
        """See `AtariLanes`."""
        results = super().step(actions)
        for lane in np.flatnonzero(~results.is_reset).tolist():
            self._played[lane].append(int(actions[lane]))
        if not results.is_reset.any():
            return results
        # It has restarted by itself, from nobody knows which seed.
        self._num_ended[results.is_reset] += 1
        self._forget(results.is_reset)
        observation = super().reset_lanes(results.is_reset, self._seeds()[results.is_reset])
        return results._replace(observation=observation, lives=self.lives)

    def state(self) -> LanesState:
        """Where the lanes are."""
        lengths = np.array([len(played) for played in self._played], dtype=np.int64)
        actions = np.frombuffer(b"".join(self._played), dtype=np.uint8)
        return LanesState(self._first_seeds.copy(), self._num_ended.copy(), lengths, actions)

    def restore(self, state: LanesState) -> UInt8Array:
        """Play the lanes to where they were; returns their observations."""
        ends = np.cumsum(state.num_actions)
        self._played = [
            bytearray(state.actions[end - length : end].tobytes())
            for end, length in zip(ends.tolist(), state.num_actions.tolist(), strict=True)
        ]
        self._first_seeds, self._num_ended = state.first_seeds.copy(), state.num_ended.copy()
        seeds, num_steps = self._seeds(), int(state.num_actions.max())
        begins_at = num_steps - state.num_actions
        observation = super().reset_lanes(np.ones(self.num_lanes, dtype=np.bool_), seeds)
        for step in range(num_steps + 1):
            if step > 0 and (begins := begins_at == step).any():
                observation = super().reset_lanes(begins, seeds[begins])
            if step < num_steps:
                # A lane whose time has not come plays action 0, and nobody looks.
                actions = [
                    played[step - begin] if step >= begin else 0
                    for played, begin in zip(self._played, begins_at.tolist(), strict=True)
                ]
                observation = super().step(np.array(actions, dtype=np.int64)).observation
        return observation

    def _seeds(self) -> Int64Array:
        """(E,) of the episodes that the lanes are in."""
        return np.array(
            [
                first if ended == 0 else seeding.emulator_seeds(first, "episode", ended, count=1)[0]
                for first, ended in zip(self._first_seeds.tolist(), self._num_ended.tolist(), strict=True)
            ],
            dtype=np.int64,
        )

    def _forget(self, mask: BoolArray) -> None:
        for lane in np.flatnonzero(mask).tolist():
            self._played[lane].clear()


def check_restored(observation: UInt8Array, saved: UInt8Array) -> None:
    """Raise CheckpointError unless what restored lanes show is what they showed when they were saved."""
    if not np.array_equal(observation, saved):
        raise CheckpointError(
            "the games go otherwise than they were saved: the emulator is another one; resume where the run was made"
        )


def seeded(lanes: AtariLanes) -> SeededLanes:
    """`lanes`, which can be restored. Raises TypeError for others."""
    if not isinstance(lanes, SeededLanes):
        raise TypeError("lanes that were not made seeded have no state")
    return lanes
