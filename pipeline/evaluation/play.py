"""Scoring finished parameters: whole games under a fixed protocol, each from a seed of its own, one row per game.

Starts and exploration come from the streams named "evaluation" of the given seed, one per game, so that a game does
not depend on the lane that plays it or on the games beside it. The same seed gives the same starts again: to confirm
the checkpoint that was chosen as the best of many, give another one.

Not here: when to evaluate (`pipeline.roles`), the values themselves (`pipeline.networks`), statistics
(`pipeline.results`).
"""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace

import numpy as np

from pipeline import seeding
from pipeline.envs.atari import AtariLanes
from pipeline.envs.episodes import ActionChooser, play_episodes
from pipeline.evaluation.protocol import EvaluationConfig
from pipeline.rows import EvaluationRow
from pipeline.types import Float32Array, Int64Array, UInt8Array

QValues = Callable[[UInt8Array], Float32Array]
"""Observations (N, K, H, W[, 3]) to action values (N, A)."""


def evaluate(
    game: str,
    config: EvaluationConfig,
    q_values: QValues,
    seed: int,
    *,
    num_threads: int,
    agent: str,
    version: int,
    total_frames: int,
    wall_seconds: float,
    num_lanes: int = 8,
) -> list[EvaluationRow]:
    """Play `config.num_episodes` games, epsilon-greedy in `q_values`; one row per game, in the order of the seeds.

    `num_lanes` games at once and `num_threads` emulator threads change the speed only. `agent`, `version`,
    `total_frames` and `wall_seconds` say in the rows whose values these are, and what training is behind them; the
    protocol in the rows is what the made environment reports.
    Raises ConfigError for an impossible configuration.
    """
    seeds = seeding.emulator_seeds(seed, "evaluation", count=config.num_episodes).tolist()
    exploration = [seeding.stream(seed, "evaluation", episode) for episode in range(config.num_episodes)]
    with closing(AtariLanes(game, config.environment, min(num_lanes, config.num_episodes), num_threads)) as lanes:
        report = lanes.report()
        choose = _epsilon_greedy(q_values, config.epsilon, lanes.num_actions, exploration)
        episodes = play_episodes(lanes, seeds, choose)

    return [
        EvaluationRow(
            protocol=config.protocol,
            agent=agent,
            version=version,
            total_frames=total_frames,
            episode=index,
            episode_seed=episode.seed,
            score=episode.score,
            num_steps=episode.num_steps,
            truncated=episode.truncated,
            epsilon=config.epsilon,
            frame_skip=report.frame_skip,
            sticky_probability=report.sticky_probability,
            noop_max=report.noop_max,
            max_frames=report.max_frames,
            full_action_set=report.full_action_set,
            grey=report.grey,
            wall_seconds=wall_seconds,
        )
        for index, episode in enumerate(episodes)
    ]


def evaluate_random_agent(
    game: str, config: EvaluationConfig, seed: int, *, num_threads: int, num_lanes: int = 8
) -> list[EvaluationRow]:
    """The same games, each action uniformly random: the 0 of the normalised score. Rows say agent "random".

    Departure: a new action at each agent step (15 Hz); the random player of Mnih et al. 2015 chose at 10 Hz.
    """
    return evaluate(
        game,
        replace(config, epsilon=1.0),
        _no_preference,
        seed,
        num_threads=num_threads,
        agent="random",
        version=0,
        total_frames=0,
        wall_seconds=0.0,
        num_lanes=num_lanes,
    )


def _epsilon_greedy(
    q_values: QValues, epsilon: float, num_actions: int, exploration: Sequence[np.random.Generator]
) -> ActionChooser:
    def choose(observations: UInt8Array, episodes: Sequence[int]) -> Int64Array:
        actions: Int64Array = np.argmax(q_values(observations), axis=1)
        for i, episode in enumerate(episodes):
            # Two draws from each game's own stream: what a game explores depends on its step alone.
            explores, anything = exploration[episode].random() < epsilon, exploration[episode].integers(num_actions)
            if explores:
                actions[i] = anything
        return actions

    return choose


def _no_preference(observations: UInt8Array) -> Float32Array:
    return np.zeros((len(observations), 1), dtype=np.float32)
