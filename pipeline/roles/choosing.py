"""How the actions of a rollout are chosen: drawn from the policy, or by epsilon-greedy exploration of values.

Not here: what is chosen from (`pipeline.networks`), playing (`pipeline.roles.rollouts`), a replay's actor
(`pipeline.roles.actor`).
"""

from typing import NamedTuple, Protocol

import numpy as np

from pipeline.algorithms.actor_critic import log_probabilities, sample_actions
from pipeline.algorithms.exploration import epsilon_greedy
from pipeline.types import Float32Array, Float64Array, Int64Array


class Choice(NamedTuple):
    """The actions of D lanes."""

    actions: Int64Array
    """(D,)"""
    log_pis: Float32Array
    """(D,): log of each one's chance under the policy; 0 where the rule asks for none."""


class Chooser(Protocol):
    """Chooses for the lanes that are due."""

    def choose(self, preferences: Float32Array, lanes: Int64Array, rng: np.random.Generator) -> Choice:
        """Actions of `lanes` (D,), by what the network prefers (D, A): logits, or values."""

    def epsilon(self, lane: int) -> float:
        """Chance of a random action in a lane, for the row of its game."""


class Sampling:
    """Actions are drawn from the policy (Mnih et al. 2016, section 4)."""

    def choose(self, preferences: Float32Array, lanes: Int64Array, rng: np.random.Generator) -> Choice:
        """See `Chooser`."""
        actions = sample_actions(preferences, rng)
        return Choice(actions, log_probabilities(preferences, actions))

    def epsilon(self, lane: int) -> float:
        """Nothing is explored but by the policy."""
        return 0.0


class EpsilonGreedy:
    """The action of the largest value, or with the lane's chance one drawn from all (Mnih et al. 2015, algorithm 1)."""

    def __init__(self, num_lanes: int) -> None:
        self.epsilons: Float64Array = np.ones(num_lanes)
        """(E,): set by whoever knows how far the run is."""

    def choose(self, preferences: Float32Array, lanes: Int64Array, rng: np.random.Generator) -> Choice:
        """See `Chooser`."""
        actions = epsilon_greedy(preferences, self.epsilons[lanes], rng)
        return Choice(actions, np.zeros(len(actions), np.float32))

    def epsilon(self, lane: int) -> float:
        """See `Chooser`."""
        return float(self.epsilons[lane])
