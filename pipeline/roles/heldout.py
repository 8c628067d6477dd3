"""Held-out states: a fixed set of observations on which the mean max-Q of a run is followed.

Mnih et al. 2013, section 5.1: collected by a random policy before training; a smoother sign of learning than the score.
Departure: each seed has states of its own.
"""

import threading
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from pipeline import seeding
from pipeline.envs.atari import AtariLanes
from pipeline.envs.protocol import EnvironmentConfig
from pipeline.networks.replica import QReplica
from pipeline.roles.divergence import BlindnessGuard, differ
from pipeline.types import UInt8Array

NUM_HELDOUT_STATES = 128
_NUM_LANES = 2
"""Few and long: each lane loads its ROM twice, and each time that takes as long as some 250 of its steps."""
_STEPS_BETWEEN = 10
_UPDATES_PER_MEASUREMENT = 500
_MAX_BLIND = 10
"""Measurements in a row: 5,000 updates."""


class HeldoutState(NamedTuple):
    """What was measured last."""

    measured_at: int | None
    max_q: float
    num_blind: int


class HeldoutStates:
    """The states of one run, played when they are first asked for, and what a replica thinks of them."""

    def __init__(self, game: str, environment: EnvironmentConfig, seed: int, replica: QReplica) -> None:
        self._of_run = (game, environment, seed)
        self._replica = replica
        self._measured_at: int | None = None
        self._max_q = float("nan")
        self._blindness = BlindnessGuard(_MAX_BLIND)

    def state(self) -> HeldoutState:
        """What was measured last."""
        return HeldoutState(self._measured_at, self._max_q, self._blindness.num_in_a_row)

    def restore(self, state: HeldoutState) -> None:
        """Go on from there."""
        self._measured_at, self._max_q = state.measured_at, state.max_q
        self._blindness.num_in_a_row = state.num_blind

    def max_q(self, num_updates: int) -> float:
        """Mean max_a Q(s, a) after `num_updates` updates, or as last measured, at most 500 updates ago.

        Raises DivergedError for a network that has not told these states apart for 5,000 updates.
        """
        if self._measured_at is None or num_updates - self._measured_at >= _UPDATES_PER_MEASUREMENT:
            states = heldout_states(*self._of_run)
            max_q = self._replica.values(states).amax(dim=1)
            if differ(states):
                self._blindness.see(max_q, num_updates)
            self._max_q = max_q.mean().item()
            self._measured_at = num_updates
        return self._max_q


def heldout_states(game: str, environment: EnvironmentConfig, seed: int) -> UInt8Array:
    """(128, K, H, W[, 3]) observations of random play, the same ones whenever game, environment and seed are.

    All who ask share one array: only read it.
    """
    # A cache alone would have roles that ask at once play them several times.
    with _PLAYING:
        return _played(game, environment, seed)


_PLAYING = threading.Lock()


# They take seconds to play: kept for the run's next generation, and for learners that come later to this process.
@lru_cache(maxsize=2)
def _played(game: str, environment: EnvironmentConfig, seed: int) -> UInt8Array:
    rng = seeding.stream(seed, "heldout", "actions")
    # They are what is seen: how long an action lasts while they are played may be as good as any.
    steady = replace(environment, min_frame_skip=environment.frame_skip)
    lanes = AtariLanes(game, steady, num_lanes=_NUM_LANES, num_threads=1)
    try:
        lanes.reset(seeding.emulator_seeds(seed, "heldout", "emulator", count=_NUM_LANES))
        states: list[UInt8Array] = []
        while len(states) * _NUM_LANES < NUM_HELDOUT_STATES:
            for _ in range(_STEPS_BETWEEN):
                observation = lanes.step(rng.integers(lanes.num_actions, size=_NUM_LANES)).observation
            states.append(observation.copy())
        return np.concatenate(states)
    finally:
        lanes.close()
