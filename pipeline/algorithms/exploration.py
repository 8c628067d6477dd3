"""Epsilon-greedy exploration: how large epsilon is, and which actions it gives.

Not here: the values that it is greedy in (`pipeline.networks`), epsilon in evaluation (`pipeline.evaluation.protocol`).
"""

import numpy as np

from pipeline.algorithms.config import ExplorationConfig
from pipeline.types import Float32Array, Int64Array


def epsilon(config: ExplorationConfig, version: int, actor_index: int = 0, num_actors: int = 1) -> float:
    """Chance of a random action after `version` server updates, for actor `actor_index` of `num_actors`.

    base = initial_epsilon + (final_epsilon - initial_epsilon) * min(version / decay_updates, 1)
    epsilon = base ** (1 + actor_spread * actor_index / (num_actors - 1))
    Schedule: Mnih et al. 2015, Methods; exponent: Horgan et al. 2018, section 4.1. A single actor has exponent 1.
    Departure: Mnih et al. 2015 count agent steps. Here it is server updates, the only clock that all actors share, and
    epsilon stays at its initial value while the replays fill.
    """
    if version < 0 or not 0 <= actor_index < num_actors:
        raise ValueError(
            f"version={version} must be >= 0, actor_index={actor_index} must be below num_actors={num_actors}"
        )
    base = config.final_epsilon
    if version < config.decay_updates:
        base = config.initial_epsilon + (config.final_epsilon - config.initial_epsilon) * version / config.decay_updates
    exponent = 1.0 if num_actors == 1 else 1.0 + config.actor_spread * actor_index / (num_actors - 1)
    return float(base**exponent)


def epsilon_greedy(q_values: Float32Array, epsilon: float, rng: np.random.Generator) -> Int64Array:
    """One action per lane: with chance `epsilon` any action, all alike, else the one of the largest value.

    q_values (E, A); returns (E,) int64. Of equal largest values the first is taken. Lanes draw independently, and every
    call draws the same amount from `rng`, whatever it chooses. Mnih et al. 2015, Methods, algorithm 1.
    """
    num_lanes, num_actions = q_values.shape
    explores = rng.random(num_lanes) < epsilon
    random_actions = rng.integers(num_actions, size=num_lanes)
    return np.where(explores, random_actions, q_values.argmax(axis=1))
