"""Score and length of the games under way in an actor's lanes, until each becomes a row.

Not here: what ends a game (`pipeline.envs`), evaluation games (`pipeline.evaluation`).
"""

from typing import NamedTuple

import numpy as np

from pipeline.roles.place import RolePlace
from pipeline.rows import EpisodeRow
from pipeline.types import Float32Array, Float64Array, Int64Array


class TallyState(NamedTuple):
    """Of the games under way, (E,) each."""

    score: Float64Array
    length: Int64Array


class EpisodeTally:
    """Of E lanes; scores are sums of unclipped rewards."""

    def __init__(self, place: RolePlace, num_lanes: int) -> None:
        self._place = place
        self._score = np.zeros(num_lanes)
        self._length = np.zeros(num_lanes, dtype=np.int64)

    def state(self) -> TallyState:
        """A copy of the sums."""
        return TallyState(self._score.copy(), self._length.copy())

    def restore(self, state: TallyState) -> None:
        """Go on from there."""
        self._score, self._length = state.score.copy(), state.length.copy()

    def add(self, lanes: Int64Array, reward: Float32Array) -> None:
        """Count one step of each of `lanes` (D,), all different, and its reward (D,)."""
        self._score[lanes] += reward
        self._length[lanes] += 1

    def finish(
        self,
        lane: int,
        *,
        truncated: bool,
        epsilon: float,
        version: int,
        num_steps: int,
        num_frames: int,
        wall_seconds: float,
    ) -> EpisodeRow:
        """The game of `lane` as a row; the next one begins. `num_steps` and `num_frames` are the whole role's."""
        row = EpisodeRow(
            role=self._place.role,
            lane=lane,
            end_step=num_steps,
            total_frames=num_frames * self._place.num_actors,
            score=float(self._score[lane]),
            num_steps=int(self._length[lane]),
            truncated=truncated,
            epsilon=epsilon,
            version=version,
            wall_seconds=wall_seconds,
        )
        self._score[lane] = 0.0
        self._length[lane] = 0
        return row
