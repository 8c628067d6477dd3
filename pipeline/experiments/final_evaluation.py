"""The evaluation at the end of a run: the last parameters, and the random player beside them, each as a Dask task.

Departure: Mnih et al. 2015 report the best of many evaluations during training. The best of noisy means is too high, so
the last parameters count here.
Not here: the games (`pipeline.evaluation`), the table made of the rows (`pipeline.results.table`).
"""

import threading
from pathlib import Path

from pipeline.cluster.session import Session, Task
from pipeline.errors import RoleFailedError
from pipeline.experiments.checkpoint import Checkpoint
from pipeline.experiments.config import RunConfig
from pipeline.results.load import load_run
from pipeline.roles.evaluator import EvaluatorSpec, evaluate_params, evaluate_random
from pipeline.rows import Row

_TICK_SECONDS = 0.25


def evaluate(
    session: Session, config: RunConfig, end: Checkpoint, interrupt: threading.Event, folder: Path
) -> list[Row]:
    """Rows of all games; those of the random player only if the folder has none yet. Empty if interrupted.

    Raises RoleFailedError when a host is lost meanwhile: Dask would wait for its task for ever.
    """
    # Those that compute with CUDA first: the parameters are played there.
    devices = {address: report.device for address, report in session.hosts.items()}
    hosts = sorted(session.present_hosts(), key=lambda address: (devices.get(address) != "cuda", address))
    spec = EvaluatorSpec(
        game=config.game,
        seed=config.seed,
        network=config.network,
        evaluation=config.evaluation,
        compute_threads=config.topology.compute_threads,
        device="auto" if config.device == "cuda" else config.device,
        precision=config.precision,
        version=end.server.version,
        total_frames=end.num_steps * config.environment.frame_skip,
        wall_seconds=end.wall_seconds,
    )
    params = session.send(end.server.params, hosts[0])
    tasks: list[Task] = [session.submit(evaluate_params, spec, params, host=hosts[0], name="evaluate")]
    if "random" not in set(load_run(folder).evaluations["agent"]):
        tasks.append(session.submit(evaluate_random, spec, host=hosts[-1], name="evaluate-random"))
    while not all(task.done() for task in tasks):
        if interrupt.wait(_TICK_SECONDS):
            session.client.cancel(tasks)
            return []
        if lost := {hosts[0], hosts[-1]} - session.present_hosts():
            session.client.cancel(tasks)
            raise RoleFailedError(
                f"{', '.join(sorted(lost))} was lost during the final evaluation; training is saved, and resume=true "
                "plays the evaluation again"
            )
    return [row for task in tasks for row in task.result()]
