"""Epsilon-greedy exploration: how large epsilon is in each lane, and which actions it gives.

Not here: the values that it is greedy in, and noise in them (`pipeline.networks`), epsilon in evaluation
(`pipeline.evaluation.protocol`).
"""

import numpy as np

from pipeline.algorithms.exploration_config import ExplorationConfig
from pipeline.types import Float32Array, Float64Array, Int64Array


def lane_epsilons(
    config: ExplorationConfig,
    version: int,
    share: float,
    num_lanes: int,
    actor_index: int = 0,
    num_actors: int = 1,
) -> Float64Array:
    """(E,) float64: chance of a random action in each lane of one actor.

    `version` server updates were made, and `share` of the run's budget is spent, 0.0 to 1.0; the config says which of
    the two counts.

    base = initial_epsilon + (final_epsilon - initial_epsilon) * min(version / decay_updates, 1)
        or initial_epsilon + (final_epsilon - initial_epsilon) * min(share / decay_share, 1)
    epsilon[j] = base ** (1 + lane_spread * i / (n - 1)),  i = actor_index * E + j,  n = num_actors * E
    Schedule: Mnih et al. 2015, Methods; exponent: Horgan et al. 2018, section 4.1. A lone lane has exponent 1.
    Departure: Mnih et al. 2015 count agent steps. Here it is server updates, the only clock that all actors share, and
    epsilon stays at its initial value while the replays fill; or a share of the budget, of which each actor knows by
    its own steps and its clock. Horgan et al. 2018 have one game per actor; here the lanes of all actors are numbered
    in one row.
    """
    if version < 0 or not 0 <= actor_index < num_actors:
        raise ValueError(
            f"version={version} must be >= 0, actor_index={actor_index} must be below num_actors={num_actors}"
        )
    base = config.final_epsilon
    done, over = (version, config.decay_updates) if config.decay_share is None else (share, config.decay_share)
    if over is not None and done < over:
        base = config.initial_epsilon + (config.final_epsilon - config.initial_epsilon) * done / over
    last = num_actors * num_lanes - 1
    if config.lane_spread == 0.0 or last == 0:
        return np.full(num_lanes, base)
    lanes = np.arange(actor_index * num_lanes, (actor_index + 1) * num_lanes)
    return np.power(base, 1.0 + config.lane_spread * lanes / last)


def epsilon_greedy(q_values: Float32Array, epsilons: Float64Array, rng: np.random.Generator) -> Int64Array:
    """One action per lane: with the lane's chance any action, all alike, else the one of the largest value.

    q_values (E, A), epsilons (E,); returns (E,) int64. Of equal largest values the first is taken. Lanes draw
    independently, and every call draws the same amount from `rng`, whatever it chooses.
    Mnih et al. 2015, Methods, algorithm 1.
    """
    num_lanes, num_actions = q_values.shape
    explores = rng.random(num_lanes) < epsilons
    random_actions = rng.integers(num_actions, size=num_lanes)
    return np.where(explores, random_actions, q_values.argmax(axis=1))
