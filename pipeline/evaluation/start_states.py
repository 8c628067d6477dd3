"""Start states: points of recorded games, to go on from instead of a reset.

    <file>.json, one game of Atari each
        format, label                 "not the paper's human starts", for whoever opens the file
        game, environment             and the settings of the environment that the games were recorded in
        source, ale_version, rom_md5  what was drawn from, and the emulator
        states                        of each point: seed, actions up to it (hexadecimal, a byte each), score so far

The start points of Nair et al. 2015 (a hundred per game, from a person's play) were never published, so that nobody can
repeat their protocol; ours is another one, and is called so wherever it is shown. Playing a point's actions again from
its seed leads to the very same state, random draws of the emulator included.
Not here: recording games (`pipeline.evaluation.recordings`), playing on from a point (`pipeline.evaluation.play`).
"""

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pipeline.checked_files import as_declared, bytes_in, json_in
from pipeline.envs.episodes import Episode, replay_episode
from pipeline.envs.protocol import EnvironmentConfig
from pipeline.envs.rom import ale_version, rom_md5
from pipeline.errors import ConfigError
from pipeline.evaluation.checks import check_actions, check_seed, environment_in
from pipeline.evaluation.protocol import EvaluationConfig
from pipeline.run_folders import at_home
from pipeline.settings import shown
from pipeline.whole_file import whole_text

FORMAT = 1
LABEL = "not the paper's human starts"
_WAY_OUT = "draw them again (python -m pipeline.start_states)"

_PLAYED_ALIKE = (
    "frame_skip",
    "min_frame_skip",
    "sticky_probability",
    "noop_max",
    "full_action_set",
    "fire_on_reset",
)
"""Settings that lead to a point: the games that go on from it need the same. How it is looked at is free."""


@dataclass(frozen=True)
class StartState:
    """One point of a recorded game."""

    seed: int
    """Of the emulator."""
    actions: bytes
    """From the reset to the point, one byte per agent step."""
    score: float
    """Unclipped rewards up to the point."""


@dataclass(frozen=True)
class StartStates:
    """The points of one game of Atari."""

    game: str
    environment: EnvironmentConfig
    """That the games were recorded in."""
    source: str
    """What they were drawn from, for people."""
    ale_version: str
    rom_md5: str
    states: tuple[StartState, ...]

    @property
    def name(self) -> str:
        """What a row calls them: their number and the first digits of their SHA-256, such as "100 points 1f3a9c2e"."""
        points = "\n".join(f"{state.seed} {state.actions.hex()}" for state in self.states)
        return f"{len(self.states)} points {hashlib.sha256(points.encode()).hexdigest()[:8]}"

    def check_enough(self, count: int, setting: str = "evaluation.num_episodes") -> None:
        """Raise ConfigError if there are fewer than `count`, which `setting` asks for."""
        if count > len(self.states):
            raise ConfigError(
                [
                    f"{setting}={count} is more than the {len(self.states)} start states of {self.game}, "
                    f"and each is played once: set {setting}={len(self.states)}, or draw more "
                    "(python -m pipeline.start_states)"
                ]
            )

    def choose(self, count: int, rng: np.random.Generator) -> list[StartState]:
        """`count` different points, all of them if that is their number. Raises ConfigError if there are fewer."""
        self.check_enough(count)
        return [self.states[i] for i in sorted(rng.choice(len(self.states), count, replace=False).tolist())]


def draw(recorded: Sequence[Episode], count: int, source: str, rng: np.random.Generator) -> StartStates:
    """`count` points at random moments of recorded episodes of one game, every step of all of them alike.

    Not the first moment, which is a reset, nor the last, at which the game is over; of a game that went on from a start
    state itself, its own steps only. The episodes are played again for it, up to their last point.
    Raises ConfigError when there are fewer moments, or the episodes were not all played alike.
    """
    first = recorded[0]
    for episode in recorded[1:]:
        if differs := _different(episode, first):
            raise ConfigError([f"{source}: {first.game}: recorded games differ in {differs}: draw from some of them"])
    moments = [(index, step) for index, e in enumerate(recorded) for step in range(e.start_step + 1, e.num_steps)]
    if count > len(moments):
        raise ConfigError([f"num_points={count} is more than the {len(moments)} steps that {source} has to offer"])
    chosen: dict[int, list[int]] = {}
    for i in sorted(rng.choice(len(moments), count, replace=False).tolist()):
        index, step = moments[i]
        chosen.setdefault(index, []).append(step)
    states = [state for index, steps in chosen.items() for state in _at(recorded[index], steps)]
    return StartStates(first.game, first.config, source, ale_version(), rom_md5(first.game), tuple(states))


def save(path: Path, starts: StartStates) -> None:
    """Write the file, whole or not at all."""
    content = {"format": FORMAT, "label": LABEL} | dataclasses.asdict(starts)
    content["states"] = [dataclasses.asdict(state) | {"actions": state.actions.hex()} for state in starts.states]
    path.parent.mkdir(parents=True, exist_ok=True)
    whole_text(path, json.dumps(content, indent=1) + "\n")


def load(path: Path) -> StartStates:
    """Read a file that `save` wrote. Raises ConfigError if it is none."""
    try:
        content = json_in(bytes_in(path))
        if (number := content.pop("format", None)) != FORMAT:
            raise ConfigError(
                [f"start states: {path} has format {number}, this version of pipeline reads {FORMAT}: {_WAY_OUT}"]
            )
        environment, states = environment_in(content.pop("environment", None)), content.pop("states", None)
        about = as_declared(_About, content)
        if not isinstance(states, list) or not states:
            raise ValueError("states are missing")
        read = tuple(_state(values, about.game, environment) for values in states)
    except (OSError, ValueError) as error:
        raise ConfigError([f"start states: {path} cannot be read: {error}; {_WAY_OUT}"]) from error
    return StartStates(about.game, environment, about.source, about.ale_version, about.rom_md5, read)


class _About(NamedTuple):
    label: str
    game: str
    source: str
    ale_version: str
    rom_md5: str


class _Written(NamedTuple):
    seed: int
    actions: str
    score: float


def _state(values: object, game: str, environment: EnvironmentConfig) -> StartState:
    written = as_declared(_Written, values)
    actions = bytes.fromhex(written.actions)
    check_seed(written.seed)
    check_actions(np.frombuffer(actions, np.uint8), game, environment)
    return StartState(written.seed, actions, written.score)


def load_for(config: EvaluationConfig, game: str) -> StartStates | None:
    """The start states that a protocol names for this game; None where it names none.

    Raises ConfigError where there is no file, or it holds states that this protocol does not lead to.
    """
    if config.start_states is None:
        return None
    path = Path(at_home(config.start_states))
    if path.is_dir():
        path = path / f"{game}.json"
    if not path.is_file():
        raise ConfigError(
            [
                f"evaluation.start_states={config.start_states}: there is no file {path}; make it of recorded games: "
                "python -m pipeline.start_states recordings=…"
            ]
        )
    starts = load(path)
    found = []
    if starts.game != game:
        found.append(f"evaluation.start_states={path} holds states of {starts.game}, not of {game}")
    for name in _PLAYED_ALIKE:
        recorded, wanted = getattr(starts.environment, name), getattr(config.environment, name)
        if recorded != wanted:
            found.append(
                f"evaluation.environment.{name}={shown(wanted)} must be {shown(recorded)}, as in the games that "
                f"{path} was drawn from"
            )
    if starts.rom_md5 != rom_md5(game):
        found.append(f"evaluation.start_states={path} was drawn from another ROM of {game}: draw it again")
    if found:
        raise ConfigError(found)
    starts.check_enough(config.num_episodes)
    return starts


def _different(one: Episode, other: Episode) -> str:
    differs = ["game"] if one.game != other.game else []
    return ", ".join(
        differs
        + [f"environment.{name}" for name in _PLAYED_ALIKE if getattr(one.config, name) != getattr(other.config, name)]
    )


def _at(episode: Episode, steps: Sequence[int]) -> list[StartState]:
    """The episode's states after so many of its `steps`, ascending."""
    scores = [0.0]
    for replayed in replay_episode(dataclasses.replace(episode, actions=episode.actions[: steps[-1]], start_step=0)):
        scores.append(scores[-1] + replayed.reward)
    # The first observation pays nothing: the score after step i stands one place further.
    return [StartState(episode.seed, episode.actions[:step], scores[step + 1]) for step in steps]
