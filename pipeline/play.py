"""`python -m pipeline.play run=results/runs/gorila/Breakout/0`: a recorded game as a film, or in a window.

The game is played again from its seed and actions, in colour; a game that then scores otherwise is an error, no film.
`keyboard=true game=Breakout` lets a person play and records it, for start states (`pipeline.start_states`).
Not here: choosing the game (`pipeline.experiments.scoring.recorded_games`), pictures (`pipeline.rendering`).
"""

from dask_jobs.terminal import begin

if __name__ == "__main__":
    begin()  # before the other imports, which take seconds

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.config.arguments import parse_words
from pipeline.disk import check_writable, told_if_refused
from pipeline.envs.rom import action_names
from pipeline.errors import PipelineError, status_of
from pipeline.evaluation.protocol import POLICIES
from pipeline.rendering.film_file import SUFFIXES, write_film
from pipeline.settings import shown
from pipeline.types import UInt8Array

if TYPE_CHECKING:
    from pipeline.experiments.scoring.recorded_games import ChosenGame
    from pipeline.rendering.film import Moment


@dataclass(frozen=True)
class PlayArguments:
    """What the command line may say, as `name=value`."""

    run: Path | None = None
    """Folder of a run, or of a game that a person played."""
    episode: str = "best"
    """"best", "median" or "worst" by score, or the game's number in `evaluations.csv`."""
    agent: str | None = None
    """Whose games, e.g. "checkpoint", "best" or "random"; null: see `choose_game`."""
    protocol: str | None = None
    """Under which protocol, e.g. "noop_starts"; null: the first by name."""
    policy: str | None = None
    """"greedy": games in which the best action was played, "sampled": actions were drawn; null: greedy if there are."""
    version: int | None = None
    """At which update of the agent; null: the newest that is recorded."""
    output: Path | None = None
    """The film, .mp4 or .gif; null: an MP4 beside the recording. With keyboard=true the folder of the recorded game,
    where no other is."""
    fps: float | None = None
    """Pictures per second, one per agent step; null: as fast as on the console."""
    scale: int = 3
    """Times 160 x 210 pixels."""
    overlay: bool = False
    """Score, step, action, and the network's values if its checkpoint is there, beside the picture."""
    max_seconds: float | None = None
    """Length of the film; null: the whole game."""
    watch: bool = False
    """Show it in a window instead."""
    keyboard: bool = False
    """A person plays."""
    game: str | None = None
    """What the person plays."""
    experiment: str | None = None
    """Whose evaluation protocol the person plays under; null: that of gorila."""
    seed: int | None = None
    """Of the person's game; null: 0."""

    def mistakes(self) -> list[str]:
        """What is out of range or cannot go together, one line each, beginning with the field's name."""
        found = [
            f"{name}={value:g} must be positive"
            for name, value in (("fps", self.fps), ("scale", self.scale), ("max_seconds", self.max_seconds))
            if value is not None and not 0 < value < math.inf
        ]
        if self.policy not in (None, *POLICIES):
            found.append(f"policy={self.policy} must be {' or '.join(POLICIES)}")
        return found + (self._mistakes_of_playing() if self.keyboard else self._mistakes_of_showing())

    def _mistakes_of_playing(self) -> list[str]:
        found = []
        if self.game is None:
            found.append("game is missing: name one, e.g. game=Breakout")
        if self.watch:
            found.append("watch=true is of no use with keyboard=true, which opens a window anyway")
        return found + self._of_no_use(_OF_RECORDED, "with keyboard=true")

    def _mistakes_of_showing(self) -> list[str]:
        found = []
        if self.game is not None:
            found.append(f"game={self.game} is of no use without keyboard=true: the run says which game it is")
        found += self._of_no_use(("experiment", "seed"), "without keyboard=true")
        if self.run is None:
            found.append("run is missing: name a run folder, e.g. run=results/runs/gorila/Breakout/0")
        if self.output is not None and self.watch:
            found.append(f"output={self.output} is of no use with watch=true, which makes no film")
        elif self.output is not None and self.output.suffix not in SUFFIXES:
            found.append(f"output={self.output} must end in {' or '.join(SUFFIXES)}")
        return found

    def _of_no_use(self, names: Sequence[str], where: str) -> list[str]:
        defaults = {field.name: field.default for field in fields(self)}
        given = {name: getattr(self, name) for name in names}
        return [f"{name}={shown(v)} is of no use {where}" for name, v in given.items() if v != defaults[name]]


_OF_RECORDED = ("run", "episode", "agent", "protocol", "policy", "version", "overlay", "max_seconds")
"""What chooses a recorded game, or how it is shown."""


def main(words: Sequence[str] | None = None) -> int:
    """Make the film, or open the window; the exit status is 0 unless there was an error, which is printed."""
    try:
        arguments = parse_words(PlayArguments, sys.argv[1:] if words is None else words)
        with told_if_refused(arguments.output):
            if arguments.keyboard:
                _play(arguments)
            else:
                _show(arguments)
    except PipelineError as error:
        print(f"error: {error}", file=sys.stderr)
        return status_of(error)
    return 0


def _show(arguments: PlayArguments) -> None:
    # Networks, the emulator and pictures, which the help and mistakes have no use for.
    from pipeline.experiments.scoring.recorded_games import choose_game
    from pipeline.rendering.film import pictures, real_time_fps
    from pipeline.rendering.window import watch

    run = arguments.run
    assert run is not None  # checked with the other mistakes
    chosen = choose_game(
        run, arguments.episode, arguments.agent, arguments.protocol, arguments.policy, arguments.version
    )
    row, episode = chosen.played
    fps = arguments.fps or real_time_fps(episode.config)
    output = arguments.output or chosen.recording.with_name(f"{chosen.recording.stem}_game{row.episode}.mp4")
    if not arguments.watch:
        check_writable(f"output={output}", output.parent)
    print(_in_words(chosen))
    length = None if arguments.max_seconds is None else max(1, round(arguments.max_seconds * fps))
    film = pictures(episode, _painter(chosen, run, arguments.scale, arguments.overlay), length)
    if arguments.watch:
        watch(f"{episode.game}: {row.agent}, game {row.episode}", film, fps)
        return
    count = write_film(output, film, fps)
    print(f"{output}: {count} pictures, {count / fps:.0f} seconds, {output.stat().st_size / 1e6:.1f} MB")


def _painter(chosen: "ChosenGame", run: Path, scale: int, overlay: bool) -> "Callable[[Moment], UInt8Array]":
    from pipeline.experiments.scoring.recorded_games import opinions_of_player
    from pipeline.rendering.overlay import enlarge, with_panel

    episode = chosen.played.episode
    if not overlay:
        return lambda moment: enlarge(moment.picture, scale)
    names = action_names(episode.game, episode.config.full_action_set)
    opinion_of = None
    try:
        opinion_of = opinions_of_player(run, chosen.played)
    except PipelineError as error:
        print(f"without a network's values: {error}", file=sys.stderr)

    def paint(moment: "Moment") -> UInt8Array:
        opinion = None if opinion_of is None else opinion_of(moment.observation)
        return with_panel(moment, episode.num_steps, names, opinion, scale)

    return paint


def _in_words(chosen: "ChosenGame") -> str:
    row, episode = chosen.played
    text = (
        f"{episode.game}, agent {row.agent} at update {row.version:,}, protocol {row.protocol}"
        f"{', actions drawn from its policy' if row.sampled else ''}: game {row.episode} of {chosen.num_games}, "
        f"score {row.score:g}, {row.num_steps:,} steps"
    )
    return text + "".join(f"\nalso recorded: {other}" for other in chosen.passed_over)


def _play(arguments: PlayArguments) -> None:
    from pipeline.experiments.scoring.keyboard import let_person_play

    assert arguments.game is not None  # checked with the other mistakes
    path = let_person_play(
        arguments.game,
        arguments.experiment or "gorila",
        arguments.seed or 0,
        arguments.output,
        arguments.scale,
        arguments.fps,
    )
    print("nothing was played, nothing is recorded" if path is None else f"recorded in {path}")


if __name__ == "__main__":
    sys.exit(main())
