"""The evaluator: builds a replica around given parameters and plays them under a protocol.

Not here: the protocol and the games (`pipeline.evaluation`), which parameters and when (`pipeline.experiments`).
"""

from dataclasses import dataclass

from pipeline.envs.rom import num_actions
from pipeline.evaluation.play import evaluate, evaluate_random_agent
from pipeline.evaluation.protocol import EvaluationConfig
from pipeline.networks import compute
from pipeline.networks.config import NetworkConfig
from pipeline.networks.network import make_network
from pipeline.networks.replica import Replica
from pipeline.rows import EvaluationRow
from pipeline.types import Float32Array


@dataclass(frozen=True)
class EvaluatorSpec:
    """Everything that a host needs to know to score parameters; picklable."""

    game: str
    seed: int
    network: NetworkConfig
    evaluation: EvaluationConfig
    compute_threads: int
    device: str
    precision: str
    version: int
    """Server version (updates) of the parameters."""
    total_frames: int
    """Training frames behind them."""
    wall_seconds: float
    """Training time behind them."""


def evaluate_params(spec: EvaluatorSpec, params: Float32Array) -> list[EvaluationRow]:
    """One row per game played with `params` (P,), noisy networks without their noise."""
    compute.set_compute_threads(spec.compute_threads)
    environment = spec.evaluation.environment
    actions = num_actions(spec.game, environment.full_action_set)
    network = make_network(spec.network, environment.stack, environment.frame_shape, actions)
    device = compute.resolve_device(spec.device)
    replica = Replica(network, compute.resolve_precision(spec.precision, device), device)
    replica.load(params)
    return evaluate(
        spec.game,
        spec.evaluation,
        lambda observations: replica.values(observations).cpu().numpy(),
        spec.seed,
        num_threads=spec.compute_threads,
        agent="checkpoint",
        version=spec.version,
        total_frames=spec.total_frames,
        wall_seconds=spec.wall_seconds,
    )


def evaluate_random(spec: EvaluatorSpec) -> list[EvaluationRow]:
    """One row per game of uniformly random play under the same protocol."""
    return evaluate_random_agent(spec.game, spec.evaluation, spec.seed, num_threads=spec.compute_threads)
