"""One run from start to end: plan, cluster, fleet, budget, checkpoints, final evaluation, table.

    compose -> plan -> run folder -> shards and bundles -> watch until the budget, Ctrl-C or an error
            -> last checkpoint -> final evaluation -> run.json -> table

Not here: who is started (`pipeline.topologies`), how the command line becomes a config (`pipeline.train`).
"""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from rich.console import Console

from pipeline import seeding
from pipeline.cluster.config import ASKED
from pipeline.cluster.coordinator import Coordinator
from pipeline.cluster.placement import Demand
from pipeline.cluster.session import Session, open_session
from pipeline.cluster.start import submission
from pipeline.errors import PipelineError, PlacementError, RemoteLostError, RoleFailedError
from pipeline.experiments import checkpoint, final_evaluation, provenance
from pipeline.experiments.checkpoint import Checkpoint
from pipeline.experiments.config import RunConfig
from pipeline.experiments.plan import Plan, make_plan, network_of
from pipeline.experiments.progress import RunProgress
from pipeline.experiments.run_folder import RunFolder, check_folder, open_folder
from pipeline.param_server.snapshot import first_snapshot
from pipeline.results.load import load_run
from pipeline.results.table import as_rich, game_table
from pipeline.roles.actor import ActorPlace
from pipeline.roles.progress import RoleProgress
from pipeline.roles.spec import RoleSpec
from pipeline.rows import Row
from pipeline.topologies.fleet import Fleet, FleetSpec
from pipeline.topologies.systems import num_actors, system

_TICK_SECONDS = 0.25
_LEAVE_SECONDS = 60.0
"""How long roles may take to finish their step and leave."""

BUDGET, INTERRUPTED = "budget", "interrupted"


class RunResult(NamedTuple):
    """What a run leaves behind."""

    folder: Path | None
    """None when only the plan was asked for."""
    end_reason: str
    """"budget", "interrupted" or "plan"."""


def train(config: RunConfig, console: Console | None = None) -> RunResult:
    """Carry out one run. Raises a PipelineError with one clear message for everything that can be foreseen."""
    console = console or Console()
    if config.cluster.kind not in ASKED:
        plan = make_plan(config)
        if config.plan:
            console.print(plan.render(config))
            if (text := submission(config.cluster, plan.num_hosts, plan.threads_per_host)) is not None:
                console.print(text, markup=False, highlight=False, soft_wrap=True)
            return RunResult(None, "plan")
    if not config.plan:
        check_folder(config)
    asked = config.cluster.kind in ASKED
    hosts = (1, config.topology.compute_threads) if asked else (plan.num_hosts, plan.threads_per_host)
    with open_session(config.cluster, *hosts) as session:
        plan = make_plan(config, session.offers())
        console.print(plan.render(config))
        if config.plan:
            return RunResult(None, "plan")
        return _Run(config, session, plan, open_folder(config), console).carry_out()


def fleet_spec(config: RunConfig, demands: tuple[Demand, ...], generation: int) -> FleetSpec:
    """What the run's topology is asked to start, as one generation of the parameter server."""
    players = num_actors(config.topology)
    max_steps = None
    if players == 1 and config.budget.frames is not None:
        max_steps = -(-config.budget.frames // config.environment.frame_skip)
    pattern = RoleSpec(
        place=ActorPlace("", 0, players, 0, 0.0),
        attempt=0,
        seed=config.seed,
        game=config.game,
        num_lanes=config.topology.num_lanes,
        compute_threads=config.topology.compute_threads,
        device=config.device,
        precision=config.precision,
        generation=generation,
        max_steps=max_steps,
        algorithm=config.algorithm,
        network=config.network,
        environment=config.environment,
        replay=config.replay,
        param_server=config.param_server,
        traffic=None,
    )
    roles, replays, role = system(config.topology, pattern)
    return FleetSpec(
        roles,
        replays,
        role,
        config.optimizer,
        demands,
        config.cluster.lease_seconds,
        config.cluster.max_restarts,
    )


class _Run:
    """The state of one run in its coordinator."""

    def __init__(self, config: RunConfig, session: Session, plan: Plan, folder: RunFolder, console: Console) -> None:
        self._config = config
        self._session = session
        self._plan = plan
        self._folder = folder
        self._console = console
        self._frame_skip = config.environment.frame_skip
        self._progress = RunProgress(console, config.progress, config.budget, self._frame_skip)
        self._interrupt = threading.Event()
        self._saved_at = time.monotonic()

    def carry_out(self) -> RunResult:
        """Train, evaluate, print the table."""
        run, start = self._folder.read_run(), self._start()
        if run.get("end_reason") == BUDGET and self._budget_spent(start.progress):
            self._console.print("this run has spent its budget: raise budget.frames or budget.minutes to go on")
            self._print_table()
            return RunResult(self._folder.path, BUDGET)
        run = provenance.begin(run, self._config, self._session.hosts, self._plan.placement)
        self._folder.write_run(run)
        self._console.print(f"dashboard {self._session.dashboard_url}", highlight=False)
        try:
            end, reason = self._train_and_evaluate(start)
        except PipelineError as error:
            self._folder.write_run(run | {"end_reason": f"error: {error}"})
            raise
        self._folder.write_run(provenance.end(run, reason, end.wall_seconds, end.num_steps * self._frame_skip))
        self._print_table()
        return RunResult(self._folder.path, reason)

    def _train_and_evaluate(self, start: Checkpoint) -> tuple[Checkpoint, str]:
        with self._interruptible(), ExitStack() as stack:
            stack.callback(self._folder.close)
            coordinator = stack.enter_context(Coordinator(self._session.client, self._session.run_id, self._write))
            with self._progress:
                end, reason = self._train(coordinator, start)
            self._folder.write(self._evaluate(end))
        return end, reason

    def _start(self) -> Checkpoint:
        if self._config.resume and checkpoint.any_in(self._folder.checkpoints):
            start = checkpoint.load_newest(self._folder.checkpoints)
            discarded = self._folder.discard_rows_after(start.wall_seconds)
            self._console.print(
                f"resumed at update {start.server.version:,}, {start.num_steps * self._frame_skip:,} frames; the "
                f"replay is filled anew before learning goes on; {discarded} newer rows set aside in discarded/"
            )
            return start
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
                last = fleet.collect(_LEAVE_SECONDS)
                coordinator.finish(_LEAVE_SECONDS)
                return self._save(fleet, last, generation), reason
            except RemoteLostError as error:
                restarts += 1
                if restarts > self._config.cluster.max_restarts:
                    raise RoleFailedError(
                        f"shards were lost {restarts} times, the last time because {error}"
                    ) from error
                start = self._recover(fleet, coordinator, str(error))
            finally:
                fleet.release()

    def _watch(self, fleet: Fleet, coordinator: Coordinator, generation: int) -> str:
        while not self._interrupt.wait(_TICK_SECONDS):
            for sentence in fleet.supervise():
                self._progress.say(sentence)
            coordinator.check()
            roles = coordinator.progress()
            self._progress.show(roles)
            if self._budget_spent(roles) or fleet.finished():
                return BUDGET
            if time.monotonic() - self._saved_at > self._config.checkpoint.every_minutes * 60:
                self._save(fleet, roles, generation)
        return INTERRUPTED

    def _recover(self, fleet: Fleet, coordinator: Coordinator, why: str) -> Checkpoint:
        # Bundles of the old generation leave first, so that none of their rows comes after the rows are trimmed.
        coordinator.stop_roles()
        fleet.abandon(_LEAVE_SECONDS)
        coordinator.finish(_LEAVE_SECONDS)
        start = checkpoint.load_newest(self._folder.checkpoints)
        self._folder.close()
        discarded = self._folder.discard_rows_after(start.wall_seconds)
        self._plan = self._plan_again()
        self._progress.say(
            f"{why}; all roles go back to the checkpoint of update {start.server.version:,}, "
            f"{discarded} newer rows set aside in discarded/"
        )
        return start

    def _plan_again(self) -> Plan:
        # Waits for the host that may be on its way in place of the lost one.
        end = time.monotonic() + self._config.cluster.start_timeout_seconds
        while True:
            try:
                self._session.survey_again()
                return make_plan(self._config, self._session.offers())
            except (OSError, PlacementError):
                if time.monotonic() > end or self._interrupt.wait(_TICK_SECONDS):
                    raise

    def _budget_spent(self, roles: dict[str, RoleProgress]) -> bool:
        budget = self._config.budget
        frames = sum(role.num_steps for role in roles.values()) * self._frame_skip
        minutes = max((role.wall_seconds for role in roles.values()), default=0.0) / 60
        return (budget.frames is not None and frames >= budget.frames) or (
            budget.minutes is not None and minutes >= budget.minutes
        )

    def _save(self, fleet: Fleet, roles: dict[str, RoleProgress], generation: int) -> Checkpoint:
        saved = Checkpoint(fleet.snapshot(), roles, generation)
        checkpoint.save(self._folder.checkpoints, saved, self._config.checkpoint.keep)
        self._saved_at = time.monotonic()
        return saved

    def _evaluate(self, end: Checkpoint) -> list[Row]:
        self._interrupt.clear()
        evaluation = self._config.evaluation
        self._console.print(
            f"final evaluation: {evaluation.num_episodes} games under {evaluation.protocol}, Ctrl-C skips it",
            highlight=False,
        )
        return final_evaluation.evaluate(self._session, self._config, end, self._interrupt, self._folder.path)

    def _write(self, rows: list[Row]) -> None:
        self._folder.write(rows)
        self._progress.see(rows)

    def _print_table(self) -> None:
        loaded = load_run(self._folder.path)
        config = self._config
        title = f"{config.game}, {config.experiment}, seed {config.seed}"
        self._console.print(as_rich(game_table(loaded, config.game), title))
        self._console.print(f"results in {self._folder.path}", highlight=False, soft_wrap=True)

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        # Only the main thread may handle signals; a run started from another thread is stopped by its owner.
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def on_interrupt(_signal: int, _frame: FrameType | None) -> None:
            if self._interrupt.is_set():
                raise KeyboardInterrupt
            self._interrupt.set()

        before = {which: signal.signal(which, on_interrupt) for which in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for which, handler in before.items():
                signal.signal(which, handler)
