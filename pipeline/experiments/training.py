"""The training of one run: generations of its fleet, one after the other, until it ends.

    checkpoint -> fleet of generation n -> a look, four times a second -> the run's end: roles leave, last checkpoint
                                             │ a shard is lost
                                             ▼
    newest snapshot, hosts that are left or come -> fleet of generation n + 1

Not here: what is decided at a look or after a loss (`pipeline.experiments.life`), what a run does before and after its
training (`pipeline.experiments.run`), the fleet (`pipeline.topologies.fleet`).
"""

import contextlib
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from dask_jobs.watched_time import WatchedTime
from pipeline.cluster.coordination.coordinator import Coordinator
from pipeline.cluster.session import Session
from pipeline.config.run_config import EVALUATOR, RunConfig
from pipeline.config.words import listed
from pipeline.errand import Errand
from pipeline.errors import PipelineError, PlacementError, RemoteLostError, SchedulerLostError
from pipeline.evaluation.start_states import StartStates
from pipeline.experiments.exact import ExactRun
from pipeline.experiments.files.checkpoint import Checkpoint
from pipeline.experiments.files.run_folder import RunFolder
from pipeline.experiments.life import HostWait, Life, Look, Recover, RunTiming, Saves, Waiting
from pipeline.experiments.plan import Plan, dispensable
from pipeline.experiments.record import RunRecord
from pipeline.experiments.room import plan_now
from pipeline.experiments.saving import Saver
from pipeline.experiments.scoring.beside_training import NO_HOST, TrainingEvaluation
from pipeline.experiments.specs import checkpoint_fit, fleet_spec
from pipeline.roles.progress import RoleProgress
from pipeline.topologies.fleet import Fleet
from pipeline.topologies.last_wait import LastWait
from pipeline.topologies.restarts import no_host_came


class Training:
    """Of one run, looked after by its coordinator."""

    def __init__(
        self,
        config: RunConfig,
        session: Session,
        plan: Plan,
        folder: RunFolder,
        record: RunRecord,
        life: Life,
        interrupt: threading.Event,
        timing: RunTiming,
        starts: StartStates | None,
        exact: ExactRun | None,
    ) -> None:
        """`starts`: what evaluated games go on from; `exact`: of a deterministic run."""
        self._config, self._session, self._plan = config, session, plan
        self._record, self._life = record, life
        self._interrupt, self._timing = interrupt, timing
        self._taking = Errand[Checkpoint]("pipeline-evaluated")
        """Of what is evaluated."""
        # Where a host's death is the command's, too, its memory saves nothing.
        in_memory = None if config.cluster.runs_in_this_process else config.checkpoint.memory_seconds
        self._saver = Saver(folder.checkpoints, replace(config.checkpoint, memory_seconds=in_memory), record.say, exact)
        self._exact = exact
        self._evaluation: TrainingEvaluation | None = None
        if config.training_evaluation.every_frames is not None:
            host = plan.placement[EVALUATOR].address
            self._evaluation = TrainingEvaluation(session, config, host, folder.path, record.say, starts)

    def train(self, coordinator: Coordinator, start: Checkpoint) -> tuple[Checkpoint, str]:
        """Where the training ends that goes on from `start`, and why: a reason of `pipeline.experiments.life`.

        Raises what it ends with otherwise, after it has saved what is left.
        """
        # Before any role starts: a run that is resumed for its final games, or told to end already, trains no further.
        while (ended := self._life.end_reason(self.look(start.progress))) is None:
            generation = self._life.begin_generation(start.generation)
            self._record.begins(generation)
            spec = fleet_spec(self._config, self._plan.demands, generation, self._desk)
            fleet = Fleet(self._session, coordinator, spec, self._plan.placement)
            try:
                coordinator.let_roles_run(start.progress)
                fleet.start(start.server, start.progress, self._interrupt.is_set)
                self._record.say(f"building {listed([role.name for role in spec.roles])}")
                reason = self._watch(fleet, coordinator, generation)
                return self._end(fleet, coordinator, generation), reason
            except Exception as error:  # whatever it is, what was learned is not to be lost with it
                was_foreseen, is_over = _was_foreseen(error, fleet, self._session), self._interrupt.is_set()
                follows = self._life.after_error(error, was_foreseen=was_foreseen, is_interrupted=is_over)
                if not isinstance(follows, Recover):
                    match follows.saves:
                        case Saves.ALL:
                            self._saver.save_what_is_left(fleet, coordinator.progress(), generation)
                        case Saves.KEPT:
                            self._saver.save_kept()
                    if not isinstance(error, SchedulerLostError):
                        self._send_away(fleet, coordinator)
                    if follows.error is error:
                        raise
                    raise follows.error from error
                start = self._recover(fleet, coordinator, str(error))
            finally:
                fleet.release()
        return start, ended

    @property
    def _desk(self) -> str | None:
        return None if self._exact is None else self._exact.desk.key

    def look(self, roles: Mapping[str, RoleProgress], *, all_left: bool = False) -> Look:
        """What is to be seen of the training, of roles that are so far."""
        return Look(
            num_frames=self._config.num_frames(sum(role.num_steps for role in roles.values())),
            wall_seconds=max((role.wall_seconds for role in roles.values()), default=0.0),
            best_mean=None if self._evaluation is None else self._evaluation.best_mean,
            all_left=all_left,
            is_interrupted=self._interrupt.is_set(),
        )

    def _watch(self, fleet: Fleet, coordinator: Coordinator, generation: int) -> str:
        reason = None
        while reason is None:
            if not self._interrupt.wait(self._timing.tick_seconds):
                self._look_after(fleet, coordinator)
            roles, all_left = coordinator.progress(), fleet.finished()
            reason = self._life.end_reason(self.look(roles, all_left=all_left))
            if reason is None and self._evaluation is not None:
                self._evaluate(self._evaluation, fleet, coordinator, generation)
                # Not of new games alone: a run that was killed after them is not to train on when it is resumed.
                reason = self._life.end_reason(self.look(roles, all_left=all_left))
            if reason is None:
                self._saver.save_if_due(fleet, roles, generation)
        return reason

    def _look_after(self, fleet: Fleet, coordinator: Coordinator) -> None:
        num_restarted = fleet.num_restarted
        for sentence in fleet.supervise():
            self._record.say(sentence)
        for _ in range(fleet.num_restarted - num_restarted):
            self._record.restarted()
        coordinator.check()
        self._record.show(coordinator.progress())

    def _evaluate(
        self, evaluation: TrainingEvaluation, fleet: Fleet, coordinator: Coordinator, generation: int
    ) -> None:
        roles = coordinator.progress()
        rows, sentence = evaluation.check(
            self.look(roles).num_frames,
            partial(self._taking.ask, lambda: Checkpoint(fleet.snapshot(), roles, generation)),
            fleet.free_hosts(self._config.topology.compute_threads),
            coordinator,
        )
        if evaluation.host != NO_HOST and not fleet.set_aside(EVALUATOR, evaluation.host):
            evaluation.host = NO_HOST
        if sentence:
            self._record.say(sentence)
        coordinator.write(rows)

    def _end(self, fleet: Fleet, coordinator: Coordinator, generation: int) -> Checkpoint:
        self._stop(coordinator)
        end = self._saver.save(fleet, fleet.collect(self._last_wait()), generation)
        if self._interrupt.is_set():
            self._record.say(f"told to end: the training is saved at update {end.server.version:,}")
        coordinator.finish(self._timing.leave_seconds)
        return end

    def _last_wait(self) -> LastWait:
        timing = self._timing
        return LastWait(
            timing.leave_seconds,
            self._record.say,
            hurried_seconds=timing.hurried_seconds,
            has_hurry=self._interrupt.is_set,
            untold_seconds=timing.silent_seconds,
        )

    def _stop(self, coordinator: Coordinator) -> None:
        coordinator.stop_roles()
        if self._evaluation is not None:
            self._evaluation.cancel()

    def _send_away(self, fleet: Fleet, coordinator: Coordinator) -> None:
        # Until they have heard it: they would go on for as long as their lease lasts.
        coordinator.stop_roles()
        with contextlib.suppress(Exception):  # what has ended the run counts
            fleet.abandon(LastWait(self._timing.farewell_seconds))

    def _recover(self, fleet: Fleet, coordinator: Coordinator, why: str) -> Checkpoint:
        self._record.say(f"{why}; all roles leave")
        # Roles of the old generation leave first, so that none of their rows comes after the rows are trimmed.
        self._stop(coordinator)
        self._saver.settle()
        self._taking.settle()
        fleet.abandon(self._last_wait())
        self._saver.save_kept()  # first of all: rows that do not arrive end the run
        coordinator.finish(self._timing.leave_seconds)
        # Before the hosts are asked what is free: an old global replay holds much of it.
        fleet.release()
        start = self._saver.newest(checkpoint_fit(self._config))
        discarded = coordinator.go_back(lambda: self._record.go_back_to(start))
        # Where a damaged file counted as newer than what was kept, that has no file yet.
        self._saver.save_kept()
        if self._evaluation is not None:
            self._evaluation.went_back()
        back = f"the checkpoint of update {start.server.version:,}, {discarded} newer rows set aside in discarded/"
        if self._interrupt.is_set():
            self._record.say(f"{why}; the run was told to end, and does so with {back}")
            return start
        self._plan = self._plan_again(why)
        if self._evaluation is not None:
            seat = self._plan.placement.get(EVALUATOR)
            self._evaluation.host = NO_HOST if seat is None else seat.address
        self._record.say(f"{why}; all roles go back to {back}")
        return start

    def _plan_again(self, why: str) -> Plan:
        timeout_seconds = self._session.host_timeout_seconds
        watched = WatchedTime(time.monotonic)
        wait = HostWait(watched.now(), timeout_seconds, self._timing.silent_seconds)
        while True:
            with contextlib.suppress(OSError, PlacementError):
                if self._session.survey_soon():
                    return plan_now(self._config, self._session)
            is_interrupted = self._interrupt.wait(self._timing.tick_seconds)
            found = wait.look(watched.now(), is_interrupted=is_interrupted)
            if found.is_told:
                self._record.say(f"{why}; waiting up to {timeout_seconds:g} s for a host")
            match found.then:
                case Waiting.KEEP:
                    return self._plan
                case Waiting.WITHOUT:
                    try:
                        return plan_now(self._config, self._session, may_lack=dispensable(self._config))
                    except PlacementError as error:
                        raise no_host_came(why, timeout_seconds, error) from error


def _was_foreseen(error: Exception, fleet: Fleet, session: Session) -> bool:
    """Whether it came of a host that has left because its time was over."""
    if not isinstance(error, RemoteLostError):
        return False
    with contextlib.suppress(PipelineError):  # nobody can be asked any more: it counts
        return bool(session.served(offer.address for offer in fleet.placement.values()) - session.present_hosts())
    return False
