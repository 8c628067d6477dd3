"""The recorded games of a run: choosing one of them, and finding the parameters that played it.

Not here: playing it again (`pipeline.envs.episodes`), the file format (`pipeline.evaluation.recordings`).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pipeline.errors import CheckpointError, ConfigError, RecordingError
from pipeline.evaluation import recordings
from pipeline.evaluation.person import PERSON
from pipeline.evaluation.play import PlayedGame
from pipeline.evaluation.protocol import GREEDY, SAMPLED
from pipeline.experiments.files import checkpoint
from pipeline.experiments.files.run_folder import CHECKPOINTS, CONFIG, RECORDINGS
from pipeline.experiments.files.saved_config import config_anywhere
from pipeline.experiments.specs import checkpoint_fit
from pipeline.numbered_files import path_of
from pipeline.roles.opinions import OpinionOf, opinions
from pipeline.rows import BEST, CHECKPOINT, RANDOM, TRAINING
from pipeline.run_folders import recording_name

RANKS = ("best", "median", "worst")
"""What a game may be called by, instead of its number."""

_FIRST_AGENTS = (CHECKPOINT, BEST, TRAINING)
"""Whose games are shown if nobody is named: those of the first that has some, else anybody's."""

_WITHOUT_NETWORK = (RANDOM, PERSON)


class ChosenGame(NamedTuple):
    """One recorded game of a run."""

    played: PlayedGame
    recording: Path
    """The file it is in."""
    num_games: int
    """In the same file."""
    passed_over: tuple[str, ...]
    """Other recordings that fit as well, in words."""


def choose_game(
    run: Path,
    which: str,
    agent: str | None,
    protocol: str | None,
    policy: str | None = None,
    version: int | None = None,
) -> ChosenGame:
    """The game of a run folder that is called `which`: "best", "median" or "worst" by its score, or its number.

    Of several games with the same score, the first; of an even number, the median is the lower of the middle two.
    `agent`, `protocol`, `policy` ("greedy" or "sampled") and `version` choose between recordings; None: the last
    parameters' if there are, the first protocol's by name, greedy play, and the newest. Raises RecordingError if there
    is nothing to choose from, ConfigError if there is no such game.
    """
    files = _load_all(run)
    known = _names(files)
    fitting = {
        path: games
        for path, games in files.items()
        if agent in (None, games[0].row.agent)
        and protocol in (None, games[0].row.protocol, _protocol(path, games))
        and policy in (None, SAMPLED if games[0].row.sampled else GREEDY)
        and version in (None, games[0].row.version)
    }
    if not fitting:
        words = {"agent": agent, "protocol": protocol, "policy": policy, "version": version}
        asked = " and ".join(f"{name}={value}" for name, value in words.items() if value is not None)
        raise ConfigError([f"{asked}: {run} has no such recording; there is {', '.join(known.values())}"])
    # Of one protocol in two environments the one whose file is called by it alone.
    path = min(fitting, key=lambda path: (_precedence(fitting[path]), len(path.name)))
    games = fitting[path]
    passed_over = tuple(known[other] for other in fitting if other != path)
    return ChosenGame(games[_index(games, which)], path, len(games), passed_over)


def opinions_of_player(run: Path, played: PlayedGame) -> OpinionOf:
    """What the network that played a recorded game says of it.

    Raises CheckpointError if its checkpoint is not there any more, or it was no network that played.
    """
    row, episode = played
    if row.agent in _WITHOUT_NETWORK:
        raise CheckpointError(f"agent={row.agent} has no network")
    folders = run / CHECKPOINTS, run / CHECKPOINTS / BEST
    files = [path for folder in folders if (path := path_of(folder, row.version)).exists()]
    if not files:
        raise CheckpointError(
            f"{run / CHECKPOINTS} has no checkpoint of update {row.version:,}, which played this game"
        )
    config = config_anywhere(run)
    params = checkpoint.load(files[0], checkpoint_fit(config)).server.params
    return opinions(config.network, episode.game, episode.config, params, "cpu", config.precision)


def _load_all(run: Path) -> dict[Path, list[PlayedGame]]:
    files = recordings.all_in(run / RECORDINGS)
    if not files and not (run / CONFIG).is_file():
        raise RecordingError(f"{run}: no run folder is there, which would hold a {CONFIG}; name one with run=")
    if not files:
        raise RecordingError(
            f"{run} has no recorded games: {run / RECORDINGS} is empty or not there. Every evaluation records its "
            f"games: python -m pipeline.evaluate run={run}"
        )
    return {path: recordings.load(path) for path in files}


def _names(files: Mapping[Path, Sequence[PlayedGame]]) -> dict[Path, str]:
    """What to call each file: with the version, if that alone parts it from another."""
    names = {path: _name(path, games) for path, games in files.items()}
    count = Counter(names.values())
    return {
        path: name if count[name] == 1 else f"{name} version={files[path][0].row.version}"
        for path, name in names.items()
    }


def _name(path: Path, games: Sequence[PlayedGame]) -> str:
    row = games[0].row
    drawn = ", actions drawn from its policy" if row.sampled else ""
    return f"agent={row.agent} protocol={_protocol(path, games)}{drawn}"


def _protocol(path: Path, games: Sequence[PlayedGame]) -> str:
    """With what tells its file from another one, of the same protocol in another environment."""
    row = games[0].row
    if path.name == recording_name(row.protocol, row.agent, row.version, sampled=row.sampled):
        return row.protocol
    return path.stem.removesuffix(Path(recording_name("", row.agent, row.version, sampled=row.sampled)).stem)


def _precedence(games: Sequence[PlayedGame]) -> tuple[int, str, str, bool, int]:
    row = games[0].row
    known = _FIRST_AGENTS.index(row.agent) if row.agent in _FIRST_AGENTS else len(_FIRST_AGENTS)
    return known, row.agent, row.protocol, row.sampled, -row.version


def _index(games: Sequence[PlayedGame], which: str) -> int:
    by_score = sorted(range(len(games)), key=lambda index: games[index].row.score)
    highest = games[by_score[-1]].row.score
    match which:
        case "best":
            return next(index for index in by_score if games[index].row.score == highest)
        case "median":
            return by_score[(len(games) - 1) // 2]
        case "worst":
            return by_score[0]
    numbers = {str(game.row.episode): index for index, game in enumerate(games)}
    if which not in numbers:
        raise ConfigError(
            [f"episode={which} must be {', '.join(RANKS)} or the number of a game, 0 to {max(map(int, numbers))}"]
        )
    return numbers[which]
