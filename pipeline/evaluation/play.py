"""Scoring finished parameters: whole games under a fixed protocol, each from a seed of its own.

Each game comes back as a row for the tables and as an episode, from which it can be played again.

Starts and exploration come from the streams named "evaluation" of the given seed, one per game, so that a game does
not depend on the lane that plays it or on the games beside it. The same seed gives the same starts again: to confirm
the checkpoint that was chosen as the best of many, give another one.

Games may go on from start states: the actions that lead there are played first, and score, steps and frame cap count
from the point. How long a game of human starts may last is told in two ways: until frame 108,000 with the human's part
(van Hasselt et al. 2016), or 18,000 frames (secondary notes on Nair et al. 2015).

Not here: when to evaluate (`pipeline.roles`), the networks that prefer actions (`pipeline.networks`), statistics
(`pipeline.results`).
"""

import math
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, fields, replace
from typing import NamedTuple

import numpy as np

from pipeline import seeding
from pipeline.envs.atari import EnvironmentReport
from pipeline.envs.due_lanes import make_due_lanes
from pipeline.envs.episodes import ActionChooser, Episode, Opening, never, nobody, play_episodes
from pipeline.envs.protocol import EnvironmentConfig
from pipeline.evaluation.protocol import GREEDY, EvaluationConfig
from pipeline.evaluation.start_states import StartState, StartStates
from pipeline.rows import NO_START_STATES, RANDOM, EnvironmentPlayed, EvaluationRow, HowPlayed
from pipeline.types import Float32Array, Int64Array, UInt8Array

ActionPreferences = Callable[[UInt8Array], Float32Array]
"""Observations (N, K, H, W[, 3]) to one number per action (N, A), Q-values or logits: the largest is played."""

_FIRE = 1


class PlayedGame(NamedTuple):
    """One game of an evaluation."""

    row: EvaluationRow
    """Its score, and how it was played."""
    episode: Episode
    """The game itself."""


def evaluate(
    game: str,
    config: EvaluationConfig,
    preferences: ActionPreferences,
    seed: int,
    *,
    num_threads: int,
    agent: str,
    version: int,
    total_frames: int,
    wall_seconds: float,
    commit: str = "",
    starts: StartStates | None = None,
    samples: bool = False,
    num_lanes: int = 8,
    max_steps: int | None = None,
    stop: Callable[[], bool] = never,
    tell: Callable[[int], object] = nobody,
) -> list[PlayedGame]:
    """Play `config.num_episodes` games, epsilon-greedy in `preferences`; returns them in the order of the seeds.

    `samples=True`: `preferences` are logits of a policy, whose actions are drawn; else the largest one is played.
    `num_lanes` games at once and `num_threads` emulator threads change the speed only. `agent`, `version`,
    `total_frames` and `wall_seconds` say in the rows whose preferences these are, and what training is behind them; the
    protocol in the rows is what the made environment reports, and `commit` is that of the code. `starts` are the points
    to go on from, each at most once, for a protocol that has some. `max_steps`: a game that is not over is truncated
    after so many steps of the agent's, whatever the protocol allows; None: as the protocol says.
    `stop` is asked before each step of the lanes; once it says True, all games are abandoned and none is returned.
    `tell` hears how many games are over.
    Raises ConfigError for an impossible configuration.
    """
    if max_steps is None and starts is not None:
        # The emulator's cap leaves room for the longest opening: after a shorter one, steps are what is counted.
        max_steps = math.ceil(config.environment.max_frames / config.environment.frame_skip)
    report, episodes = _play(
        game, config, preferences, samples, seed, starts, num_lanes, num_threads, max_steps, stop, tell
    )
    played = how_played(config, report, samples, starts)
    return [
        PlayedGame(
            EvaluationRow(
                protocol=config.protocol,
                agent=agent,
                version=version,
                total_frames=total_frames,
                episode=index,
                episode_seed=episode.seed,
                start_step=episode.start_step,
                score=episode.score,
                num_steps=episode.num_steps - episode.start_step,
                truncated=episode.truncated,
                commit=commit,
                wall_seconds=wall_seconds,
                **asdict(played),
            ),
            episode,
        )
        for index, episode in enumerate(episodes)
    ]


def evaluate_random_agent(
    game: str,
    config: EvaluationConfig,
    seed: int,
    *,
    num_threads: int,
    commit: str = "",
    starts: StartStates | None = None,
    num_lanes: int = 8,
    stop: Callable[[], bool] = never,
    tell: Callable[[int], object] = nobody,
) -> list[PlayedGame]:
    """The same games, each action uniformly random: the 0 of the normalised score. Rows say agent "random".

    Departure: a new action at each agent step (15 Hz); the random player of Mnih et al. 2015 chose at 10 Hz.
    """
    return evaluate(
        game,
        of_random_player(config),
        _no_preference,
        seed,
        num_threads=num_threads,
        agent=RANDOM,
        version=0,
        total_frames=0,
        wall_seconds=0.0,
        commit=commit,
        starts=starts,
        num_lanes=num_lanes,
        stop=stop,
        tell=tell,
    )


def of_random_player(config: EvaluationConfig) -> EvaluationConfig:
    """How the random player plays where others play so."""
    return replace(config, epsilon=1.0, policy=GREEDY)


def how_played(
    config: EvaluationConfig,
    environment: EnvironmentConfig | EnvironmentPlayed,
    samples: bool,
    starts: StartStates | None,
) -> HowPlayed:
    """What the rows of `evaluate` say of the protocol; `environment` is what was made, or what would be."""
    made = {field.name: getattr(environment, field.name) for field in fields(EnvironmentPlayed)}
    # The emulator's own cap counts what was played up to a start point.
    made["max_frames"] = config.environment.max_frames
    return HowPlayed(
        **made,
        epsilon=config.epsilon,
        sampled=samples,
        max_equal_actions=config.max_equal_actions or 0,
        start_states=NO_START_STATES if starts is None else starts.name,
    )


def first_states(config: EvaluationConfig, seed: int, starts: StartStates | None) -> list[StartState]:
    """Where each game that `evaluate` would play begins: at a reset, unless there are points to go on from."""
    if starts is None:
        seeds = seeding.game_seeds(seed, "evaluation", count=config.num_episodes).tolist()
        return [StartState(emulator_seed, b"", 0.0) for emulator_seed in seeds]
    return starts.choose(config.num_episodes, seeding.stream(seed, "evaluation", "start states"))


def _play(
    game: str,
    config: EvaluationConfig,
    preferences: ActionPreferences,
    samples: bool,
    seed: int,
    starts: StartStates | None,
    num_lanes: int,
    num_threads: int,
    max_steps: int | None,
    stop: Callable[[], bool],
    tell: Callable[[int], object],
) -> tuple[EnvironmentReport, list[Episode]]:
    """The games, in the order of the seeds, and what the environment says that it is."""
    states = first_states(config, seed, starts)
    environment = _with_room_for_openings(config.environment, states)
    with closing(make_due_lanes(game, environment, min(num_lanes, config.num_episodes), num_threads)) as lanes:
        return lanes.report(), play_episodes(
            lanes,
            [state.seed for state in states],
            _chooser(config, preferences, samples, lanes.num_actions, seed),
            stop,
            tell=tell,
            openings=[Opening(state.actions, state.score) for state in states],
            max_steps=max_steps,
        )


def _with_room_for_openings(environment: EnvironmentConfig, states: Sequence[StartState]) -> EnvironmentConfig:
    # The emulator counts frames from the reset, the protocol from the point.
    longest = max(len(state.actions) for state in states)
    return replace(environment, max_frames=environment.max_frames + longest * environment.frame_skip)


def _chooser(
    config: EvaluationConfig, preferences: ActionPreferences, samples: bool, num_actions: int, seed: int
) -> ActionChooser:
    streams = [seeding.stream(seed, "evaluation", episode) for episode in range(config.num_episodes)]
    preferred = _sampled(preferences, streams) if samples else _greedy(preferences)
    choose = _exploring(preferred, config.epsilon, num_actions, streams)
    if config.max_equal_actions is None:
        return choose
    return _never_stuck(choose, config.max_equal_actions, config.num_episodes)


def _sampled(preferences: ActionPreferences, streams: Sequence[np.random.Generator]) -> ActionChooser:
    def choose(observations: UInt8Array, episodes: Sequence[int]) -> Int64Array:
        logits = preferences(observations)
        # The largest of logit + Gumbel noise comes with the policy's probability (Gumbel 1954), as in training.
        noise = [streams[episode].gumbel(size=logits.shape[1]) for episode in episodes]
        actions: Int64Array = (logits + np.stack(noise)).argmax(axis=1)
        return actions

    return choose


def _greedy(preferences: ActionPreferences) -> ActionChooser:
    def choose(observations: UInt8Array, episodes: Sequence[int]) -> Int64Array:
        actions: Int64Array = preferences(observations).argmax(axis=1)
        return actions

    return choose


def _exploring(
    choose: ActionChooser, epsilon: float, num_actions: int, streams: Sequence[np.random.Generator]
) -> ActionChooser:
    def choose_or_explore(observations: UInt8Array, episodes: Sequence[int]) -> Int64Array:
        actions = choose(observations, episodes)
        for i, episode in enumerate(episodes):
            # Two draws from each game's own stream: what a game explores depends on its step alone.
            explores, anything = streams[episode].random() < epsilon, streams[episode].integers(num_actions)
            if explores:
                actions[i] = anything
        return actions

    return choose_or_explore


def _never_stuck(choose: ActionChooser, max_equal_actions: int, num_episodes: int) -> ActionChooser:
    """`choose`, but FIRE from the `max_equal_actions`-th equal choice in a row on (the authors' code of BA3C).

    What counts is what was chosen: the FIRE that is played in its place interrupts no row.
    """
    chosen = np.full(num_episodes, -1)
    num_equal = np.zeros(num_episodes, dtype=np.int64)

    def choose_or_fire(observations: UInt8Array, episodes: Sequence[int]) -> Int64Array:
        actions = choose(observations, episodes)
        games = np.array(episodes)
        num_equal[games] = np.where(actions == chosen[games], num_equal[games] + 1, 1)
        chosen[games] = actions
        return np.where(num_equal[games] >= max_equal_actions, _FIRE, actions)

    return choose_or_fire


def _no_preference(observations: UInt8Array) -> Float32Array:
    return np.zeros((len(observations), 1), dtype=np.float32)
