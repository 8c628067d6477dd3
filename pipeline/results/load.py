"""From run folders to tidy DataFrames: one per row type, with experiment, game and seed on every row.

A run folder is `<runs>/<experiment>/<game>/<seed>/` with `config.yaml`, `run.json` and a CSV file per row type.
Wherever it was moved or linked to, it is known by what its `run.json` says, or else its `config.yaml`, or its path.
A killed run may lack files or have half a last line: both are named in `problems`, and the rest is loaded.
Not here: one file (`pipeline.results.row_files`), the columns themselves (`pipeline.rows`), who writes them, statistics
(`pipeline.results.scores`).
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd

from pipeline.checked_files import LARGEST_COUNT
from pipeline.errors import RunFolderError
from pipeline.games import GAMES
from pipeline.results.row_files import no_rows, read_rows
from pipeline.results.run_settings import settings_in
from pipeline.rows import ROW_FILES, ActorCriticUpdateRow, EpisodeRow, EvaluationRow, Row, UpdateRow
from pipeline.run_facts import RUN, facts_in, origin_of
from pipeline.run_folders import CONFIG, named_path, run_folders

RUN_KEYS = ("experiment", "game", "seed")
"""Columns that tell which run a row belongs to."""

UNKNOWN_GAME = ""
"""Of a folder that was moved and has no `run.json`."""

RUN_FACTS = ("commit", "started_at", "end_reason", "wall_seconds", "total_frames")
"""What `runs` holds of `run.json`, besides RUN_KEYS; missing where the file does not say."""


class LoadedRuns(NamedTuple):
    """The rows of one or more runs."""

    runs: pd.DataFrame
    """One row per run: RUN_KEYS, RUN_FACTS, `init_from` (whose parameters it began with, "" for its own), `folder`."""
    episodes: pd.DataFrame
    """RUN_KEYS and the fields of EpisodeRow."""
    updates: pd.DataFrame
    """RUN_KEYS and the fields of UpdateRow: of runs that learn Q-values."""
    actor_critic_updates: pd.DataFrame
    """RUN_KEYS and the fields of ActorCriticUpdateRow: of runs that learn a policy."""
    evaluations: pd.DataFrame
    """RUN_KEYS and the fields of EvaluationRow."""
    problems: tuple[str, ...]
    """What was missing, cut off or unreadable; one line each, beginning with the path."""


def load_run(folder: str | Path) -> LoadedRuns:
    """The rows of one run.

    Raises RunFolderError when the folder is no run folder or of no game that there is, or a file in it has other
    columns than this version's rows.
    """
    folder = Path(folder)
    if not _looks_like_run(folder):
        raise RunFolderError(
            f"{folder} is no run folder: neither run.json nor {', '.join(_row_types_by_file())} is in it"
        )
    problems = [f"{folder / name}: missing" for name in ("config.yaml", "run.json") if not (folder / name).is_file()]
    facts = _read_facts(folder)
    keys = {key: facts[key] for key in RUN_KEYS}
    frames = {row_type: no_rows(row_type) for row_type in ROW_FILES}
    for name, row_types in _row_types_by_file().items():
        read = read_rows(folder / name, row_types)
        frames[read.row_type] = read.frame
        problems += read.problems
    beside = {"init_from": origin_of(facts), "folder": str(folder)}
    runs = pd.DataFrame([{name: facts.get(name) for name in (*RUN_KEYS, *RUN_FACTS)} | beside])
    return _loaded(runs, frames, keys, problems)


def load_runs(runs_directory: str | Path, *, with_updates: bool = True) -> LoadedRuns:
    """The rows of every run at or below `runs_directory`, in order of their paths.

    A folder that cannot be read, or is not there, is named in `problems` and skipped. So are all but one folder of the
    same run, copies for instance, whose games would count twice: the one that has come furthest stays.
    `with_updates=False`: without the updates of Q-learners, whose files are looked at all the same: of 147 runs of 200
    million frames they are 3 GB.
    """
    loaded: dict[tuple[Any, ...], LoadedRuns] = {}
    problems = [] if Path(runs_directory).is_dir() else [f"{runs_directory}: no such folder"]

    def unreadable(error: OSError) -> None:
        problems.append(f"{error.filename}: skipped: it cannot be read: {error.strerror}")

    for folder in run_folders(Path(runs_directory), unreadable):
        try:
            run = load_run(folder)
        except (RunFolderError, OSError) as error:
            problems.append(f"{folder}: skipped: {error}")
            continue
        key = tuple(run.runs.iloc[0][list(RUN_KEYS)])
        if key[RUN_KEYS.index("game")] == UNKNOWN_GAME:
            key = (*key, folder)  # of two nobody knows whether they are one
        if not with_updates:
            run = run._replace(updates=run.updates.iloc[:0].copy())
        if key in loaded:
            run, other = sorted((loaded[key], run), key=_frames, reverse=True)
            same, kept, copy = "/".join(map(str, key)), *(one.runs["folder"].iloc[0] for one in (run, other))
            problems.append(f"{copy}: skipped: it is run {same} like {kept}")
        loaded[key] = run
    return join_runs(loaded.values(), problems)


def frames_reached(loaded: LoadedRuns) -> dict[tuple[Any, ...], float]:
    """RUN_KEYS of each run -> the frames that any of its rows, or its `run.json`, speaks of."""
    reached: dict[tuple[Any, ...], float] = {}
    for frame in (loaded.runs, loaded.episodes, loaded.evaluations):
        for group, frames in pd.to_numeric(frame["total_frames"]).groupby([frame[key] for key in RUN_KEYS]):
            keys = cast(tuple[Any, ...], group)
            reached[keys] = float(np.fmax(reached.get(keys, 0.0), frames.max()))
    return reached


def _frames(run: LoadedRuns) -> float:
    (frames,) = frames_reached(run).values()
    return frames


def of_known_games(loaded: LoadedRuns) -> LoadedRuns:
    """Those of which it is known, for whoever puts them in order of games; the others are named in `problems`."""
    lost = loaded.runs.loc[loaded.runs["game"] == UNKNOWN_GAME, "folder"]
    if lost.empty:
        return loaded
    told = [f"{folder}: left out: no game that there is stands in {RUN}, {CONFIG} or the path" for folder in lost]
    return LoadedRuns(
        _of_known(loaded.runs),
        _of_known(loaded.episodes),
        _of_known(loaded.updates),
        _of_known(loaded.actor_critic_updates),
        _of_known(loaded.evaluations),
        (*loaded.problems, *told),
    )


def _of_known(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[rows["game"] != UNKNOWN_GAME].reset_index(drop=True)


def join_runs(loaded: Iterable[LoadedRuns], problems: Iterable[str] = ()) -> LoadedRuns:
    """Several runs as one; `problems` come after theirs."""
    parts = [_no_runs(), *loaded]
    return LoadedRuns(
        _concat(part.runs for part in parts),
        _concat(part.episodes for part in parts),
        _concat(part.updates for part in parts),
        _concat(part.actor_critic_updates for part in parts),
        _concat(part.evaluations for part in parts),
        (*(line for part in parts for line in part.problems), *problems),
    )


def short_commit(commit: object) -> str:
    """The first seven letters, with the "+" of files that differed from it; "" where it is not known."""
    if not isinstance(commit, str):
        return ""
    return commit[:7] + ("+" if commit.endswith("+") else "")


def _looks_like_run(folder: Path) -> bool:
    if any((folder / name).is_file() for name in ("run.json", *_row_types_by_file())):
        return True
    # Copied from elsewhere with its checkpoints, for somebody to play or export.
    return len(_names_in_config(folder)) == len(RUN_KEYS)


def _row_types_by_file() -> dict[str, list[type[Row]]]:
    files: dict[str, list[type[Row]]] = {}
    for row_type, name in ROW_FILES.items():
        files.setdefault(name, []).append(row_type)
    return files


def _read_facts(folder: Path) -> dict[str, Any]:
    """What `run.json` says, with experiment, game and seed of the config or the path where it does not say them."""
    facts = facts_in(folder)
    experiment, game, seed = _names_of(folder)
    of_config = {} if facts.keys() >= set(RUN_KEYS) else _names_in_config(folder)
    facts = {"experiment": experiment, "game": game, "seed": seed} | of_config | facts
    facts["experiment"], facts["game"] = str(facts["experiment"]), str(facts["game"])
    if facts["game"] not in GAMES:
        # Files and figures are named after it: a word of a stranger's could lead them out of their folder.
        if facts["game"] != game:
            raise RunFolderError(f"{folder / RUN}: game={facts['game']}: there is no such game")
        facts["game"] = UNKNOWN_GAME
    try:
        facts["seed"] = int(facts["seed"])
        if abs(facts["seed"]) > LARGEST_COUNT:
            raise ValueError("too large")
    except (TypeError, ValueError, OverflowError) as error:
        raise RunFolderError(f"{folder}: the seed must be a whole number, not {facts['seed']!r}") from error
    return facts


def _names_in_config(folder: Path) -> dict[str, Any]:
    settings = settings_in(folder)
    fits = {
        "experiment": isinstance(settings.get("experiment"), str),
        "game": settings.get("game") in GAMES,
        "seed": type(settings.get("seed")) is int,
    }
    return {name: settings[name] for name, is_fit in fits.items() if is_fit}


def _names_of(folder: Path) -> tuple[str, ...]:
    """Experiment, game and seed of the path that it was called by, or of where it lies if that ends in no seed."""
    named, real = named_path(folder).parts[-3:], folder.resolve().parts[-3:]
    names = named if named[-1].isdecimal() else real
    return ("", "", "", *names)[-3:]


def _no_runs() -> LoadedRuns:
    keys = {"experiment": "", "game": "", "seed": 0}
    runs = pd.DataFrame(columns=[*RUN_KEYS, *RUN_FACTS, "init_from", "folder"])
    return _loaded(runs, {row_type: no_rows(row_type) for row_type in ROW_FILES}, keys, ())


def _loaded(
    runs: pd.DataFrame, frames: dict[type[Row], pd.DataFrame], keys: dict[str, Any], problems: Iterable[str]
) -> LoadedRuns:
    keyed = {row_type: _with_keys(frame, keys) for row_type, frame in frames.items()}
    return LoadedRuns(
        runs,
        keyed[EpisodeRow],
        keyed[UpdateRow],
        keyed[ActorCriticUpdateRow],
        keyed[EvaluationRow],
        tuple(problems),
    )


def _with_keys(frame: pd.DataFrame, keys: dict[str, Any]) -> pd.DataFrame:
    """`frame` itself, with the run in front of each row."""
    for position, name in enumerate(RUN_KEYS):
        dtype = "int64" if name == "seed" else "str"
        frame.insert(position, name, pd.Series(keys[name], index=frame.index, dtype=dtype))
    return frame


def _concat(frames: Iterable[pd.DataFrame]) -> pd.DataFrame:
    kept = list(frames)
    filled = [frame for frame in kept if len(frame)]
    return pd.concat(filled, ignore_index=True) if filled else kept[0]
