"""Files of other tools: what each looks like, and its points as a DataFrame with COLUMNS.

A reader lists what it finds, and reads each when asked, so that one bad file costs nothing but itself.
Not here: which tool a path is of, bad files (`pipeline.results.imports`).
"""

import io
import json
import re
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pipeline.checked_files import json_in
from pipeline.errors import RunFolderError
from pipeline.games import ATARI49

COLUMNS = ("agent", "game", "run", "kind", "frames", "score")
"""`run` tells runs of one agent and game apart; `kind` is GAMES or MEANS; `frames` are emulator frames of training, NaN
where nobody can tell; `score` in points of the game."""

GAMES, MEANS = "games", "means"
"""A point is one game played, or the mean of many."""

Reader = Callable[[Path], Iterator[tuple[Path, Callable[[], pd.DataFrame]]]]
"""Path -> what was found there, with what reads it. Raises RunFolderError for what is not as it should be."""

_ENVIRONMENT = re.compile(r"(?:ALE/)?([A-Za-z]+?)(NoFrameskip|Deterministic)?-v(\d)")
_DOPAMINE_FRAMES = 1_000_000
"""Of one iteration: 250,000 steps of 4 frames (`Runner.training_steps` of its configurations)."""


def read_sb3(path: Path) -> Iterator[tuple[Path, Callable[[], pd.DataFrame]]]:
    """Monitor files of Stable-Baselines3, one for each environment of a run:

        #{"t_start": 1614619328.33, "env_id": "BreakoutNoFrameskip-v4"}
        r,l,t
        11.0,811,0.780205

    score, length in steps of the environment that the monitor is around, and seconds since t_start when a game ended.
    The agent is called like the folder `path`, a run like the folder of its files, as seen from there.
    """
    for folder in sorted({file.parent for file in path.rglob("*monitor.csv")}):
        run = folder.resolve().name if folder == path else str(folder.relative_to(path))
        yield folder, partial(_sb3_run, folder, path.resolve().name, run)


def read_dopamine(path: Path) -> Iterator[tuple[Path, Callable[[], pd.DataFrame]]]:
    """Dopamine's published curves, `breakout.json`: a list of {"Agent": "DQN", "Iteration": 0, "Value": 1.57}.

    Values are mean scores of an iteration's training games. Runs follow each other, each from iteration 0 on. What
    stands behind the game in a file's name, as in `breakout_Impala.json`, is the network.
    """
    files = [path] if path.is_file() else sorted(path.glob("*.json"))
    for file in files:
        # A plot's description, which refers to the data.
        if not file.name.endswith(".vg.json"):
            yield file, partial(_dopamine_file, file)


def read_dqn_zoo(path: Path) -> Iterator[tuple[Path, Callable[[], pd.DataFrame]]]:
    """DQN Zoo's published tables, `dqn.csv` and so on of results.tar.gz, one for each agent.

    Of their columns, environment_name ("beam_rider"), seed, frame and eval_episode_return are used.
    """
    for file in [path] if path.is_file() else sorted(path.glob("*.csv")):
        yield file, partial(_dqn_zoo_file, file)


def _sb3_run(folder: Path, agent: str, run: str) -> pd.DataFrame:
    parts, environments = [], set[str]()
    for file in sorted(folder.glob("*monitor.csv")):
        head, _, rest = _text(file).partition("\n")
        try:
            header = json_in(head.removeprefix("#").encode())
            environment, started_at = str(header["env_id"]), float(header["t_start"])
        except (ValueError, TypeError, KeyError) as error:
            raise RunFolderError(
                f'{file.name} does not begin with a line like #{{"t_start": …, "env_id": …}}'
            ) from error
        # A last line that a kill cut off is no game.
        games = _table(file, rest[: rest.rfind("\n") + 1], ("r", "l", "t"))
        parts.append(pd.DataFrame({"ended_at": games["t"] + started_at, "steps": games["l"], "score": games["r"]}))
        environments.add(environment)
    if len(environments) != 1:
        raise RunFolderError(f"monitors of several environments: {', '.join(sorted(environments))}")
    game, frames_per_step = _of_environment(environments.pop())
    games = pd.concat(parts).sort_values("ended_at", kind="stable")
    frames = games["steps"].cumsum() * frames_per_step
    return _points(agent, game, run, GAMES, frames, games["score"])


def _dopamine_file(file: Path) -> pd.DataFrame:
    name, _, network = file.stem.partition("_")
    game = _game(name)
    try:
        records = pd.DataFrame(json.loads(_text(file)))[["Agent", "Iteration", "Value"]]
        records = records.astype({"Iteration": "int64", "Value": "float64"})
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError) as error:
        raise RunFolderError("it is no list of objects with Agent, Iteration and Value") from error
    agents = records["Agent"].astype(str) + (f" ({network})" if network else "")
    begins = (records["Iteration"].diff() <= 0) | (agents != agents.shift())
    runs = begins.groupby(agents).cumsum().astype(str)
    return _points(agents, game, runs, MEANS, (records["Iteration"] + 1) * _DOPAMINE_FRAMES, records["Value"])


def _dqn_zoo_file(file: Path) -> pd.DataFrame:
    table = _table(file, _text(file), ("environment_name", "seed", "frame", "eval_episode_return"))
    games = table["environment_name"].map({str(name): _game(str(name)) for name in table["environment_name"].unique()})
    runs = table["seed"].astype("int64").astype(str)
    points = _points(file.stem, games, runs, MEANS, table["frame"], table["eval_episode_return"])
    return points.sort_values("frames", kind="stable")


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise RunFolderError(f"{file.name} is no text: {error}") from error


def _points(agent: Any, game: Any, run: Any, kind: str, frames: Any, score: Any) -> pd.DataFrame:
    values = (agent, game, run, kind, frames.astype("float64"), score.astype("float64"))
    points = pd.DataFrame(dict(zip(COLUMNS, values, strict=True)), index=score.index)
    # Tables of 57 or 60 games have some that are not of the 49; a phase in which no game ended has no mean.
    return points.dropna(subset=["game", "score"])


def _table(file: Path, text: str, columns: tuple[str, ...]) -> pd.DataFrame:
    try:
        with warnings.catch_warnings():
            # pandas drops what is too much in a line, with no more than a warning.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            table = pd.read_csv(io.StringIO(text), index_col=False)
        numbers = {name: "float64" for name in columns if name != "environment_name"}
        return table[list(columns)].astype(numbers)
    except (ValueError, KeyError, pd.errors.ParserWarning) as error:
        raise RunFolderError(f"{file.name} is no table with the columns {', '.join(columns)}") from error


def _of_environment(name: str) -> tuple[str, float]:
    """The game of a gymnasium name, and emulator frames per step: of those whose number is fixed, else NaN."""
    found = _ENVIRONMENT.fullmatch(name)
    game = _game(found[1]) if found else None
    if found is None or game is None:
        raise RunFolderError(f"{name[:60]} is none of the 49 Atari games")
    return game, 1.0 if found[2] == "NoFrameskip" else 4.0 if found[2] is None and found[3] == "5" else np.nan


def _game(name: str) -> str | None:
    """The game of the 49 that is meant by "beam_rider", "beamrider" or "BeamRider"; None if it is none of them."""
    return _GAMES.get(name.replace("_", "").lower())


_GAMES = {game.lower(): game for game in ATARI49}
