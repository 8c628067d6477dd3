"""`python -m pipeline.start_states recordings=results/runs/gorila/Breakout/0`: points of recorded games, to go on from.

Recordings are run folders, folders of games that a person played (`pipeline.play keyboard=true`), single files, or
patterns of these, with commas between them. Of each game of Atari among them `<output>/<game>.json` is written, for
`evaluation=start_states`. The points are of these games: not the paper's human starts, which were never published.
Not here: how points are drawn (`pipeline.evaluation.start_states`).
"""

from dask_jobs.terminal import begin

if __name__ == "__main__":
    begin()  # before the other imports, which take seconds

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline import seeding
from pipeline.config.arguments import parse_words
from pipeline.disk import check_writable, told_if_refused
from pipeline.errors import ConfigError, PipelineError, status_of, told
from pipeline.run_folders import DISCARDED, RECORDINGS, files_below, places_of, split_places, unreadable_mistakes

if TYPE_CHECKING:
    from pipeline.envs.episodes import Episode


@dataclass(frozen=True)
class StartStateArguments:
    """What the command line may say, as `name=value`."""

    recordings: str | None = None
    """Folders, files, or patterns."""
    num_points: int = 100
    """Of each game of Atari; as many as the human starts of Nair et al. 2015 had."""
    agent: str | None = None
    """Whose games, e.g. "checkpoint" or "person"; null: everybody's."""
    protocol: str | None = None
    """Under which protocol they were recorded; null: any, but it must be one that plays alike."""
    seed: int = 0
    """Of the draw."""
    output: Path = Path("results/start_states")
    """Folder of the files."""
    overwrite: bool = False
    """Replace files that are there."""

    def mistakes(self) -> list[str]:
        """What is out of range, one line each."""
        found = []
        if self.recordings is None:
            found.append("recordings is missing: name a run folder, e.g. recordings=results/runs/gorila/Breakout/0")
        if self.num_points < 1:
            found.append(f"num_points={self.num_points} must be at least 1")
        found += seeding.seed_mistakes(self.seed)
        return found


def main(words: Sequence[str] | None = None) -> int:
    """Write the files; the exit status is 0 unless there was an error, which is printed."""
    try:
        arguments = parse_words(StartStateArguments, sys.argv[1:] if words is None else words)
        if mistakes := arguments.mistakes():
            raise ConfigError(mistakes)
        check_writable(f"output={arguments.output}", arguments.output)
        with told_if_refused():
            for path in write_start_states(arguments):
                print(path)
    except PipelineError as error:
        print(f"error: {error}", file=sys.stderr)
        return status_of(error)
    return 0


def write_start_states(arguments: StartStateArguments) -> list[Path]:
    """Draw the points of each game of Atari; returns the files. Raises ConfigError before any of them is written."""
    from pipeline.evaluation import start_states  # with the emulator, which the help has no use for

    by_game = _recorded_games(arguments)
    paths = {game: arguments.output / f"{game}.json" for game in by_game}
    taken = [str(path) for path in paths.values() if path.exists()]
    if taken and not arguments.overwrite:
        raise ConfigError(
            [f"{path} is there: replace it with overwrite=true, or name another output" for path in taken]
        )
    drawn = {
        game: start_states.draw(
            episodes,
            arguments.num_points,
            str(arguments.recordings),
            seeding.stream(arguments.seed, "start states", game),
        )
        for game, episodes in by_game.items()
    }
    for game, path in paths.items():
        start_states.save(path, drawn[game])
    return list(paths.values())


def _recorded_games(arguments: StartStateArguments) -> dict[str, "list[Episode]"]:
    """Atari game -> the recorded games that are asked for, each once."""
    from pipeline.evaluation import recordings  # as above

    by_game: dict[str, dict[Episode, None]] = {}
    mistakes = []
    for word in split_places(str(arguments.recordings), lambda word: bool(places_of(word))):
        unreadable: list[OSError] = []
        files = [file for place in places_of(word) for file in _files(place, unreadable.append)]
        asked = [
            game.episode
            for file in files
            for game in recordings.load(file)
            if arguments.agent in (None, game.row.agent) and arguments.protocol in (None, game.row.protocol)
        ]
        mistakes += unreadable_mistakes(f"recordings={word}", unreadable, told if asked else None)
        if not asked and not unreadable:
            mistakes.append(
                f"recordings={word}: no game is recorded there"
                + "".join(f", {name}={value}" for name in ("agent", "protocol") if (value := getattr(arguments, name)))
                + ": play an evaluation, with python -m pipeline.evaluate"
            )
        for episode in asked:
            by_game.setdefault(episode.game, {})[episode] = None
    if mistakes:
        raise ConfigError(mistakes)
    return {game: list(episodes) for game, episodes in by_game.items()}


def _files(place: Path, unreadable: Callable[[OSError], object]) -> list[Path]:
    """Recordings at a place. Checkpoints, whose files end alike, are none, nor games of parameters that were lost."""
    if place.is_file():
        return [place]
    found = files_below(place, "*.npz", unreadable)
    return [file for file in found if file.parent.name == RECORDINGS and file.parent.parent.name != DISCARDED]


if __name__ == "__main__":
    sys.exit(main())
