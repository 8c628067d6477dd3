"""What cannot be deterministic, each with what to type instead.

Not here: roles of a user's own that have no state (`pipeline.experiments.exact`), how a run is made deterministic
(`pipeline.roles.turns`), how it goes on (`pipeline.experiments.exact`).
"""

from pipeline.algorithms.config import AlgorithmConfig
from pipeline.cluster.config import ClusterConfig
from pipeline.config.course import BudgetConfig, TrainingEvaluationConfig
from pipeline.param_server.config import ParamServerConfig
from pipeline.topologies.config import TopologyConfig


def undeterministic(
    algorithm: AlgorithmConfig,
    budget: BudgetConfig,
    topology: TopologyConfig,
    cluster: ClusterConfig,
    param_server: ParamServerConfig,
    evaluation: TrainingEvaluationConfig,
    device: str,
) -> list[str]:
    """Why a run of these settings cannot be deterministic, one line each, beginning with the setting's name."""
    why = "deterministic=true"
    found = []
    if not cluster.runs_in_this_process:
        found.append(f"cluster={cluster.kind} must be threads with {why}, whose roles take turns: cluster=threads")
    if topology.shares_replay:
        found.append(
            f"topology.kind={topology.kind} cannot take turns with {why}, since actors and learners wait for "
            "each other: topology=bundled or topology=single"
        )
    if topology.compute_threads != 1:
        found.append(
            f"topology.compute_threads={topology.compute_threads} must be 1 with {why}, since several threads add in "
            "another order: topology.compute_threads=1"
        )
    if device == "cuda":
        found.append(f"device=cuda cannot repeat itself, and {why} computes on the processor: device=cpu")
    if budget.minutes is not None and algorithm.follows_budget:
        found.append(
            f"budget.minutes={budget.minutes} must be null with {why} and algorithm.exploration.decay_share, since "
            "epsilon would fall by the clock: budget.minutes=null"
        )
    if param_server.overlap:
        found.append(f"param_server.overlap=true must be false with {why}: nothing has to travel in one process")
    if evaluation.every_frames is not None:
        found.append(
            f"training_evaluation.every_frames={evaluation.every_frames} must be null with {why}, since evaluations "
            "beside the training begin by the clock: training_evaluation.every_frames=null"
        )
    for name, value, without in topology.settings_of_time:
        found.append(
            f"topology.{name}={value} must be {without} with {why}, where nobody is late: topology.{name}={without}"
        )
    return found
