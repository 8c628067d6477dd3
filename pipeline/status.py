"""`python -m pipeline.status [sweep_dir=results/sweeps/atari49] [watch=true]`: how far a sweep is, from its files.

Counts, speed and time left; the runs under way; the games x experiments with their scores, or where runs differ in
other settings, as the trials of a search do, a list of them; what failed and why. Works
wherever the files are seen, while the sweep runs and afterwards.
Not here: what is read (`pipeline.experiments.sweeps.status`).
"""

from dask_jobs.terminal import begin, can_redraw

if __name__ == "__main__":
    begin()  # before the other imports, which take seconds

import contextlib
import datetime
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from dask_jobs.board import labelled, rounded
from dask_jobs.ledger import DONE, FAILED, INTERRUPTED, RUNNING, WAITING
from pipeline.config.arguments import parse_words
from pipeline.errors import ConfigError, PipelineError, status_of

if TYPE_CHECKING:
    from pipeline.experiments.sweeps.status import JobStatus, SweepStatus

_SWEEPS = Path("results/sweeps")
_WATCH_SECONDS = 2.0
_LINE_SECONDS = 10.0
"""Between two lines where the screen cannot be drawn anew."""
_COLOURS = {DONE: "green", RUNNING: "cyan", WAITING: "dim", FAILED: "red", INTERRUPTED: "yellow"}


@dataclass(frozen=True)
class StatusArguments:
    """What the command line may say, as `name=value`."""

    sweep_dir: Path | None = None
    """Folder with a ledger; null: below results/sweeps the one that was written last."""
    config_dir: Path | None = None
    """A folder with files of one's own, the `--config-dir` of the sweep; null: the one that Hydra has noted there."""
    watch: bool = False
    """Show it again every two seconds, for as long as a command runs it and anything waits or runs; in a file, or on a
    terminal that cannot be drawn on anew, a line every ten seconds."""


def main(words: Sequence[str] | None = None, console: Console | None = None) -> int:
    """Show the sweep; the exit status is 0 unless there was an error, which is printed."""
    console = console or Console()
    try:
        arguments = parse_words(StatusArguments, sys.argv[1:] if words is None else words)
        # pandas, which the help has no use for
        from pipeline.experiments.sweeps.status import newest_sweep, read_sweep

        folder = arguments.sweep_dir or newest_sweep(_SWEEPS)
        if arguments.sweep_dir is not None and not folder.is_dir():
            raise ConfigError([f"sweep_dir={folder}: there is no ledger of a sweep, for there is no such folder"])
        if arguments.config_dir is not None and not arguments.config_dir.is_dir():
            raise ConfigError([f"config_dir={arguments.config_dir}: there is no such folder"])
        sweep = read_sweep(folder, arguments.config_dir)
        if arguments.watch:
            sweep = _watch(sweep, arguments.config_dir, console)
    except PipelineError as error:
        print(f"error: {error}", file=sys.stderr)
        return status_of(error)
    console.print(render(sweep))
    return 0


def render(sweep: "SweepStatus") -> RenderableType:
    """All that is known of a sweep."""
    parts: list[RenderableType] = [Text(_summary(sweep), style="bold")]
    if running := sweep.with_status(RUNNING):
        parts += [Text(), _running_table(running, _names(sweep.jobs))]
    if known := [job for job in sweep.jobs if job.game]:
        is_table_of_games = len({(job.experiment, job.game, job.seed) for job in known}) == len(known)
        shown = _grid(known) if is_table_of_games else _list(known, _names(sweep.jobs))
        parts += [Text(), shown, Text(_legend(known), style="dim")]
    if unknown := [job for job in sweep.jobs if job.why_unknown]:
        text = (
            f"{len(unknown)} of {len(sweep.jobs)} jobs cannot be read here, the first because: {unknown[0].why_unknown}"
        )
        parts.append(Text(f"{text}; files of yours are found with config_dir=FOLDER"))
    for job in sweep.jobs:
        if job.row.status in (FAILED, INTERRUPTED):
            parts.append(Text(f"job {job.row.job} {job.row.overrides}: {job.row.status}: {job.row.reason}"))
    return Group(*parts)


def _watch(sweep: "SweepStatus", config_dir: Path | None, console: Console) -> "SweepStatus":
    """Show it until nothing waits or runs any more, or nobody runs it, or Ctrl-C."""
    from pipeline.experiments.sweeps.status import read_sweep  # as in main

    live = Live(render(sweep), console=console, auto_refresh=False, transient=True) if can_redraw(console) else None
    line_at = time.monotonic()
    try:
        with live or contextlib.nullcontext():
            # Rows of a command that was killed wait for ever.
            while sweep.is_held and (sweep.with_status(RUNNING) or sweep.with_status(WAITING)):
                time.sleep(_WATCH_SECONDS)
                sweep = read_sweep(sweep.folder, config_dir)
                if live is not None:
                    live.update(render(sweep), refresh=True)
                elif time.monotonic() - line_at >= _LINE_SECONDS:
                    line_at = time.monotonic()
                    console.print(_summary(sweep), markup=False, highlight=False, soft_wrap=True)
    except KeyboardInterrupt:
        pass
    return sweep


def _summary(sweep: "SweepStatus") -> str:
    counts = [f"{count} {status}" for status in _COLOURS if (count := len(sweep.with_status(status)))]
    words = [f"{sweep.folder}: {' · '.join(counts) or 'no jobs'}"]
    unfinished = sweep.with_status(RUNNING) or sweep.with_status(WAITING)
    if unfinished and not sweep.is_held:
        words.append("nobody runs it")
    elif sweep.with_status(RUNNING):
        words.append(f"{rounded(sweep.steps_per_second)} steps/s")
    if (seconds := sweep.eta_seconds) is not None:
        words.append(f"ETA {_clock(seconds)}")
    return " · ".join(words)


def _names(jobs: "Sequence[JobStatus]") -> Mapping[int, str]:
    """Job -> experiment, game and seed; where these do not tell all from each other, what else differs."""
    names = [" ".join((job.experiment, job.game, str(job.seed))) if job.game else job.row.overrides for job in jobs]
    if len(set(names)) < len(names):
        names = labelled([job.row.overrides.split() for job in jobs])
    return {job.row.job: name for job, name in zip(jobs, names, strict=True)}


def _list(jobs: "Sequence[JobStatus]", names: Mapping[int, str]) -> Table:
    """A row for each job."""
    table = Table(box=None, pad_edge=False)
    for heading in ("job", "run"):
        table.add_column(heading)
    table.add_column("score", justify="right")
    for job in jobs:
        table.add_row(str(job.row.job), names[job.row.job], _cell(job))
    return table


def _running_table(jobs: "Sequence[JobStatus]", names: Mapping[int, str]) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in ("job", "run"):
        table.add_column(heading)
    for heading in ("done", "steps/s", "score", "newest row"):
        table.add_column(heading, justify="right")
    for job in jobs:
        name = names[job.row.job]
        if job.run is None:
            table.add_row(str(job.row.job), name, "starting", "-", "-", "-")
            continue
        score = "-" if job.run.mean_score is None else f"{job.run.mean_score:,.1f}"
        news = f"{_clock(job.run.silent_seconds)} ago"
        table.add_row(str(job.row.job), name, f"{job.run.fraction:.0%}", rounded(job.run.steps_per_second), score, news)
    return table


def _grid(jobs: "Sequence[JobStatus]") -> Table:
    """A row for each game, a column for each experiment; of several seeds one cell after the other."""
    experiments = list(dict.fromkeys(job.experiment for job in jobs))
    table = Table(box=None, pad_edge=False)
    table.add_column("game")
    for experiment in experiments:
        table.add_column(experiment, justify="right")
    for game in sorted({job.game for job in jobs}):
        of_game = sorted((job for job in jobs if job.game == game), key=lambda job: job.seed)
        cells = [[_cell(job) for job in of_game if job.experiment == experiment] for experiment in experiments]
        table.add_row(game, *(Text(" ").join(cell) for cell in cells))
    return table


def _cell(job: "JobStatus") -> Text:
    status = job.row.status
    text = {WAITING: "·", FAILED: "failed", INTERRUPTED: "stopped"}.get(status, "-")
    if status == DONE and job.row.return_value not in ("", "null"):
        text = f"{json.loads(job.row.return_value):,.1f}"
    if status == RUNNING:
        text = "0%" if job.run is None else f"{job.run.fraction:.0%}"
    return Text(text, style=_COLOURS[status])


def _legend(jobs: "Sequence[JobStatus]") -> str:
    seeds = sorted({job.seed for job in jobs})
    text = "mean score of the final evaluation, each under its run's own protocol; %: of the budget; ·: waits"
    return f"{text}; seeds {', '.join(map(str, seeds))} side by side" if len(seeds) > 1 else text


def _clock(seconds: float) -> str:
    return str(datetime.timedelta(seconds=round(seconds)))


if __name__ == "__main__":
    sys.exit(main())
