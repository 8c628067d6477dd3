"""From a run's configuration to what its hosts are told: the pattern of its roles, and the fleet that is made of it.

Not here: which roles a topology has (`pipeline.topologies.systems`), starting them (`pipeline.experiments.training`).
"""

import math
from typing import TypedDict

from pipeline.algorithms.config import ActorCriticConfig, QLearningConfig
from pipeline.cluster.placement import Demand
from pipeline.config.run_config import RunConfig
from pipeline.envs.protocol import EnvironmentConfig
from pipeline.networks.config import ActorCriticNetworkConfig, QNetworkConfig
from pipeline.param_server.config import ParamServerConfig
from pipeline.replay.config import ReplayConfig
from pipeline.roles.place import RolePlace
from pipeline.roles.spec import QRoleSpec, RoleSpec, WorkerSpec
from pipeline.topologies.fleet import FleetSpec
from pipeline.topologies.systems import num_actors, system


def fleet_spec(config: RunConfig, demands: tuple[Demand, ...], generation: int) -> FleetSpec:
    """What the run's topology is asked to start, as one generation of the parameter server."""
    roles, replays, role, quorum = system(config.topology, role_spec(config, generation))
    return FleetSpec(
        roles=roles,
        replays=replays,
        role=role,
        quorum=quorum,
        optimizer=config.optimizer,
        demands=demands,
        lease_seconds=config.cluster.lease_seconds,
        max_restarts=config.cluster.max_restarts,
    )


def role_spec(config: RunConfig, generation: int) -> RoleSpec:
    """The pattern of all roles; which role it is, and how its topology wants it, is filled in later."""
    if isinstance(config.algorithm, ActorCriticConfig):
        return worker_spec(config, generation)
    return q_role_spec(config, generation)


def q_role_spec(config: RunConfig, generation: int) -> QRoleSpec:
    """The pattern of all roles of Q-learning. Raises TypeError for a run of another algorithm."""
    match config.algorithm, config.network, config.replay:
        case QLearningConfig() as algorithm, QNetworkConfig() as network, ReplayConfig() as replay:
            common = _common(config, generation)
            return QRoleSpec(**common, algorithm=algorithm, network=network, replay=replay, traffic=None)
    raise TypeError(f"algorithm.kind={config.algorithm.kind} with this network and replay is no Q-learning")


def worker_spec(config: RunConfig, generation: int) -> WorkerSpec:
    """The pattern of all workers. Raises TypeError for a run of another algorithm."""
    match config.algorithm, config.network:
        case ActorCriticConfig() as algorithm, ActorCriticNetworkConfig() as network:
            return WorkerSpec(**_common(config, generation), algorithm=algorithm, network=network, stragglers=())
    raise TypeError(f"algorithm.kind={config.algorithm.kind} with this network has no workers")


class _Common(TypedDict):
    place: RolePlace
    attempt: int
    seed: int
    game: str
    num_lanes: int
    compute_threads: int
    device: str
    precision: str
    generation: int
    max_steps: int | None
    environment: EnvironmentConfig
    param_server: ParamServerConfig


def _common(config: RunConfig, generation: int) -> _Common:
    players, max_steps = num_actors(config.topology), None
    if players == 1 and config.budget.frames is not None:
        max_steps = math.ceil(config.budget.frames / config.environment.mean_frame_skip)
    return _Common(
        place=RolePlace("", 0, players, 0, 0.0),
        attempt=0,
        seed=config.seed,
        game=config.game,
        num_lanes=config.topology.num_lanes,
        compute_threads=config.topology.compute_threads,
        device=config.device,
        precision=config.precision,
        generation=generation,
        max_steps=max_steps,
        environment=config.environment,
        param_server=config.param_server,
    )
