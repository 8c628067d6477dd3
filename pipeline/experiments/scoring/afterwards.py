"""Evaluations of runs that are over: many runs, checkpoints and protocols at once, on the hosts of one cluster.

    folders -> settings, checkpoints, start states: all mistakes at once -> locks -> what is not there yet -> tasks
            -> rows and recordings of each evaluation, as soon as it ends -> the table of each game

Each run keeps its own rows, and nobody else may write beside them meanwhile. An evaluation that was played with the
same parameters, protocol and seeds is there already: it is passed over, or played again in the place of its rows.
Not here: the tasks (`pipeline.experiments.scoring.tasks`), the rows (`pipeline.experiments.files.evaluation_rows`), the
words of the command line (`pipeline.evaluate`).
"""

import statistics
import threading
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.markup import escape

from dask_jobs.terminal import lasting_output
from pipeline.cluster.config import ClusterConfig
from pipeline.cluster.hosts import report_host
from pipeline.cluster.packages import check_importable
from pipeline.cluster.session import open_session
from pipeline.cluster.start import check_process
from pipeline.config.overrides import compose_cluster, compose_onto
from pipeline.config.run_config import RunConfig, unlike_training
from pipeline.config.tree import Tree
from pipeline.config.words import listed
from pipeline.disk import told_if_refused
from pipeline.errors import CheckpointError, ConfigError, PipelineError, RecordingError, RunFolderError
from pipeline.evaluation import recordings
from pipeline.evaluation.protocol import UNTOLD, EvaluationConfig, untold
from pipeline.evaluation.start_states import load_for
from pipeline.experiments.files import checkpoint, evaluation_rows, run_lock
from pipeline.experiments.files.job_logs import JOBS
from pipeline.experiments.files.run_folder import CHECKPOINTS, CONFIG, RECORDINGS
from pipeline.experiments.files.saved_config import check_version, saved_settings
from pipeline.experiments.interrupts import ending_at_once, interruptible
from pipeline.experiments.progress import GamesProgress
from pipeline.experiments.scoring.chosen_parameters import chosen_checkpoint
from pipeline.experiments.scoring.request import EvaluationRequest
from pipeline.experiments.scoring.tasks import Evaluation, evaluator_spec, play_all
from pipeline.experiments.specs import checkpoint_fit
from pipeline.results.load import join_runs, load_run
from pipeline.results.table import as_rich, game_table
from pipeline.rows import BEST, CHECKPOINT
from pipeline.run_folders import results_dir_of
from pipeline.settings import flat, shown


class Result(NamedTuple):
    """What was done."""

    num_played: int
    """Evaluations."""
    num_there: int
    """Passed over, since their rows were there."""
    was_interrupted: bool
    """Before all was played."""


class _Planned(NamedTuple):
    folder: Path
    """As it was named."""
    place: Path
    """The same, absolute: the program around may go elsewhere while games are played."""
    config: RunConfig
    evaluation: Evaluation


@told_if_refused()
def evaluate_runs(request: EvaluationRequest, console: Console | None = None) -> Result:
    """Play all that is asked for and not there yet. Ctrl-C ends it and keeps what is finished.

    Raises ConfigError with all mistakes before anything starts; RoleFailedError when hosts are lost; DiskError.
    """
    check_process()
    console, request = console or Console(file=lasting_output()), request.in_full()
    cluster, planned = _plan(request)
    with ExitStack() as stack:
        _hold_all(stack, [one.place for one in planned])
        wanted = []
        for one in planned:
            if request.again or not _is_there(one):
                wanted.append(one)
            else:
                console.print(f"{_name(one)}: there already; again=true plays it again", markup=False, highlight=False)
        for warning in dict.fromkeys(filter(None, (unlike_training(one.config) for one in wanted))):
            console.print(f"[yellow]warning:[/yellow] {escape(warning)}", highlight=False, soft_wrap=True)
        interrupt = threading.Event()
        num_played = _play(wanted, cluster, interrupt, console) if wanted else 0
    _print_tables(planned, console)
    return Result(num_played, len(planned) - len(wanted), interrupt.is_set() and num_played < len(wanted))


def _plan(request: EvaluationRequest) -> tuple[ClusterConfig, list[_Planned]]:
    planned: list[_Planned] = []
    mistakes: dict[str, list[Path]] = {}
    of_cluster: tuple[str, ...] = ()
    try:
        cluster = compose_cluster(request.cluster, request.config_dir)
    except ConfigError as error:
        of_cluster = error.mistakes
    for folder in request.folders:
        for protocol in request.protocols or (None,):
            try:
                config = _config(folder, protocol, request)
            except (ConfigError, RunFolderError) as error:
                _note(mistakes, folder, error)
                continue
            for which in request.checkpoints:
                try:
                    planned.append(_planned(folder, config, which, request.seed))
                except (ConfigError, CheckpointError, RunFolderError) as error:
                    _note(mistakes, folder, error)
    if mistakes or of_cluster:
        of_runs = (_where(line, folders, request.folders) for line, folders in mistakes.items())
        raise ConfigError([*of_cluster, *of_runs])
    # Asked for twice, as "newest" and by its version, is played once.
    once = {(one.folder, *sorted(evaluation_rows.keys_of(one.evaluation.spec))): one for one in planned}
    return cluster, list(once.values())


def _config(folder: Path, protocol: str | None, request: EvaluationRequest) -> RunConfig:
    saved = saved_settings(folder)
    check_version(folder, saved, aside=("cluster", "evaluation"))
    # The cluster that it was trained on may be gone, and its certificates with it.
    options = ["cluster=threads", *([] if protocol is None else [f"evaluation={protocol}"])]
    config = compose_onto(saved, [*options, *request.settings], ("evaluation", "cluster"), request.config_dir)
    if mistakes := _mislabelled(saved, config.evaluation):
        raise ConfigError(mistakes)
    return config


def _mislabelled(saved: Tree, played: EvaluationConfig) -> list[str]:
    """Mistakes of games that would count as others: as the run's own of the same name, or as their protocol's."""
    begun = dict(flat(saved.get("evaluation") or {}))
    if begun.get("protocol") != played.protocol:
        return untold(played)
    own = {name: begun.get(f"environment.{name}") for name in UNTOLD}
    return [
        f"evaluation.environment.{name}={shown(getattr(played.environment, name))} is not {played.protocol} as the run "
        f"has it ({shown(value)}), and rows do not tell it: give such games a name of their own, evaluation.protocol=…"
        for name, value in own.items()
        if value not in (None, getattr(played.environment, name))
    ]


def _planned(folder: Path, config: RunConfig, which: str, seed: int | None) -> _Planned:
    place = folder.absolute()
    path, loaded = chosen_checkpoint(place / CHECKPOINTS, which, checkpoint_fit(config))
    starts = load_for(config.evaluation, config.game)
    spec = evaluator_spec(config, loaded, BEST if which == BEST else CHECKPOINT, starts)
    if seed is not None:
        spec = replace(spec, seed=seed)
    evaluation_rows.keys_in(folder)  # raises where rows could not be added
    return _Planned(folder, place, config, Evaluation(spec, lambda: checkpoint.load(path).server.params))


def _note(mistakes: dict[str, list[Path]], folder: Path, error: PipelineError) -> None:
    for line in error.mistakes if isinstance(error, ConfigError) else (str(error),):
        folders = mistakes.setdefault(line, [])
        if folder not in folders:
            folders.append(folder)


def _where(line: str, folders: Sequence[Path], all_folders: Sequence[Path]) -> str:
    """A mistake with the runs that it is one in, unless it is one in all of them."""
    return line if len(folders) == len(all_folders) > 1 else f"{listed(map(str, folders))}: {line}"


def _hold_all(stack: ExitStack, folders: Iterable[Path]) -> None:
    mistakes = []
    for folder in dict.fromkeys(folders):
        try:
            stack.enter_context(run_lock.hold(folder / CONFIG))
        except RunFolderError as error:
            mistakes.append(str(error))
    if mistakes:
        raise ConfigError(mistakes)


def _is_there(one: _Planned) -> bool:
    return evaluation_rows.keys_of(one.evaluation.spec) <= evaluation_rows.keys_in(one.place)


def _play(wanted: Sequence[_Planned], cluster: ClusterConfig, interrupt: threading.Event, console: Console) -> int:
    # Evaluations are no roles: any host will do.
    cluster = cluster.of_group(None)
    threads = max(one.config.topology.compute_threads for one in wanted)
    num_hosts = cluster.num_hosts or min(len(wanted), max(1, report_host().num_cores // threads))
    num_played = 0
    with (
        ending_at_once(),
        open_session(cluster.of_run(_name_of_jobs(wanted), wanted[0].place / JOBS), num_hosts, threads) as session,
        interruptible(interrupt),
        GamesProgress(console, "auto", "evaluation") as progress,
    ):
        session.name = f"{len(wanted)} evaluation(s) of runs that are over"
        session.check_versions()
        own_modules = [module for one in wanted for module in one.config.own_modules]
        check_importable(session.client, session.hosts, own_modules, compares_code=session.compares_code)
        dashboard = f"; dashboard {url}" if (url := session.dashboard_url) else ""
        console.print(
            f"{len(wanted)} evaluation(s) on {len(session.present_hosts())} host(s), Ctrl-C keeps what is finished"
            f"{dashboard}",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )
        say = partial(console.print, markup=False, highlight=False, soft_wrap=True)
        all_evaluations = [one.evaluation for one in wanted]
        for index, games in play_all(session, cluster, all_evaluations, interrupt, say, show=progress.show):
            one = wanted[index]
            # Scores without their games are better than none.
            evaluation_rows.add(one.place, [game.row for game in games])
            num_played += 1
            try:
                recordings.save(one.place / RECORDINGS, games)
            except RecordingError as error:
                say(f"games are scored and not recorded: {error}")
            mean = statistics.fmean(game.row.score for game in games)
            say(f"{_name(one)}: mean {mean:,.1f} over {len(games)} games")
    if interrupt.is_set() and num_played < len(wanted):
        console.print(f"interrupted: {len(wanted) - num_played} evaluation(s) are not finished", highlight=False)
    return num_played


def _name_of_jobs(wanted: Sequence[_Planned]) -> str:
    runs = {f"{one.config.experiment}-{one.config.game}-{one.config.seed}" for one in wanted}
    return f"evaluation-{runs.pop()}" if len(runs) == 1 else "evaluation"


def _name(one: _Planned) -> str:
    spec = one.evaluation.spec
    return f"{one.folder}, {spec.evaluation.protocol}, agent {spec.agent}, update {spec.version:,}"


def _print_tables(planned: Sequence[_Planned], console: Console) -> None:
    # Apart by results folder: a run of the same experiment, game and seed in another one is another run.
    tables: dict[tuple[str, Path], dict[Path, Path]] = {}
    for one in planned:
        tables.setdefault((one.config.game, results_dir_of(one.place)), {}).setdefault(one.place, one.folder)
    for (game, _), folders in tables.items():
        runs = f"{len(folders)} runs" if len(folders) > 1 else str(next(iter(folders.values())))
        console.print(as_rich(game_table(join_runs(load_run(folder) for folder in folders), game), f"{game}, {runs}"))
