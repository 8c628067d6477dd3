"""Evaluations as Dask tasks: as many at once as there are hosts, one on each; what a lost host played is played again.

    queue: parameters, parameters, ..., random play     hosts: those with CUDA first
           │ the next one, to each host that is idle
           ▼
    games of each, as soon as it ends

Tasks leave by themselves when they are no longer wanted, or when this process is gone for `cluster.lease_seconds`.
Not here: the games (`pipeline.evaluation`), which parameters are played when
(`pipeline.experiments.scoring.at_the_end`, `pipeline.experiments.scoring.afterwards`), evaluations beside a training
(`pipeline.experiments.scoring.beside_training`).
"""

import contextlib
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from pipeline import seeding
from pipeline.cluster.config import ClusterConfig
from pipeline.cluster.coordination.coordinator import Coordinator
from pipeline.cluster.coordination.tasks import RoleAddress, run_until_stopped
from pipeline.cluster.session import Session, Task
from pipeline.config.run_config import RunConfig
from pipeline.errors import PipelineError, RemoteLostError, RoleFailedError
from pipeline.evaluation import start_states
from pipeline.evaluation.play import PlayedGame
from pipeline.experiments.files import provenance
from pipeline.experiments.files.checkpoint import Checkpoint
from pipeline.roles.evaluator import EvaluatorSpec, evaluate_params, evaluate_random
from pipeline.types import Float32Array

CHECKPOINT, BEST = "checkpoint", "best"
"""Agents in the rows: parameters that the run left, mostly its last ones; and those of the best evaluation during
training. The latter's checkpoint is in a folder of that name, inside `checkpoints/`."""

_TICK_SECONDS = 0.25
_FAREWELL_SECONDS = 3.0
"""How long evaluations that are not wanted any more are waited for."""
_RESULT_SECONDS = 60.0
"""How long a host may take to hand over games that it has played."""


class Evaluation(NamedTuple):
    """One agent under one protocol."""

    spec: EvaluatorSpec
    load: Callable[[], Float32Array] | None
    """Gives the parameters (P,) when their turn comes; None: random play."""


def play_all(
    session: Session, cluster: ClusterConfig, evaluations: Sequence[Evaluation], interrupt: threading.Event
) -> Iterator[tuple[int, list[PlayedGame]]]:
    """The index and the games of each evaluation, as they end; nothing more once `interrupt` is set.

    Raises RoleFailedError when hosts are lost more than `cluster.max_restarts` times, when none is left and none comes,
    and what an evaluation raised.
    """
    name = f"{session.run_id}-evaluations"
    waiting, playing = deque(range(len(evaluations))), dict[str, tuple[int, Task]]()
    num_lost, nobody_since = 0, math.inf
    with Coordinator(session.client, name, write=lambda rows: None) as coordinator:
        try:
            while (waiting or playing) and not interrupt.is_set():
                present = session.fit_hosts()
                if not present:
                    session.ask_for_hosts()
                # Dask cancels the task of a lost host with the parameters that were sent there, or waits for ever.
                for host in [host for host, (_, task) in playing.items() if host not in present or task.cancelled()]:
                    index, task = playing.pop(host)
                    session.client.cancel([task])
                    waiting.appendleft(index)
                    num_lost += 1
                    if num_lost > cluster.max_restarts:
                        raise RoleFailedError(
                            f"{host} was lost during an evaluation, the {num_lost}. host: cluster.max_restarts="
                            f"{cluster.max_restarts} allows no more"
                        )
                # One of Dask's threads: with how many an evaluation computes is the host's business.
                hosts = session.open_hosts(num_threads=1) if waiting else set()
                for host in _by_speed(session, hosts - playing.keys()):
                    if waiting and session.hold_also(host, num_threads=1):
                        address = RoleAddress(name, f"evaluation-{waiting[0]}", num_lost, cluster.lease_seconds)
                        # A host that dies while parameters travel to it is missing at the next look.
                        with contextlib.suppress(RemoteLostError):
                            playing[host] = waiting[0], _submit(session, evaluations[waiting[0]], host, address)
                            waiting.popleft()
                nobody_since = math.inf if hosts or playing else min(nobody_since, time.monotonic())
                if time.monotonic() - nobody_since > session.host_timeout_seconds:
                    others = session.others()
                    raise RoleFailedError(
                        f"no host is left for {len(waiting)} evaluation(s), and none has come within "
                        f"{session.host_timeout_seconds:g} s{f'; others have {others}' if others else ''}"
                    )
                interrupt.wait(_TICK_SECONDS)
                for host, (index, task) in list(playing.items()):
                    if task.done() and not task.cancelled():
                        del playing[host]
                        yield index, _games(evaluations[index], task)
        finally:
            coordinator.stop_roles()
            # Until those that can hear it have heard it: they would play on for as long as their lease lasts.
            session.wait_for([task for _, task in playing.values()], _FAREWELL_SECONDS)
            session.client.cancel([task for _, task in playing.values()])


def evaluator_spec(config: RunConfig, played: Checkpoint, agent: str) -> EvaluatorSpec:
    """How a host plays a checkpoint; `agent` names it in the rows, and each agent has seeds of its own.

    Raises ConfigError where the protocol's start states are missing or do not fit.
    """
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
        starts=start_states.load_for(config.evaluation, config.game),
    )


def _submit(session: Session, evaluation: Evaluation, host: str, address: RoleAddress) -> Task:
    if evaluation.load is None:
        return session.submit(
            run_until_stopped, evaluate_random, evaluation.spec, address=address, host=host, name="evaluate-random"
        )
    params = session.send(evaluation.load(), host)
    return session.submit(
        run_until_stopped, evaluate_params, evaluation.spec, params, address=address, host=host, name="evaluate"
    )


def _games(evaluation: Evaluation, task: Task) -> list[PlayedGame]:
    spec, error = evaluation.spec, task.exception()
    what = f"the evaluation of {spec.game}, agent {spec.agent}, update {spec.version:,}"
    if error is not None and not isinstance(error, PipelineError):
        raise RoleFailedError(f"{what} failed: {error!r}") from error
    try:
        games: list[PlayedGame] = task.result(timeout=_RESULT_SECONDS)
    except TimeoutError as timeout:
        raise RoleFailedError(f"{what} has ended, and its host did not hand it over: play it again") from timeout
    if not games:
        raise RoleFailedError(
            f"{what} was given up by its host, to which this process was silent for too long: raise "
            "cluster.lease_seconds"
        )
    return games


def _by_speed(session: Session, hosts: set[str]) -> list[str]:
    """Those that compute with CUDA first: the queue begins with networks."""
    devices = {address: report.device for address, report in session.hosts.items()}
    return sorted(hosts, key=lambda address: (devices.get(address) != "cuda", address))


def _other_seed(seed: int, agent: str) -> int:
    return int(seeding.emulator_seeds(seed, "evaluation of", agent, count=1)[0])
