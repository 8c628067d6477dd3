"""Files of other tools: what each looks like, and its points as a DataFrame with COLUMNS.

A reader lists what it finds, and reads each when asked, so that one bad file costs nothing but itself.
Not here: which tool a path is of, bad files (`pipeline.results.imports`), lines and values
(`pipeline.results.import_tables`), Dopamine's records (`pipeline.results.import_dopamine`).
"""

import math
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pipeline.checked_files import json_in
from pipeline.errors import RunFolderError
from pipeline.games import game_named
from pipeline.results.import_tables import ForeignTable, table_in, text_of
from pipeline.run_folders import files_below, named_path

COLUMNS = ("agent", "game", "run", "kind", "frames", "score")
"""`run` tells runs of one agent and game apart; `kind` is GAMES or MEANS; `frames` are emulator frames of training, NaN
where nobody can tell; `score` in points of the game."""

GAMES, MEANS = "games", "means"
"""A point is one game played, or the mean of many."""


class Points(NamedTuple):
    """What was read of one file or folder."""

    frame: pd.DataFrame
    """With COLUMNS."""
    remarks: tuple[str, ...] = ()
    """What was passed over, a line each."""


Unreadable = Callable[[OSError], object]
"""Told of a folder that may not be looked into, which is passed over."""
Readable = tuple[Path, Callable[[], Points]]
"""What was found, with what reads it. Raises RunFolderError for what is not as it should be."""
Reader = Callable[[Path, Unreadable], Iterator[Readable]]
"""Finds all at and below a path."""

_ENVIRONMENT = re.compile(r"(?:ALE/)?([A-Za-z]+?\d?D?)(NoFrameskip|Deterministic)?-v(\d)")
_NNABLA_FRAMES = 4
"""Of one iteration, which is a step of an environment that skips (`make_atari` of nnabla_rl.environments.wrappers)."""


def read_sb3(path: Path, unreadable: Unreadable) -> Iterator[Readable]:
    """Monitor files of Stable-Baselines3, one for each environment of a run:

        #{"t_start": 1614619328.33, "env_id": "BreakoutNoFrameskip-v4"}
        r,l,t
        11.0,811,0.780205

    score, length in steps of the environment that the monitor is around, and seconds since t_start when a game ended.
    With `override_existing=False` a later start goes on in the same file, and its seconds begin at 0 again. A monitor
    around a vector of environments, VecMonitor, calls them "None": then the folder's name says which they are.
    The agent is called like the folder `path`, a run like the folder of its files, as seen from there.
    """
    for folder in sorted({file.parent for file in files_below(path, "*monitor.csv", unreadable)}):
        run = named_path(folder).name if folder == path else str(folder.relative_to(path))
        yield folder, partial(_sb3_run, folder, named_path(path).name, run)


def read_dqn_zoo(path: Path, unreadable: Unreadable) -> Iterator[Readable]:
    """DQN Zoo's tables: `dqn.csv` of results.tar.gz, one for each agent, and what a run of it writes.

    Of the columns of the published ones, environment_name ("beam_rider"), seed, frame and eval_episode_return are used.
    The first two are not in the file of a single run, which is `<agent>/<game>/<seed>/results.csv` as its README says.
    """
    if path.is_file():
        yield path, partial(_dqn_zoo_file, path)
        return
    for file in sorted(path.glob("*.csv")):
        yield file, partial(_dqn_zoo_file, file)
    for file in files_below(path, "results.csv", unreadable):
        if file.parent != path:
            yield file, partial(_dqn_zoo_file, file)


def read_nnabla_rl(path: Path, unreadable: Unreadable) -> Iterator[Readable]:
    """Evaluations of nnabla-rl, `PongNoFrameskip-v4_results/seed-1/evaluation_result_scalar.tsv`, with tabs between:

        iteration  mean     std_dev  min      max      median
        250000     234.747  43.542   160.000  330.000  240.000

    (`FileWriter`, given to an `EvaluationHook`). The game is in the name of a folder above; a run is called like its
    folder, as seen from `path`, and the agent like `path`.
    """
    if path.is_file():
        folder = named_path(path).parent.name
        yield path, partial(_nnabla_file, path, folder, folder)
        return
    for file in files_below(path, "evaluation_result_scalar.tsv", unreadable):
        run = named_path(path).name if file.parent == path else str(file.parent.relative_to(path))
        yield file, partial(_nnabla_file, file, named_path(path).name, run)


def _sb3_run(folder: Path, agent: str, run: str) -> Points:
    parts, environments, remarks, known = [], set[str](), list[str](), dict[str, Path]()
    for file in sorted(folder.glob("*monitor.csv")):
        text = text_of(file)
        head, _, rest = text.partition("\n")
        try:
            header = json_in(head.removeprefix("#").encode())
            environment, started_at = str(header["env_id"]), header["t_start"]
            if type(started_at) not in (int, float) or not math.isfinite(started_at):
                raise ValueError("t_start is no number")
        except (ValueError, KeyError) as error:
            raise RunFolderError(
                f'{file.name}, line 1 is not like #{{"t_start": …, "env_id": …}}, with which a monitor begins'
            ) from error
        games = table_in(file, rest, ("r", "l", "t"), first_line=2)
        if games.rows and (other := known.setdefault(text, file)) is not file:
            raise RunFolderError(f"{file.name} is a copy of {other.name}: its games would count twice")
        part = pd.DataFrame({"score": games.numbers("r"), "steps": games.counts("l", 1), "t": games.numbers("t")})
        parts.append(part.assign(ended_at=started_at + _going_on(part["t"])))
        environments.add(environment)
        remarks += _remarks(games)
    if len(environments) != 1:
        raise RunFolderError(f"monitors of several environments: {', '.join(sorted(environments))}")
    (environment,) = environments
    game, frames_per_step = _of_environment(environment) if environment != "None" else (_game_of_folder(folder), np.nan)
    games_of_run = pd.concat(parts).sort_values("ended_at", kind="stable")
    frames = games_of_run["steps"].cumsum() * frames_per_step
    return Points(points_of(agent, game, run, GAMES, frames, games_of_run["score"]), tuple(remarks))


def _going_on(seconds: pd.Series) -> pd.Series:
    """Seconds of several starts, each from 0 on, as those of a single one."""
    before = seconds.shift(fill_value=0.0)
    return seconds + before.where(seconds < before, 0.0).cumsum()


def _dqn_zoo_file(file: Path) -> Points:
    table = table_in(file, text_of(file), ("frame", "eval_episode_return"))
    frames, scores = table.counts("frame"), table.numbers("eval_episode_return", allows_nan=True)
    if {"environment_name", "seed"} <= set(table.columns):
        agent = file.stem
        names, seeds = table.texts("environment_name"), [f"{seed:.0f}" for seed in table.counts("seed")]
    else:
        agent, name, seed = ("", "", *named_path(file).parts)[-4:-1]
        if game_named(name) is None or not seed.isdecimal():
            raise RunFolderError(
                f"{file.name} has no columns environment_name and seed, and is not at <agent>/<game>/<seed>/results.csv"
            )
        names, seeds = [name] * len(scores), [str(int(seed))] * len(scores)
    games = [known_game(name, f"{file.name}, line {line}") for name, line in zip(names, table.lines, strict=True)]
    read = pd.DataFrame({"game": games, "run": seeds, "frames": frames, "score": scores})
    if (again := read.duplicated(["game", "run", "frames"])).any():
        index = int(np.argmax(again))
        raise RunFolderError(
            f"{file.name}, line {table.lines[index]}: frame {frames[index]:.0f} of {games[index]}, seed {seeds[index]}"
            ", is there twice"
        )
    points = points_of(agent, read["game"], read["run"], MEANS, read["frames"], read["score"])
    return Points(points.sort_values("frames", kind="stable"), _remarks(table))


def _nnabla_file(file: Path, agent: str, run: str) -> Points:
    text = text_of(file)
    # Later versions call it a step.
    first = "step" if text.startswith("step\t") else "iteration"
    table = table_in(file, text, (first, "mean"), delimiter="\t")
    iterations = table.counts(first)
    if (backwards := np.flatnonzero(np.diff(iterations) <= 0)).size:
        index = int(backwards[0]) + 1
        raise RunFolderError(
            f"{file.name}, line {table.lines[index]}: {first} {iterations[index]:.0f} follows "
            f"{iterations[index - 1]:.0f}: two runs wrote this file"
        )
    scores = pd.Series(table.numbers("mean", allows_nan=True))
    frames = pd.Series(iterations * _NNABLA_FRAMES)
    return Points(points_of(agent, _game_of_folder(file.parent), run, MEANS, frames, scores), _remarks(table))


def _remarks(table: ForeignTable) -> tuple[str, ...]:
    if table.cut_off is None:
        return ()
    return (f"{table.file}: line {table.cut_off} is cut off and was skipped",)


def points_of(agent: Any, game: Any, run: Any, kind: str, frames: pd.Series, score: pd.Series) -> pd.DataFrame:
    """A frame with COLUMNS, without points that have no score: in a phase in which no game ended there is no mean."""
    values = (agent, game, run, kind, frames.astype("float64"), score.astype("float64"))
    points = pd.DataFrame(dict(zip(COLUMNS, values, strict=True)), index=score.index)
    return points.dropna(subset=["score"])


def _of_environment(name: str) -> tuple[str, float]:
    """The game of a gymnasium name, and emulator frames per step: of those whose number is fixed, else NaN."""
    found = _ENVIRONMENT.fullmatch(name)
    game = game_named(found[1]) if found else None
    if found is None or game is None:
        raise RunFolderError(f"{name[:60]} is none of the Atari games")
    return game, 1.0 if found[2] == "NoFrameskip" else 4.0 if found[2] is None and found[3] == "5" else np.nan


def _game_of_folder(folder: Path) -> str:
    """The game of the nearest folder that is called like an environment: `BreakoutNoFrameskip-v4_1`, or `_results`."""
    for name in reversed(named_path(folder).parts):
        found = re.match(_ENVIRONMENT.pattern + r"(?![^_])", name)
        if found and (game := game_named(found[1])):
            return game
    raise RunFolderError(
        f"no folder above is called like an environment of Atari, e.g. BreakoutNoFrameskip-v4_1: {folder}"
    )


def known_game(name: str, where: str) -> str:
    """The game that is meant by "beam_rider", "beamrider" or "BeamRider". Raises RunFolderError if it is none."""
    if (game := game_named(name)) is None:
        raise RunFolderError(f"{where}: {name[:60]!r} is none of the Atari games")
    return game
