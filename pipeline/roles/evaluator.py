"""The evaluator: builds a replica around given parameters and plays them under a protocol.

Not here: the protocol and the games (`pipeline.evaluation`), which parameters and when (`pipeline.experiments`).
"""

from collections.abc import Callable
from dataclasses import dataclass

from pipeline.envs.episodes import never, nobody
from pipeline.envs.protocol import EnvironmentConfig
from pipeline.envs.rom import num_actions
from pipeline.evaluation.play import ActionPreferences, PlayedGame, evaluate, evaluate_random_agent
from pipeline.evaluation.protocol import SAMPLED, EvaluationConfig
from pipeline.evaluation.start_states import StartStates
from pipeline.networks import compute
from pipeline.networks.config import ACTOR_CRITIC_NETWORK, NetworkConfig
from pipeline.networks.network import ActorCriticNetwork, QNetwork
from pipeline.networks.replica import PolicyReplica, QReplica
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
    agent: str
    """What the rows call these parameters, e.g. "checkpoint"."""
    version: int
    """Server version (updates) of the parameters."""
    total_frames: int
    """Training frames behind them."""
    wall_seconds: float
    """Training time behind them."""
    commit: str
    """Of the code that plays; "" outside of a checkout."""
    starts: StartStates | None
    """Points to go on from, for a protocol that names some."""

    @property
    def samples(self) -> bool:
        """Whether actions are drawn from the network's policy."""
        return draws_actions(self.network, self.evaluation)


def draws_actions(network: NetworkConfig, evaluation: EvaluationConfig) -> bool:
    """Whether actions are drawn from the policy of such a network, if it has one."""
    return evaluation.policy == SAMPLED and network.answers == ACTOR_CRITIC_NETWORK


def evaluate_params(
    spec: EvaluatorSpec,
    params: Float32Array,
    stop: Callable[[], bool] = never,
    tell: Callable[[int], object] = nobody,
) -> list[PlayedGame]:
    """The games played with `params` (P,): noisy networks without their noise, policies as the protocol says.

    None at all once `stop` says True; `tell` hears how many are over.
    """
    compute.set_compute_threads(spec.compute_threads)
    return evaluate(
        spec.game,
        spec.evaluation,
        _preferences(spec, params),
        spec.seed,
        num_threads=spec.compute_threads,
        agent=spec.agent,
        version=spec.version,
        total_frames=spec.total_frames,
        wall_seconds=spec.wall_seconds,
        commit=spec.commit,
        starts=spec.starts,
        samples=spec.samples,
        stop=stop,
        tell=tell,
    )


def evaluate_random(
    spec: EvaluatorSpec, stop: Callable[[], bool] = never, tell: Callable[[int], object] = nobody
) -> list[PlayedGame]:
    """The same of uniformly random play under the same protocol."""
    return evaluate_random_agent(
        spec.game,
        spec.evaluation,
        spec.seed,
        num_threads=spec.compute_threads,
        commit=spec.commit,
        starts=spec.starts,
        stop=stop,
        tell=tell,
    )


def load_replica(
    network: NetworkConfig, game: str, environment: EnvironmentConfig, params: Float32Array, device: str, precision: str
) -> QReplica | PolicyReplica:
    """A replica with `params` (P,), for playing `game`; `device` and `precision` as a run's config has them."""
    actions = num_actions(game, environment.full_action_set)
    made = network.make(environment.stack, environment.frame_shape, actions)
    on = compute.resolve_device(device)
    dtype = compute.resolve_precision(precision, on)
    replica: QReplica | PolicyReplica
    match made:
        case QNetwork():
            replica = QReplica(made, dtype, on)
        case ActorCriticNetwork():
            replica = PolicyReplica(made, dtype, on)
        case _:
            raise TypeError(f"no player for {type(made).__name__}: use a QNetwork or an ActorCriticNetwork")
    replica.load(params)
    return replica


def _preferences(spec: EvaluatorSpec, params: Float32Array) -> ActionPreferences:
    """What the network that `params` are of says of each action: its Q-value, or its logit."""
    replica = load_replica(spec.network, spec.game, spec.evaluation.environment, params, spec.device, spec.precision)
    return lambda observations: replica.preferences(observations).cpu().numpy()
