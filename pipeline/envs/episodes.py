"""An episode is a value: game, protocol, seed and actions say everything, and playing them again gives the same pixels.

That holds with sticky actions and no-ops too, since both are drawn by the seed. So a recorded episode can be rendered
later, in colour (`dataclasses.replace` its config), and no frame needs to be kept.

Not here: training, where lanes are seeded once and restart by themselves (`pipeline.envs.atari`); who chooses the
actions (`pipeline.evaluation.play`).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pipeline.envs.atari import AtariLanes
from pipeline.envs.protocol import EnvironmentConfig
from pipeline.types import Int64Array, UInt8Array

ActionChooser = Callable[[UInt8Array, Sequence[int]], Int64Array]
"""`choose(observations, episodes)`: an action (N,) for each of the N episodes under way.

`observations` is (N, K, H, W[, 3]) and `episodes` holds N different indices into the seeds, in no particular order. N
shrinks towards the end. Each episode under way is asked exactly once a step.
"""

_IDLE = -1


@dataclass(frozen=True)
class Episode:
    """One whole game, life losses included; two are equal when everything about them is."""

    game: str
    config: EnvironmentConfig
    seed: int
    actions: bytes
    """One byte per agent step, the action's index: `list(actions)`, or `np.frombuffer(actions, np.uint8)`."""
    score: float
    """Sum of unclipped rewards."""
    truncated: bool
    """True when the frame cap ended it."""

    @property
    def num_steps(self) -> int:
        """Length in agent steps."""
        return len(self.actions)


class ReplayedStep(NamedTuple):
    """One moment of an episode that is played again."""

    observation: UInt8Array
    """(K, H, W[, 3])"""
    reward: float
    """Unclipped; 0.0 for the first observation."""


def play_episodes(lanes: AtariLanes, seeds: Sequence[int], choose: ActionChooser) -> list[Episode]:
    """Play one whole game from each seed; returns them in the order of the seeds.

    A lane takes the next seed as soon as its game is over. Which lane plays which game leaves no trace: the result is
    the same for any number of lanes if the choice follows from the episode's index, its step and the observation.
    (A network's values may differ in the last digit with N, which matters where two actions are nearly equal.)
    """
    seeds = [int(seed) for seed in seeds]
    games = [_Game(seed) for seed in seeds]
    if not games:
        return []
    playing = np.full(lanes.num_lanes, _IDLE)  # index of each lane's game
    num_started = min(lanes.num_lanes, len(games))
    playing[:num_started] = np.arange(num_started)
    observation = lanes.reset(np.resize(seeds, lanes.num_lanes))
    while (busy := np.flatnonzero(playing != _IDLE)).size:
        # A lane without a game must step with the others; it plays action 0, and nobody looks.
        actions = np.zeros(lanes.num_lanes, dtype=np.int64)
        actions[busy] = choose(observation[busy], playing[busy].tolist())
        results = lanes.step(actions)
        observation = results.observation
        truncated = results.truncated & ~results.terminated
        for lane in busy:
            games[playing[lane]].add(int(actions[lane]), float(results.reward[lane]), bool(truncated[lane]))
        ended = busy[(results.terminated | results.truncated)[busy]]
        playing[ended] = _IDLE
        refilled = ended[: len(games) - num_started]
        if refilled.size:
            playing[refilled] = np.arange(num_started, num_started + refilled.size)
            num_started += refilled.size
            mask = np.isin(np.arange(lanes.num_lanes), refilled)
            observation = lanes.reset_lanes(mask, np.array([seeds[game] for game in playing[refilled]]))
    return [game.as_episode(lanes) for game in games]


def replay_episode(episode: Episode) -> Iterator[ReplayedStep]:
    """Play an episode again from its seed and actions: `num_steps` + 1 observations, bit for bit as they were."""
    with closing(AtariLanes(episode.game, episode.config, num_lanes=1, num_threads=1)) as lanes:
        yield ReplayedStep(lanes.reset(np.array([episode.seed]))[0], 0.0)
        for action in episode.actions:
            results = lanes.step(np.array([action]))
            yield ReplayedStep(results.observation[0], float(results.reward[0]))


class _Game:
    """A game under way."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._actions = bytearray()
        self._score = 0.0
        self._truncated = False

    def add(self, action: int, reward: float, truncated: bool) -> None:
        self._actions.append(action)
        self._score += reward
        self._truncated = truncated

    def as_episode(self, lanes: AtariLanes) -> Episode:
        return Episode(lanes.game, lanes.config, self._seed, bytes(self._actions), self._score, self._truncated)
