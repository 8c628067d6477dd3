"""The replay of a config, empty, as one role has it that plays `topology.num_lanes` games.

Not here: a full one of noise (`benchmarks.replay_sampling.full_replay`).
"""

import numpy as np

from pipeline.config.run_config import RunConfig
from pipeline.replay.memory import ReplayMemory


def replay_of(config: RunConfig) -> ReplayMemory:
    """One-step transitions of `config`, which must have a replay."""
    assert config.replay is not None, "a benchmark of replays takes an experiment that has one"
    return ReplayMemory(
        config.replay,
        num_writers=1,
        num_lanes=config.topology.num_lanes,
        frame_shape=config.environment.frame_shape,
        stack=config.environment.stack,
        discount=config.algorithm.discount,
        n_step=1,
        rng=np.random.default_rng(0),
    )
