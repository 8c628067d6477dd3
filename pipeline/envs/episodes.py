"""An episode is a value: game, protocol, seed and actions say everything, and playing them again gives the same pixels.

That holds with sticky actions, no-ops and random frame skips too, since the seed draws them all. So a recorded episode
can be rendered later, in colour (`dataclasses.replace` its config), and no frame needs to be kept. For the same reason
a game can be taken over from another: its opening, the actions up to that point, is played first, and the score counts
from there.

    reset(seed)   opening: given actions, no score   start_step   chosen actions, score   ...   end

Not here: training, where lanes are seeded once and restart by themselves (`pipeline.envs.atari`); who chooses the
actions (`pipeline.evaluation.play`).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pipeline.envs.due_lanes import DueLanes, make_due_lanes
from pipeline.envs.protocol import EnvironmentConfig
from pipeline.errors import RecordingError
from pipeline.types import Int64Array, UInt8Array

ActionChooser = Callable[[UInt8Array, Sequence[int]], Int64Array]
"""`choose(observations, episodes)`: an action (N,) for each of the N episodes under way.

`observations` is (N, K, H, W[, 3]) and `episodes` holds N different indices into the seeds, in no particular order. N
shrinks towards the end; where frame skips are random, only episodes that are due are asked. Each episode under way is
asked exactly once a step, after its opening.
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
    """Sum of unclipped rewards, from `start_step` on."""
    truncated: bool
    """True when the frame cap ended it."""
    start_step: int = 0
    """Steps of its opening, which another game gave and which pay nothing here; 0: it began at the reset."""

    @property
    def num_steps(self) -> int:
        """Length in agent steps, those of the opening included."""
        return len(self.actions)


class Opening(NamedTuple):
    """How a game begins that another one gave."""

    actions: bytes
    """One byte per agent step, from the reset on."""
    score: float
    """What they were paid, unclipped: told again, it shows that this is the same game."""


class ReplayedStep(NamedTuple):
    """One moment of an episode that is played again."""

    observation: UInt8Array
    """(K, H, W[, 3])"""
    reward: float
    """Unclipped; 0.0 for the first observation and throughout the opening, so that rewards add up to the score."""


def never() -> bool:
    """False: what `stop` says where nobody wants to."""
    return False


def nobody(num_over: int) -> None:
    """Nothing: what is told of games that are over where nobody asks."""


def play_episodes(
    lanes: DueLanes,
    seeds: Sequence[int],
    choose: ActionChooser,
    stop: Callable[[], bool] = never,
    *,
    tell: Callable[[int], object] = nobody,
    openings: Sequence[Opening] = (),
    max_steps: int | None = None,
) -> list[Episode]:
    """Play one whole game from each seed; returns them in the order of the seeds.

    `openings`, where there are any, are played first, one for each seed; `choose` is asked from there on. `max_steps`
    truncates a game after so many chosen steps; None: only the frame cap of the lanes does. Raises RecordingError if an
    opening does not go as it was recorded.

    A lane takes the next seed as soon as its game is over. Which lane plays which game leaves no trace: the result is
    the same for any number of lanes if the choice follows from the episode's index, its step and the observation.
    (A network's values may differ in the last digit with N, which matters where two actions are nearly equal.)

    `stop` is asked before each step of the lanes. When it says True all games are abandoned and nothing is returned.
    `tell` hears how many games are over, when one has ended.
    """
    seeds = [int(seed) for seed in seeds]
    games = [
        _Game(seed, opening, max_steps)
        for seed, opening in zip(seeds, openings or [Opening(b"", 0.0)] * len(seeds), strict=True)
    ]
    if not games:
        return []
    playing = np.full(lanes.num_lanes, _IDLE)  # index of each lane's game
    num_started, num_over = min(lanes.num_lanes, len(games)), 0
    playing[:num_started] = np.arange(num_started)
    due = lanes.reset(np.resize(seeds, lanes.num_lanes))
    while (playing != _IDLE).any():
        if stop():
            return []
        due = lanes.step(_choose_actions(choose, due.observation, playing[due.lanes], games))
        indices = playing[due.lanes]
        has_ended = np.zeros(indices.size, dtype=np.bool_)
        for row in np.flatnonzero(indices != _IDLE):
            has_ended[row] = games[indices[row]].see(
                float(due.reward[row]), bool(due.terminated[row]), bool(due.truncated[row])
            )
        ended = due.lanes[has_ended]
        if ended.size:
            num_over += ended.size
            tell(num_over)
        playing[ended] = _IDLE
        refilled = ended[: len(games) - num_started]
        if refilled.size:
            playing[refilled] = np.arange(num_started, num_started + refilled.size)
            num_started += refilled.size
            due = lanes.reset_lanes(refilled, np.array([seeds[game] for game in playing[refilled]]))
    return [game.as_episode(lanes) for game in games]


def replay_episode(episode: Episode) -> Iterator[ReplayedStep]:
    """Play an episode again from its seed and actions: `num_steps` + 1 observations, bit for bit as they were."""
    with closing(make_due_lanes(episode.game, episode.config, num_lanes=1, num_threads=1)) as lanes:
        yield ReplayedStep(lanes.reset(np.array([episode.seed])).observation[0], 0.0)
        for step, action in enumerate(episode.actions):
            due = lanes.step(np.array([action]))
            yield ReplayedStep(due.observation[0], float(due.reward[0]) if step >= episode.start_step else 0.0)


class _Game:
    """A game under way, in its opening first."""

    def __init__(self, seed: int, opening: Opening, max_steps: int | None) -> None:
        self._seed = seed
        self._opening = opening.actions
        self._opening_score = opening.score
        self._max_steps = max_steps
        self._actions = bytearray()
        self._score = 0.0
        self._truncated = False

    @property
    def given_action(self) -> int | None:
        """The next action of the opening; None after it."""
        step = len(self._actions)
        return self._opening[step] if step < len(self._opening) else None

    def act(self, action: int) -> None:
        self._actions.append(action)

    def see(self, reward: float, terminated: bool, truncated: bool) -> bool:
        """What the last action brought; returns whether the game has ended."""
        num_chosen = len(self._actions) - len(self._opening)
        if num_chosen <= 0:
            self._opening_score -= reward
            if terminated or truncated or (num_chosen == 0 and self._opening_score != 0.0):
                raise RecordingError(
                    f"the game of seed {self._seed} goes otherwise than it was recorded, as step {len(self._actions)} "
                    "shows: the emulator or its settings are others. Record games again, and draw start states of them"
                )
            return False
        self._score += reward
        self._truncated = not terminated and (truncated or num_chosen == self._max_steps)
        return terminated or self._truncated

    def as_episode(self, lanes: DueLanes) -> Episode:
        return Episode(
            lanes.game,
            lanes.config,
            self._seed,
            bytes(self._actions),
            self._score,
            self._truncated,
            len(self._opening),
        )


def _choose_actions(
    choose: ActionChooser, observations: UInt8Array, indices: Int64Array, games: Sequence[_Game]
) -> Int64Array:
    """An action (D,) for each lane that is due, noted in its game; `indices` (D,) are those of the games."""
    # A lane without a game must go on with the others; it plays action 0, and nobody looks.
    actions = np.zeros(indices.size, dtype=np.int64)
    asks = np.zeros(indices.size, dtype=np.bool_)
    for row in np.flatnonzero(indices != _IDLE):
        given = games[indices[row]].given_action
        if given is None:
            asks[row] = True
        else:
            actions[row] = given
    if asks.any():
        actions[asks] = choose(observations[asks], indices[asks].tolist())
    for row in np.flatnonzero(indices != _IDLE):
        games[indices[row]].act(int(actions[row]))
    return actions
