"""How far a sweep is, by its files alone: the ledger, and the newest rows of the runs under way.

Nothing is asked of the launcher or its cluster, which may be on another machine or gone: a job that the ledger calls
running, and whose rows are old, is one that nobody runs any more.
Not here: showing it (`pipeline.status`), the ledger itself (`dask_jobs.ledger`).
"""

import functools
import itertools
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from omegaconf import OmegaConf

from dask_jobs.ledger import (
    DONE,
    LEDGER,
    RUNNING,
    WAITING,
    LedgerError,
    LedgerRow,
    is_held,
    read_ledger,
)
from pipeline.config.composition import Files, resolved, texts_in
from pipeline.config.course import fraction_spent
from pipeline.config.run_config import RunConfig
from pipeline.config.tree import Tree, build
from pipeline.errors import ConfigError, RunFolderError, SweepError
from pipeline.experiments.files.run_folder import RunFolder
from pipeline.results.row_files import read_rows
from pipeline.rows import ROW_FILES, ActorCriticUpdateRow, EpisodeRow, UpdateRow

_OF_ONE_RUN = ("game=", "seed=")
"""Words of which nothing else in the config depends, as a rule: jobs which differ only in them are composed once."""
_NAMED = re.compile(r"\$\{[^}]*\b(game|seed)\b")
"""As in `results_dir: results/${game}`, where something does."""
_BETWEEN_WORDS = re.compile(r" (?=[+~]*[\w@/.]+=)")
"""A value may have spaces, too."""
_QUOTED = re.compile(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"")
"""As Hydra reads it: a quote inside has a backslash."""
_NOTE = "multirun.yaml"
"""What Hydra's own sweeper leaves in the folder of a sweep: all that it was started with."""
_RECENT_EPISODES = 100
_END_BYTES = 2_000_000
"""Of a file of rows: ten updates each of a thousand roles, and a hundred times as many games as are wanted."""
_MOST_REMEMBERED = 4096
"""Files of rows, of which a few numbers each are kept."""
_CLOCKS_DIFFER = timedelta(minutes=1)
"""Those of the machines of a launcher and of a job, at most."""


class RunSight(NamedTuple):
    """A run under way, by its newest rows."""

    fraction: float
    """Of its budget, 0.0 to 1.0."""
    steps_per_second: float
    """Agent steps of all roles."""
    mean_score: float | None
    """Of the last hundred training games; None before the first has ended."""
    silent_seconds: float
    """Since its newest row was written."""


class JobStatus(NamedTuple):
    """One job of a sweep."""

    row: LedgerRow
    experiment: str
    """"" where the overrides describe no run of this version of pipeline; `game` too."""
    game: str
    seed: int
    run: RunSight | None
    """None unless it is running and has written rows."""
    is_whole: bool = False
    """Whether it is done, and by all that is known was begun by the one attempt that its row tells of: what it took is
    not that of the rest of an older run."""
    why_unknown: str = ""
    """Why the overrides describe no run."""


class SweepStatus(NamedTuple):
    """All jobs of a sweep, in their order."""

    folder: Path
    jobs: tuple[JobStatus, ...]
    is_held: bool
    """Whether a command runs it now."""

    def with_status(self, status: str) -> list[JobStatus]:
        """Jobs that the ledger has in this state."""
        return [job for job in self.jobs if job.row.status == status]

    @property
    def steps_per_second(self) -> float:
        """Agent steps of all runs under way."""
        return sum(job.run.steps_per_second for job in self.jobs if job.run is not None)

    @property
    def eta_seconds(self) -> float | None:
        """Until all are done, if they take as long as those that are; None before one can tell, or if none runs."""
        running = self.with_status(RUNNING)
        seconds = [job.row.seconds for job in self.jobs if job.is_whole and job.row.seconds]
        if not seconds or not running or not self.is_held:
            return None
        left = len(self.with_status(WAITING)) + sum(1 - (job.run.fraction if job.run else 0.0) for job in running)
        return sum(seconds) / len(seconds) * left / len(running)


def newest_sweep(folder: Path) -> Path:
    """The folder below `folder` whose ledger was written last. Raises SweepError if there is none."""
    ledgers = sorted(folder.glob(f"*/{LEDGER}"), key=lambda path: path.stat().st_mtime)
    if not ledgers:
        raise SweepError(
            f"there is no sweep below {folder}: name one with sweep_dir=, or start one with -m hydra/launcher=dask"
        )
    return ledgers[-1].parent


def read_sweep(folder: Path, config_dir: Path | None = None) -> SweepStatus:
    """The sweep in `folder` as it is now. Raises SweepError where there is no ledger, or none that can be read.

    `config_dir`: the user's own folder that its runs are composed of, too; None: the one that Hydra has noted there.
    """
    try:
        rows = read_ledger(folder)
    except LedgerError as error:
        raise SweepError(str(error)) from error
    files = Files(config_dir or _noted_config_dir(folder))
    return SweepStatus(folder, tuple(_job(row, files) for row in rows), is_held(folder))


def _noted_config_dir(folder: Path) -> Path | None:
    """The `--config-dir` of the sweep's last command."""
    try:
        sources = OmegaConf.load(folder / _NOTE).hydra.runtime.config_sources
        noted = next((Path(source.path) for source in sources if source.provider == "command-line"), None)
    except Exception:  # no such file, or whatever OmegaConf raises of one that is damaged
        return None
    return noted if noted is not None and noted.is_dir() else None


def _job(row: LedgerRow, files: Files) -> JobStatus:
    words = _words_of(row.overrides)
    try:
        config = _config(words, files)
    except ConfigError as error:
        return JobStatus(row, "", "", 0, None, why_unknown=error.mistakes[0])
    except ValueError as error:
        return JobStatus(row, "", "", 0, None, why_unknown=str(error))
    run = _sight(config) if row.status == RUNNING else None
    return JobStatus(row, config.experiment, config.game, config.seed, run, _is_whole(row, config))


def _words_of(overrides: str) -> list[str]:
    """The words that a row of the ledger has joined by spaces; what stands in quotes is of one."""
    quoted = [found.span() for found in _QUOTED.finditer(overrides)]
    ends = [
        found.start()
        for found in _BETWEEN_WORDS.finditer(overrides)
        if not any(begin < found.start() < end for begin, end in quoted)
    ]
    return [overrides[begin:end].strip() for begin, end in itertools.pairwise([0, *ends, len(overrides)])]


def _config(words: Sequence[str], files: Files) -> RunConfig:
    # Any game: the job's own is put in its place.
    common = (*(word for word in words if not word.startswith(_OF_ONE_RUN)), "game=Pong")
    is_quoted = any(word.startswith(_OF_ONE_RUN) and _QUOTED.search(word) for word in words)
    if is_quoted or any("${" in word for word in words) or _names_game_or_seed(common, files):
        return _composed(tuple(words), files)
    own = dict(word.split("=", 1) for word in words if word.startswith(_OF_ONE_RUN))
    of_all = _composed(common, files)
    return replace(of_all, game=own.get("game", of_all.game), seed=int(own.get("seed", of_all.seed)))


def _names_game_or_seed(words: tuple[str, ...], files: Files) -> bool:
    """Whether a setting of these words' files, a results_dir say, is made of the run's game or seed."""
    return any(_NAMED.search(text) for text in texts_in(_tree(words, files)))


@functools.cache
def _composed(words: tuple[str, ...], files: Files) -> RunConfig:
    return build(resolved(_tree(words, files)))


@functools.cache
def _tree(words: tuple[str, ...], files: Files) -> Tree:
    return files.compose_tree(words)


def _is_whole(row: LedgerRow, config: RunConfig) -> bool:
    if row.status != DONE or row.attempts != 1 or not row.seconds:
        return False
    began = RunFolder(config.folder).read_run().get("started_at")
    if began is None or not row.started:
        return True
    return datetime.fromisoformat(began) > datetime.fromisoformat(row.started) - _CLOCKS_DIFFER


def _sight(config: RunConfig) -> RunSight | None:
    files = {name: _version_of(config.folder / name) for name in ROW_FILES.values()}
    updates, episodes = files[ROW_FILES[UpdateRow]], files[ROW_FILES[EpisodeRow]]
    try:
        progress = None if updates is None else _progress(updates)
        mean_score = None if episodes is None else _mean_score(episodes)
    except (OSError, RunFolderError):
        return None
    if progress is None:
        return None
    written_at = max(file.modified_ns for file in files.values() if file is not None) / 1e9
    return RunSight(
        fraction=fraction_spent(config.budget, progress.total_frames, progress.wall_seconds),
        steps_per_second=progress.steps_per_second,
        mean_score=mean_score,
        silent_seconds=max(time.time() - written_at, 0.0),
    )


class _FileVersion(NamedTuple):
    """A file of rows, which only grows, as it was when it had been written so far."""

    path: Path
    size: int
    modified_ns: int


class _Progress(NamedTuple):
    total_frames: int
    wall_seconds: float
    steps_per_second: float


def _version_of(path: Path) -> _FileVersion | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return _FileVersion(path, found.st_size, found.st_mtime_ns)


# Who watches a sweep asks every two seconds, and for most of its runs nothing has been written since.
@functools.lru_cache(_MOST_REMEMBERED)
def _progress(file: _FileVersion) -> _Progress | None:
    """By the newest row of each role; None before there is one."""
    updates = read_rows(file.path, (UpdateRow, ActorCriticUpdateRow), max_bytes=_END_BYTES).frame
    if updates.empty:
        return None
    newest = updates.groupby("role").tail(1)
    return _Progress(
        int(newest["total_frames"].max()),
        float(newest["wall_seconds"].max()),
        float(newest["steps_per_second"].sum()),
    )


@functools.lru_cache(_MOST_REMEMBERED)
def _mean_score(file: _FileVersion) -> float | None:
    """Of the last training games; None before there is one."""
    scores = read_rows(file.path, (EpisodeRow,), max_bytes=_END_BYTES).frame["score"].tail(_RECENT_EPISODES)
    return None if scores.empty else float(scores.mean())
