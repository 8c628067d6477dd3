"""One run from start to end: plan, cluster, training, final evaluation, table.

    compose -> plan -> run folder -> shards and roles -> watch until the budget, a score, Ctrl-C or an error
            -> last checkpoint -> final evaluation -> run.json -> table

Not here: the training between its start and its last checkpoint (`pipeline.experiments.training`), who is started
(`pipeline.topologies`), how the command line becomes a config (`pipeline.train`).
"""

import contextlib
import threading
from collections.abc import Iterator
from functools import partial
from typing import Any
from urllib.parse import urljoin

from rich.console import Console
from rich.markup import escape

from dask_jobs.terminal import lasting_output
from pipeline.cluster import glance
from pipeline.cluster.coordination.coordinator import Coordinator
from pipeline.cluster.dashboard.plugin import register
from pipeline.cluster.granted import GrantedHosts
from pipeline.cluster.hosts import open_hosts
from pipeline.cluster.session import Session, open_session
from pipeline.cluster.start import check_process, submission
from pipeline.config.places import placed
from pipeline.config.run_config import RunConfig
from pipeline.disk import told_if_refused
from pipeline.evaluation.start_states import StartStates
from pipeline.experiments.beginning import begin
from pipeline.experiments.curves.loggers import check_installed, seconds_since_1970
from pipeline.experiments.exact import exact_run
from pipeline.experiments.files import provenance
from pipeline.experiments.files.checkpoint import Checkpoint
from pipeline.experiments.files.evaluation_rows import keys_in, keys_of, keys_of_random
from pipeline.experiments.files.job_logs import JOBS, jobs_kept
from pipeline.experiments.files.run_folder import RunFolder, open_folder
from pipeline.experiments.interrupts import ending_at_once, interruptible, warning_of_job
from pipeline.experiments.life import BUDGET, INTERRUPTED, SCORE, Life, RunTiming
from pipeline.experiments.outlook import foretell, is_worth_a_rehearsal
from pipeline.experiments.plan import Plan, make_plan
from pipeline.experiments.record import RunRecord
from pipeline.experiments.room import plan_beside_others
from pipeline.experiments.run_result import RunResult
from pipeline.experiments.scoring import at_the_end
from pipeline.experiments.scoring.tasks import evaluator_spec, starts_of
from pipeline.experiments.specs import check_roles
from pipeline.experiments.start_check import check_start, remarks_on_folder
from pipeline.experiments.training import Training
from pipeline.rows import CHECKPOINT, EvaluationRow
from pipeline.run_facts import GENERATION

_LIMITS = {BUDGET: "budget.frames or budget.minutes", SCORE: "budget.score"}


def train(
    config: RunConfig,
    console: Console | None = None,
    *,
    granted: GrantedHosts | None = None,
    evaluates_when_interrupted: bool = True,
    launch_id: str | None = None,
) -> RunResult:
    """Carry out one run. Raises a PipelineError with one clear message for everything that can be foreseen.

    Ctrl-C, SIGTERM and SIGHUP end the training and not the caller: a loop asks whether `end_reason` is INTERRUPTED.
    `granted`: what the run may use of `config.cluster`; None: all.
    `evaluates_when_interrupted=False`: an interrupted run ends without its final evaluation, to be resumed.
    `launch_id`: of the sweep's command, for `run.json`; None: there is no sweep.
    """
    # Once: the program around may go elsewhere meanwhile, as a notebook does whose training is a thread.
    here = placed(config)
    with told_if_refused(here.folder):
        return _train(here, config, console, granted, evaluates_when_interrupted, launch_id)


def _train(
    config: RunConfig,
    typed: RunConfig,
    console: Console | None,
    granted: GrantedHosts | None,
    evaluates_when_interrupted: bool,
    launch_id: str | None,
) -> RunResult:
    check_process()
    console = console or Console(file=lasting_output())
    check_installed(config.logging_tools)
    check_roles(config)
    starts = starts_of(config)
    cluster = config.cluster.of_run(f"{config.experiment}-{config.game}-{config.seed}", config.folder / JOBS)
    hosts = 1, config.topology.compute_threads
    if cluster.can_tell_hosts_before_start:
        plan = make_plan(config)
        cluster = cluster.sized(plan.num_hosts)
        hosts = sum(plan.num_hosts.values()), plan.threads_per_host
        if config.plan:
            console.print(plan.render(config), *remarks_on_folder(config, typed))
            if (text := submission(cluster, *hosts)) is not None:
                console.print(text, markup=False, highlight=False, soft_wrap=True)
            return RunResult(None, "plan")
    if not config.plan:
        check_start(config, typed)
    say = partial(console.print, markup=False, highlight=False, soft_wrap=True)
    if granted is None and (warning := warning_of_job()) is not None:
        console.print(f"[yellow]warning:[/yellow] {escape(warning)}", highlight=False, soft_wrap=True)
    with ending_at_once(), open_session(cluster, *hosts, granted, say=say) as session:
        session.name = f"{config.experiment} on {config.game}, seed {config.seed}"
        plan = plan_beside_others(config, session, console)
        for line in open_hosts(session.hosts):
            console.print(f"[yellow]warning:[/yellow] {escape(line)}", highlight=False)
        console.print(plan.render(config), *(remarks_on_folder(config, typed) if config.plan else []))
        if config.plan:
            return RunResult(None, "plan")
        # Hosts that were granted are shared with runs that come and go.
        if granted is None and is_worth_a_rehearsal(config):
            say(foretell(config))
        with jobs_kept(config.folder) if config.overwrite else contextlib.nullcontext():
            folder = open_folder(typed, config.folder)
        with folder.hold():
            run = _Run(config, typed, session, plan, folder, console, starts, evaluates_when_interrupted, launch_id)
            return run.carry_out()


class _Run:
    """One run in its coordinator."""

    def __init__(
        self,
        config: RunConfig,
        typed: RunConfig,
        session: Session,
        plan: Plan,
        folder: RunFolder,
        console: Console,
        starts: StartStates | None,
        evaluates_when_interrupted: bool,
        launch_id: str | None,
    ) -> None:
        timing = RunTiming()
        self._config = config
        self._typed = typed
        """As the user gave it: what others are told of the run is the same wherever it lies."""
        self._session = session
        self._plan = plan
        self._folder = folder
        self._console = console
        self._launch_id = launch_id
        self._interrupt = threading.Event()
        self._was_told = False
        """Whether the training was told to end, though final games followed."""
        self._says_why = False
        """Whether the folder has why this start has ended."""
        self._exact = exact_run(config)
        self._starts = starts
        # After a loss, the roles of a deterministic run have no state that the shards' one fits to.
        max_restarts = 0 if config.deterministic else config.cluster.max_restarts
        self._life = Life(
            config.budget,
            max_restarts,
            evaluates_when_interrupted=evaluates_when_interrupted,
            num_begun=folder.generation,
        )
        publish = partial(glance.publish, session.client)
        self._record = RunRecord(typed, folder, console, publish, timing.publish_seconds)
        self._training = Training(
            config, session, plan, folder, self._record, self._life, self._interrupt, timing, starts, self._exact
        )

    def carry_out(self) -> RunResult:
        """Train, evaluate, print the table."""
        if (moved := self._folder.set_aside_unreadable_run()) is not None:
            self._record.say(moved)
        run = self._folder.read_run()
        start, goes_on, origin = begin(
            self._config, self._typed, self._folder, self._exact, self._record.say, self._trains_from
        )
        reason = str(run.get("end_reason"))
        # Ctrl-C may have skipped the final evaluation: then going on means to play it.
        if self._life.has_reached(reason, self._training.look(start.progress)) and self._is_evaluated(start):
            self._record.say(f"this run has reached its {reason}: raise {_LIMITS[reason]} to go on")
            self._print_table()
            return self._result(reason, start)
        hosts, placement = self._session.hosts, self._plan.placement
        run = provenance.begin(run, self._typed, hosts, placement, origin, self._launch_id)
        life, interrupt = self._life, self._interrupt
        with (
            self._saying_why(run),
            interruptible(interrupt, second_ends=life.evaluates_when_interrupted),
            self._record.drawn(seconds_since_1970(run["started_at"]), self._has_hurry, goes_on=goes_on),
            self._saying_why(run),  # before other tools are waited for
        ):
            self._write_run(run)
            with self._record.cosmetic.trying(f"writing {provenance.CHANGES}"):
                provenance.keep_changes(self._folder.path)
            with contextlib.closing(self._folder):
                end, reason = self._train_and_evaluate(start)
            self._write_run(provenance.end(run, reason, end.wall_seconds, self._config.num_frames(end.num_steps)))
            self._says_why, was_told = True, interrupt.is_set()
        if interrupt.is_set() and not was_told and life.evaluates_when_interrupted:
            reason = INTERRUPTED  # while tools were waited for: for whoever would begin another run
        if end.num_steps == start.num_steps:
            self._record.say("no role has made a step since this start: what is scored is what was there before")
        self._print_table()
        return self._result(reason, end)

    @contextlib.contextmanager
    def _saying_why(self, run: dict[str, Any]) -> Iterator[None]:
        """Whatever ends the run meanwhile, its folder says so, if it says nothing yet."""
        try:
            yield
        except BaseException as error:
            if not self._says_why:
                self._says_why = True
                with contextlib.suppress(OSError):  # of a disk that is full, which may be why
                    self._write_run(run | {"end_reason": self._life.error_reason(error)})
            raise

    def _has_hurry(self) -> bool:
        return self._was_told or self._interrupt.is_set()

    def _result(self, reason: str, end: Checkpoint) -> RunResult:
        score = None
        with self._record.cosmetic.trying("the score"):
            from pipeline.experiments.scoring.final_score import final_score  # with pandas, as in _print_table

            score = final_score(self._folder.path, self._config)
        return RunResult(self._folder.path, reason, self._config.num_frames(end.num_steps), score)

    def _write_run(self, run: dict[str, Any]) -> None:
        self._folder.write_run(run | {GENERATION: self._life.generation})

    def _trains_from(self, start: Checkpoint) -> bool:
        return self._life.end_reason(self._training.look(start.progress)) is None

    def _is_evaluated(self, end: Checkpoint) -> bool:
        spec = evaluator_spec(self._config, end, CHECKPOINT, self._starts)
        return keys_of(spec) | keys_of_random(spec) <= keys_in(self._folder.path)

    def _train_and_evaluate(self, start: Checkpoint) -> tuple[Checkpoint, str]:
        session, life = self._session, self._life
        self._print_dashboard()
        with Coordinator(session.client, session.run_id, self._record.write) as coordinator:
            with self._record.show_training():
                end, reason = self._training.train(coordinator, start)
                self._record.show_end(end.progress)
            if not life.plays_final_games(reason, is_interrupted=self._interrupt.is_set()):
                return end, INTERRUPTED
            rows = self._evaluate(end, waits_for_hosts=reason != INTERRUPTED)
            self._record.write_games(rows or [])
        return end, life.final_reason(reason, has_all_games=rows is not None)

    def _evaluate(self, end: Checkpoint, *, waits_for_hosts: bool) -> list[EvaluationRow] | None:
        # What has ended the training skips no evaluation; where it would, it has to be heard whenever it came.
        self._was_told = self._interrupt.is_set()
        if self._life.evaluates_when_interrupted:
            self._interrupt.clear()
        evaluation = self._config.evaluation
        games = f"{evaluation.num_episodes} games of each player under {evaluation.protocol}"
        self._record.say(f"final evaluation: {games}, Ctrl-C skips it")
        folder, say = self._folder.path, self._record.say
        session, interrupt = self._session, self._interrupt
        with self._record.show_games("final evaluation") as show:
            return at_the_end.evaluate(
                session,
                self._config,
                self._starts,
                end,
                interrupt,
                folder,
                say,
                waits_for_hosts=waits_for_hosts,
                show=show,
            )

    def _print_dashboard(self) -> None:
        with self._record.cosmetic.trying("the dashboard"):
            url = self._session.dashboard_url
            if (pages := register(self._session.client, self._record.say)) and url:
                self._record.say(f"dashboard {' and '.join(urljoin(url, page) for page in pages)}")

    def _print_table(self) -> None:
        # pandas, for the end of a run alone
        from pipeline.results.load import load_run
        from pipeline.results.run_scores import run_scores
        from pipeline.results.table import as_rich, game_table
        from pipeline.results.verdict import verdict_of

        config = self._config
        with self._record.cosmetic.trying("the table"):
            loaded = load_run(self._folder.path)
            title = f"{config.game}, {config.experiment}, seed {config.seed}"
            self._console.print(as_rich(game_table(loaded, config.game), title))
            (run,) = loaded.runs.to_dict("records")
            longer = config.budget.doubled(run["total_frames"], run["wall_seconds"])
            then = f"go on with the same command and {' '.join(['resume=true', *longer])}"
            if (learned := verdict_of(run_scores(loaded), config.game, config.evaluation.protocol, then)) is not None:
                self._record.say(learned)
        self._record.say(f"results in {self._folder.path}")
