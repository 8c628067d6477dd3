"""Evaluations as Dask tasks: as many at once as there are hosts, one on each; what a lost host played is played again.

    queue: parameters, parameters, ..., random play     hosts: those with CUDA first
           │ the next one, to each host that is idle
           ▼
    games of each, as soon as it ends

Tasks leave by themselves when they are no longer wanted, or when this process is gone for `cluster.lease_seconds`.
Not here: what is started, played again or given up (`pipeline.experiments.scoring.queue`), the games
(`pipeline.evaluation`), which parameters are played when
(`pipeline.experiments.scoring.at_the_end`, `pipeline.experiments.scoring.afterwards`), evaluations beside a training
(`pipeline.experiments.scoring.beside_training`).
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dask_jobs.watched_time import WatchedTime
from pipeline import seeding
from pipeline.cluster.config import ClusterConfig
from pipeline.cluster.coordination.coordinator import Coordinator
from pipeline.cluster.coordination.tasks import RoleAddress
from pipeline.cluster.session import Session, Task
from pipeline.config.run_config import RunConfig
from pipeline.errors import RemoteLostError, RoleFailedError
from pipeline.evaluation import start_states
from pipeline.evaluation.play import PlayedGame
from pipeline.evaluation.start_states import StartStates
from pipeline.experiments.files import provenance
from pipeline.experiments.files.checkpoint import Checkpoint
from pipeline.experiments.scoring.hosted import HostedEvaluation
from pipeline.experiments.scoring.queue import (
    AskForHosts,
    EvaluationQueue,
    Fail,
    FailWithoutHosts,
    Fate,
    GiveBack,
    HandOver,
    Instruction,
    Seen,
    Start,
)
from pipeline.roles.evaluator import EvaluatorSpec, evaluate_params, evaluate_random
from pipeline.roles.progress import RoleProgress
from pipeline.rows import CHECKPOINT
from pipeline.topologies.patience import Patience
from pipeline.types import Float32Array


@dataclass(frozen=True)
class EvaluationTiming:
    """How often evaluations are looked after, and how long is waited for whom."""

    tick_seconds: float = 0.25
    """Between two looks."""
    farewell_seconds: float = 3.0
    """How long evaluations that are not wanted any more are waited for."""
    result_seconds: float = 60.0
    """How long a host may take to hand over games that it has played."""
    patience: Patience = field(default_factory=Patience)
    """With those of which nothing is heard."""


DEFAULT_TIMING = EvaluationTiming()


class Evaluation(NamedTuple):
    """One agent under one protocol."""

    spec: EvaluatorSpec
    load: Callable[[], Float32Array] | None
    """Gives the parameters (P,) when their turn comes; None: random play."""


def unseen(num_over: int, num_all: int) -> None:
    """Nothing: how many games are over where nobody looks."""


def play_all(
    session: Session,
    cluster: ClusterConfig,
    evaluations: Sequence[Evaluation],
    interrupt: threading.Event,
    say: Callable[[str], None],
    timing: EvaluationTiming = DEFAULT_TIMING,
    *,
    waits_for_hosts: bool = True,
    show: Callable[[int, int], object] = unseen,
) -> Iterator[tuple[int, list[PlayedGame]]]:
    """The index and the games of each evaluation, as they end; once `interrupt` is set, of those that have ended.

    `say` hears of hosts that are lost, `show` how many games are over, of how many. `waits_for_hosts`: that may come,
    else those that are there are all.
    Raises RoleFailedError when hosts are lost more than `cluster.max_restarts` times, when none is left and none comes,
    and what an evaluation raised.
    """
    name = f"{session.run_id}-evaluations"
    patience_seconds = session.host_timeout_seconds if waits_for_hosts else 0.0
    queue = EvaluationQueue(len(evaluations), cluster.max_restarts, patience_seconds)
    watched = WatchedTime(time.monotonic)
    with Coordinator(session.client, name, write=lambda rows: None) as coordinator:
        desk = _Desk(session, coordinator, queue, evaluations, name, cluster.lease_seconds, timing, say)
        try:
            while not queue.is_empty and not interrupt.is_set():
                for todo in queue.look(desk.see(), watched.now()):
                    # Set by whoever takes the games, maybe.
                    if interrupt.is_set():
                        break
                    if (played := desk.carry_out(todo)) is not None:
                        yield played
                show(*desk.games_over(coordinator.progress()))
                if not queue.is_empty:
                    interrupt.wait(timing.tick_seconds)
            if interrupt.is_set():
                yield from desk.take_what_has_ended()
        finally:
            coordinator.stop_roles()
            # Until those that can hear it have heard it: they would play on for as long as their lease lasts.
            session.wait_for(desk.tasks, timing.farewell_seconds)
            session.forget(desk.tasks)


def starts_of(config: RunConfig) -> StartStates | None:
    """What the games of all of a run's evaluations go on from; None where its protocol begins games anew.

    Raises ConfigError where they are missing, do not fit or are too few, those beside the training included.
    """
    starts = start_states.load_for(config.evaluation, config.game)
    if starts is not None and config.training_evaluation.every_frames is not None:
        starts.check_enough(config.training_evaluation.num_episodes, "training_evaluation.num_episodes")
    return starts


def evaluator_spec(config: RunConfig, played: Checkpoint, agent: str, starts: StartStates | None) -> EvaluatorSpec:
    """How a host plays a checkpoint; `agent` names it in the rows, and each agent has seeds of its own."""
    return EvaluatorSpec(
        game=config.game,
        seed=config.seed if agent == CHECKPOINT else _other_seed(config.seed, agent),
        network=config.network,
        evaluation=config.evaluation,
        compute_threads=config.topology.compute_threads,
        device="auto" if config.device == "cuda" else config.device,
        precision=config.precision,
        agent=agent,
        version=played.server.version,
        total_frames=config.num_frames(played.num_steps),
        wall_seconds=played.wall_seconds,
        commit=provenance.commit() or "",
        starts=starts,
    )


class _Desk:
    """Sees the hosts, and does with them what the queue says."""

    def __init__(
        self,
        session: Session,
        coordinator: Coordinator,
        queue: EvaluationQueue,
        evaluations: Sequence[Evaluation],
        name: str,
        lease_seconds: float,
        timing: EvaluationTiming,
        say: Callable[[str], None],
    ) -> None:
        self._session = session
        self._coordinator = coordinator
        self._queue = queue
        self._evaluations = evaluations
        self._name = name
        self._lease_seconds = lease_seconds
        self._timing = timing
        self._say = say
        self._hosted: dict[str, tuple[int, HostedEvaluation]] = {}
        """Host -> the index of what is played there, and its task."""
        self._taken: set[int] = set()
        """Indices of those whose games are here."""

    @property
    def tasks(self) -> list[Task]:
        """Of all that are under way."""
        return [hosted.task for _, hosted in self._hosted.values()]

    def games_over(self, told: Mapping[str, RoleProgress]) -> tuple[int, int]:
        """How many games are over, of how many; `told` by those that are under way."""
        sizes = [one.spec.evaluation.num_episodes for one in self._evaluations]
        playing = {index for index, _ in self._hosted.values()}
        over = sum(sizes[index] for index in self._taken)
        over += sum(told[name].num_games for index in playing if (name := _role(index)) in told)
        return over, sum(sizes)

    def see(self) -> Seen:
        """What there is to be seen now."""
        session = self._session
        present = session.fit_hosts()
        # One of Dask's threads: with how many an evaluation computes is the host's business.
        open_hosts = _by_speed(session, session.open_hosts(num_threads=1)) if self._queue.wants_hosts else []
        fates = {host: one.fate(present) for host, (_, one) in self._hosted.items()}
        for _, hosted in self._hosted.values():
            if news := hosted.news():
                self._say(news)
        return Seen(bool(present), open_hosts, fates)

    def carry_out(self, todo: Instruction) -> tuple[int, list[PlayedGame]] | None:
        """Do one thing; gives the games that it has taken. Raises what ends all evaluations."""
        match todo:
            case Start(index, host, attempt):
                if not self._start(index, host, attempt):
                    self._queue.not_started(todo)
            case HandOver(index, host):
                if (games := self._take(host)) is not None:
                    return index, games
                self._queue.not_handed_over(todo)
                self._say(f"{host} was lost with {self._what(index)}, which is played again")
            case GiveBack(index, host, fate):
                self._hosted.pop(host)[1].cancel()
                was = "was lost during" if fate is Fate.LOST else "says nothing of"
                self._say(f"{host} {was} {self._what(index)}, which is played again")
            case AskForHosts():
                self._session.ask_for_hosts()
            case Fail(message):
                raise RoleFailedError(message)
            case FailWithoutHosts(message):
                if others := self._session.others():
                    message += f"; others have {others}"
                if staying := self._session.staying.in_words(self._session.hosts):
                    message += f"; told to leave and still there: {staying}"
                raise RoleFailedError(message)
        return None

    def take_what_has_ended(self) -> Iterator[tuple[int, list[PlayedGame]]]:
        """What is there already, when nothing more is to be started. Raises what ends all evaluations."""
        for host, (index, hosted) in list(self._hosted.items()):
            if hosted.fate(self._hosted.keys()) is Fate.ENDED and (games := self._take(host)) is not None:
                yield index, games

    def _start(self, index: int, host: str, attempt: int) -> bool:
        """False if others have just taken the host, or it died meanwhile."""
        session, evaluation = self._session, self._evaluations[index]
        if not session.hold_also(host):
            return False
        num_at_once = min(len(self._evaluations), len(session.hosts))
        address = RoleAddress(self._name, _role(index), attempt, self._lease_seconds, num_at_once)
        is_random = evaluation.load is None
        with contextlib.suppress(RemoteLostError):
            hosted = HostedEvaluation(
                session,
                evaluate_random if is_random else evaluate_params,
                evaluation.spec,
                None if evaluation.load is None else evaluation.load(),
                host,
                address,
                name="evaluate-random" if is_random else "evaluate",
                listener=self._coordinator,
                patience=self._timing.patience,
            )
            self._hosted[host] = index, hosted
            return True
        return False

    def _what(self, index: int) -> str:
        """One of the evaluations, in words."""
        spec, load = self._evaluations[index]
        who = "the random player" if load is None else f"agent {spec.agent}, update {spec.version:,}"
        return f"the evaluation of {spec.game}, {who}"

    def _take(self, host: str) -> list[PlayedGame] | None:
        """The games of an evaluation that has ended; None if they were lost with their host."""
        index, hosted = self._hosted.pop(host)
        what = self._what(index)
        games = hosted.games(what, self._timing.result_seconds)
        if games is not None and not games:
            raise RoleFailedError(
                f"{what} was given up by its host, to which this process was silent for too long: raise "
                "cluster.lease_seconds"
            )
        if games is not None:
            self._taken.add(index)
        return games


def _role(index: int) -> str:
    """What an evaluation is called by its coordinator."""
    return f"evaluation-{index}"


def _by_speed(session: Session, hosts: set[str]) -> list[str]:
    """Those that compute with CUDA first: the queue begins with networks."""
    devices = {address: report.device for address, report in session.hosts.items()}
    return sorted(hosts, key=lambda address: (devices.get(address) != "cuda", address))


def _other_seed(seed: int, agent: str) -> int:
    return int(seeding.emulator_seeds(seed, "evaluation of", agent, count=1)[0])
