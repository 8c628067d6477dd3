"""One run from start to end: plan, cluster, fleet, budget, checkpoints, final evaluation, table.

    compose -> plan -> run folder -> shards and roles -> watch until the budget, a score, Ctrl-C or an error
            -> last checkpoint -> final evaluation -> run.json -> table

Not here: who is started (`pipeline.topologies`), how the command line becomes a config (`pipeline.train`).
"""

import contextlib
import math
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urljoin

from rich.console import Console
from rich.markup import escape

from pipeline import seeding
from pipeline.cluster import glance
from pipeline.cluster.coordination.coordinator import Coordinator
from pipeline.cluster.dashboard.plugin import PAGE, register
from pipeline.cluster.granted import GrantedHosts
from pipeline.cluster.session import Session, open_session
from pipeline.cluster.start import submission
from pipeline.config.run_config import EVALUATOR, RunConfig
from pipeline.errors import (
    DivergedError,
    PipelineError,
    PlacementError,
    RemoteLostError,
    RoleFailedError,
    RunFolderError,
)
from pipeline.evaluation import start_states
from pipeline.experiments.curves.logger import LoggedRun
from pipeline.experiments.curves.loggers import Loggers, check_installed, seconds_since_1970
from pipeline.experiments.files import checkpoint, provenance
from pipeline.experiments.files.checkpoint import Checkpoint
from pipeline.experiments.files.evaluation_rows import keys_in, keys_of
from pipeline.experiments.files.run_folder import CHECKPOINTS, RunFolder, check_folder, open_folder
from pipeline.experiments.interrupts import interruptible
from pipeline.experiments.meter import RunMeter, fraction_spent
from pipeline.experiments.plan import Plan, dispensable, make_plan, network_of
from pipeline.experiments.progress import RunProgress
from pipeline.experiments.room import plan_beside_others, plan_now
from pipeline.experiments.saving import Saver
from pipeline.experiments.scoring import at_the_end
from pipeline.experiments.scoring.beside_training import NO_HOST, TrainingEvaluation
from pipeline.experiments.scoring.tasks import CHECKPOINT, evaluator_spec
from pipeline.experiments.specs import fleet_spec
from pipeline.param_server.snapshot import first_snapshot
from pipeline.results.load import load_run
from pipeline.results.table import as_rich, game_table
from pipeline.roles.progress import RoleProgress
from pipeline.rows import Row
from pipeline.topologies.fleet import Fleet

BUDGET, SCORE, INTERRUPTED = "budget", "score", "interrupted"
_LIMITS = {BUDGET: "budget.frames or budget.minutes", SCORE: "budget.score"}
_TICK_SECONDS = 0.25
_PUBLISH_SECONDS = 2.0
"""How often others see how far the run is."""
_LEAVE_SECONDS = 60.0
"""How long roles may take to finish their step and leave."""
_FAREWELL_SECONDS = 5.0
"""How long those of a run that has failed are waited for."""
_SILENT_SECONDS = 5.0
"""How long a host is waited for without a word."""


class RunResult(NamedTuple):
    """What a run leaves behind."""

    folder: Path | None
    """None when only the plan was asked for."""
    end_reason: str
    """"budget", "score", "interrupted" or "plan"."""


def train(
    config: RunConfig,
    console: Console | None = None,
    *,
    granted: GrantedHosts | None = None,
    evaluates_when_interrupted: bool = True,
) -> RunResult:
    """Carry out one run. Raises a PipelineError with one clear message for everything that can be foreseen.

    `granted`: what the run may use of `config.cluster`; None: all.
    `evaluates_when_interrupted=False`: an interrupted run ends with its checkpoint, to be resumed, and one that is
    interrupted in its final evaluation counts as interrupted.
    """
    console = console or Console()
    check_installed(config.logging_tools)
    start_states.load_for(config.evaluation, config.game)  # raises if they are missing or do not fit
    can_tell = config.cluster.can_tell_hosts_before_start
    if can_tell:
        plan = make_plan(config)
        if config.plan:
            console.print(plan.render(config), *_remarks_on_folder(config))
            if (text := submission(config.cluster, plan.num_hosts, plan.threads_per_host)) is not None:
                console.print(text, markup=False, highlight=False, soft_wrap=True)
            return RunResult(None, "plan")
    if not config.plan:
        check_folder(config)
    hosts = (plan.num_hosts, plan.threads_per_host) if can_tell else (1, config.topology.compute_threads)
    with open_session(config.cluster, *hosts, granted) as session:
        session.name = f"{config.experiment} on {config.game}, seed {config.seed}"
        plan = plan_beside_others(config, session, console)
        console.print(plan.render(config), *(_remarks_on_folder(config) if config.plan else []))
        if config.plan:
            return RunResult(None, "plan")
        folder = open_folder(config)
        with folder.hold():
            return _Run(config, session, plan, folder, console, evaluates_when_interrupted).carry_out()


def _remarks_on_folder(config: RunConfig) -> list[str]:
    """What would become of the run's folder, in markup."""
    try:
        check_folder(config)
    except RunFolderError as error:
        return [f"[yellow]warning:[/yellow] without plan=true this is refused: {escape(str(error))}"]
    path = config.folder
    does = f"go on with {path}" if config.resume and checkpoint.any_in(path / CHECKPOINTS) else f"begin anew in {path}"
    return [f"it would {escape(does)}"]


class _Run:
    """The state of one run in its coordinator."""

    def __init__(
        self,
        config: RunConfig,
        session: Session,
        plan: Plan,
        folder: RunFolder,
        console: Console,
        evaluates_when_interrupted: bool,
    ) -> None:
        self._config = config
        self._session = session
        self._plan = plan
        self._folder = folder
        self._console = console
        self._evaluates_when_interrupted = evaluates_when_interrupted
        self._meter = RunMeter(config, str(folder.path.absolute()))
        self._progress = RunProgress(console, config.progress)
        self._loggers = Loggers(config.logging_tools, self._progress.say)
        self._published_at = -math.inf
        self._interrupt = threading.Event()
        self._saver = Saver(folder.checkpoints, config.checkpoint, self._progress.say)
        every_frames = config.training_evaluation.every_frames
        self._evaluation: TrainingEvaluation | None = None
        if every_frames is not None:
            host = plan.placement[EVALUATOR].address
            self._evaluation = TrainingEvaluation(session, config, every_frames, host, folder.path)

    def carry_out(self) -> RunResult:
        """Train, evaluate, print the table."""
        run, start = self._folder.read_run(), self._start()
        if (reason := run.get("end_reason")) in (BUDGET, SCORE) and self._reached(reason, start):
            self._console.print(f"this run has reached its {reason}: raise {_LIMITS[reason]} to go on")
            self._print_table()
            return RunResult(self._folder.path, reason)
        run = provenance.begin(run, self._config, self._session.hosts, self._plan.placement)
        self._folder.write_run(run)
        self._print_dashboard()
        started_at = seconds_since_1970(run["started_at"])
        self._loggers.open(LoggedRun(self._config, self._folder.path, started_at, goes_on=self._config.resume))
        try:
            end, reason = self._train_and_evaluate(start)
        except PipelineError as error:
            with contextlib.suppress(OSError):  # of a disk that is full, which may be why
                self._folder.write_run(run | {"end_reason": f"error: {error}"})
            raise
        self._folder.write_run(provenance.end(run, reason, end.wall_seconds, self._config.num_frames(end.num_steps)))
        self._print_table()
        return RunResult(self._folder.path, reason)

    def _train_and_evaluate(self, start: Checkpoint) -> tuple[Checkpoint, str]:
        with interruptible(self._interrupt, second_ends=self._evaluates_when_interrupted), ExitStack() as stack:
            stack.callback(self._folder.close)
            stack.callback(self._loggers.close)
            coordinator = stack.enter_context(Coordinator(self._session.client, self._session.run_id, self._write))
            with self._progress:
                end, reason = self._train(coordinator, start)
                glance.publish(self._session.client, self._meter.glance(end.progress))
            if not self._evaluates_when_interrupted and (reason == INTERRUPTED or self._interrupt.is_set()):
                return end, INTERRUPTED
            rows = self._evaluate(end)
            self._folder.write(rows or [])
            self._loggers.see(rows or [])
        return end, INTERRUPTED if rows is None and not self._evaluates_when_interrupted else reason

    def _start(self) -> Checkpoint:
        if self._config.resume and checkpoint.any_in(self._folder.checkpoints):
            start = checkpoint.load_newest(self._folder.checkpoints)
            discarded = self._folder.discard_rows_after(start.wall_seconds, start.wall_seconds_of_roles)
            self._console.print(
                f"resumed at update {start.server.version:,}, {self._config.num_frames(start.num_steps):,} frames; "
                + ("" if self._config.replay is None else "the replay is filled anew before learning goes on; ")
                + f"{discarded} newer rows set aside in discarded/"
            )
            return start
        if self._config.resume:
            self._console.print(f"nothing to resume in {self._folder.path}: it begins anew", highlight=False)
        params = network_of(self._config).initial_parameters(seeding.stream(self._config.seed, "parameters"))
        start = Checkpoint(first_snapshot(params), {}, generation=0)
        checkpoint.save(self._folder.checkpoints, start, self._config.checkpoint.keep)
        return start

    def _train(self, coordinator: Coordinator, start: Checkpoint) -> tuple[Checkpoint, str]:
        restarts = 0
        while True:
            generation = start.generation + 1 + restarts
            spec = fleet_spec(self._config, self._plan.demands, generation)
            fleet = Fleet(self._session, coordinator, spec, self._plan.placement)
            try:
                coordinator.let_roles_run(start.progress)
                fleet.start(start.server, start.progress)
                reason = self._watch(fleet, coordinator, generation)
                coordinator.stop_roles()
                if self._evaluation is not None:
                    self._evaluation.cancel()
                end = self._saver.save(fleet, fleet.collect(_LEAVE_SECONDS), generation)
                coordinator.finish(_LEAVE_SECONDS)
                return end, reason
            except RemoteLostError as error:
                restarts += 1
                if restarts > self._config.cluster.max_restarts:
                    raise RoleFailedError(
                        f"shards were lost {restarts} times, the last time because {error}"
                    ) from error
                start = self._recover(fleet, coordinator, str(error))
                if self._interrupt.is_set():
                    return start, INTERRUPTED
            except PipelineError as error:
                # What diverged is not worth to go on from: the newest checkpoint is from before.
                if not isinstance(error.__cause__, DivergedError):
                    self._saver.save_what_is_left(fleet, coordinator.progress(), generation)
                # Until they have heard it: they would go on for as long as their lease lasts.
                coordinator.stop_roles()
                with contextlib.suppress(PipelineError):
                    fleet.abandon(_FAREWELL_SECONDS)
                raise
            finally:
                fleet.release()

    def _watch(self, fleet: Fleet, coordinator: Coordinator, generation: int) -> str:
        while not self._interrupt.wait(_TICK_SECONDS):
            num_restarted = fleet.num_restarted
            for sentence in fleet.supervise():
                self._progress.say(sentence)
            for _ in range(fleet.num_restarted - num_restarted):
                self._meter.restarted()
            coordinator.check()
            roles = coordinator.progress()
            self._show(roles)
            if self._budget_spent(roles) or fleet.finished():
                return BUDGET
            if self._evaluation is not None and self._score_reached(self._evaluation, fleet, coordinator, generation):
                return SCORE
            self._saver.save_if_due(fleet, roles, generation)
        return INTERRUPTED

    def _show(self, roles: dict[str, RoleProgress]) -> None:
        seen = self._meter.glance(roles)
        self._progress.show(seen)
        if time.monotonic() - self._published_at >= _PUBLISH_SECONDS:
            self._published_at = time.monotonic()
            glance.publish(self._session.client, seen)

    def _recover(self, fleet: Fleet, coordinator: Coordinator, why: str) -> Checkpoint:
        # Bundles of the old generation leave first, so that none of their rows comes after the rows are trimmed.
        coordinator.stop_roles()
        if self._evaluation is not None:
            self._evaluation.cancel()
        fleet.abandon(_LEAVE_SECONDS)
        coordinator.finish(_LEAVE_SECONDS)
        # Before the hosts are asked what is free: an old global replay holds much of it.
        fleet.release()
        start = checkpoint.load_newest(self._folder.checkpoints)
        self._meter.went_back()
        self._folder.close()
        self._loggers.close()
        discarded = self._folder.discard_rows_after(start.wall_seconds, start.wall_seconds_of_roles)
        self._plan = self._plan_again(why)
        if self._evaluation is not None:
            seat = self._plan.placement.get(EVALUATOR)
            self._evaluation.host = NO_HOST if seat is None else seat.address
        self._progress.say(
            f"{why}; all roles go back to the checkpoint of update {start.server.version:,}, "
            f"{discarded} newer rows set aside in discarded/"
        )
        return start

    def _plan_again(self, why: str) -> Plan:
        """Waits for the host that may be on its way in place of the lost one. Once interrupted, the plan of before."""
        begun, has_told = time.monotonic(), False
        while True:
            try:
                self._session.survey_again()
                return plan_now(self._config, self._session)
            except (OSError, PlacementError):
                waited_seconds = time.monotonic() - begun
                if not has_told and waited_seconds > _SILENT_SECONDS:
                    has_told = True
                    self._progress.say(f"{why}; waiting up to {self._session.host_timeout_seconds:g} s for a host")
                if self._interrupt.wait(_TICK_SECONDS):
                    return self._plan
                if waited_seconds > self._session.host_timeout_seconds:
                    return plan_now(self._config, self._session, may_lack=dispensable(self._config))

    def _reached(self, reason: str, start: Checkpoint) -> bool:
        spent = self._budget_spent(start.progress) if reason == BUDGET else self._has_score()
        return spent and self._is_evaluated(start)

    def _has_score(self) -> bool:
        goal, best = self._config.budget.score, None if self._evaluation is None else self._evaluation.best_mean
        return goal is not None and best is not None and best >= goal

    def _is_evaluated(self, end: Checkpoint) -> bool:
        # Ctrl-C may have skipped the final evaluation: then going on means to play it.
        return keys_of(evaluator_spec(self._config, end, CHECKPOINT)) <= keys_in(self._folder.path)

    def _score_reached(
        self, evaluation: TrainingEvaluation, fleet: Fleet, coordinator: Coordinator, generation: int
    ) -> bool:
        roles = coordinator.progress()
        rows, sentence = evaluation.check(
            self._config.num_frames(sum(role.num_steps for role in roles.values())),
            lambda: Checkpoint(fleet.snapshot(), roles, generation),
            fleet.free_hosts(self._config.topology.compute_threads),
        )
        if evaluation.host != NO_HOST and not fleet.set_aside(EVALUATOR, evaluation.host):
            evaluation.host = NO_HOST
        if sentence:
            self._progress.say(sentence)
        coordinator.write(rows)
        # Not of these rows alone: a run that was killed after such an evaluation is not to train on when it is resumed.
        return self._has_score()

    def _budget_spent(self, roles: dict[str, RoleProgress]) -> bool:
        frames = self._config.num_frames(sum(role.num_steps for role in roles.values()))
        wall_seconds = max((role.wall_seconds for role in roles.values()), default=0.0)
        return fraction_spent(self._config.budget, frames, wall_seconds) >= 1

    def _evaluate(self, end: Checkpoint) -> list[Row] | None:
        # What has ended the training skips no evaluation; where it would, it has to be heard whenever it came.
        if self._evaluates_when_interrupted:
            self._interrupt.clear()
        evaluation = self._config.evaluation
        self._console.print(
            f"final evaluation: {evaluation.num_episodes} games under {evaluation.protocol}, Ctrl-C skips it",
            highlight=False,
        )
        folder, say = self._folder.path, self._progress.say
        return at_the_end.evaluate(self._session, self._config, end, self._interrupt, folder, say)

    def _write(self, rows: list[Row]) -> None:
        self._folder.write(rows)
        self._meter.see(rows)
        self._loggers.see(rows)

    def _print_dashboard(self) -> None:
        url = self._session.dashboard_url
        pages = [url, urljoin(url, PAGE)] if register(self._session.client, self._progress.say) else [url]
        self._console.print(f"dashboard {' and '.join(pages)}", highlight=False, soft_wrap=True)

    def _print_table(self) -> None:
        loaded = load_run(self._folder.path)
        config = self._config
        title = f"{config.game}, {config.experiment}, seed {config.seed}"
        self._console.print(as_rich(game_table(loaded, config.game), title))
        self._console.print(f"results in {self._folder.path}", highlight=False, soft_wrap=True)
