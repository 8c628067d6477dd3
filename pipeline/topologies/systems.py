"""From a topology's settings to its roles: the one place that knows all kinds of topology, and what each can run.

Not here: what each kind starts (`pipeline.topologies.bundled`, `.separate`, `.workers`), starting it
(`pipeline.topologies.fleet`).
"""

from dataclasses import replace
from typing import NamedTuple

from pipeline.algorithms.config import ActorCriticConfig, AlgorithmConfig
from pipeline.cluster.placement import Demand
from pipeline.roles.replay_server import ReplayServerSpec
from pipeline.roles.spec import QRoleSpec, RoleSpec, WorkerSpec
from pipeline.topologies import bundled, separate, workers
from pipeline.topologies.config import SINGLE, BundledConfig, GlobalConfig, TopologyConfig, WorkersConfig
from pipeline.topologies.hosted_roles import RolePlan
from pipeline.topologies.needs import RoleNeeds


class System(NamedTuple):
    """All roles of a run."""

    roles: tuple[RolePlan, ...]
    replays: tuple[ReplayServerSpec, ...]
    role: RoleSpec
    """The pattern of all roles."""
    quorum: int | None
    """Gradients that make one update; None: each is one as it comes."""


def num_actors(topology: TopologyConfig) -> int:
    """Roles that play."""
    match topology:
        case BundledConfig():
            return topology.num_bundles
        case GlobalConfig():
            return topology.num_actors
        case WorkersConfig():
            return topology.num_started
    raise _no_such(topology)


def num_learners(topology: TopologyConfig) -> int:
    """Roles that send gradients."""
    return topology.num_learners if isinstance(topology, GlobalConfig) else num_actors(topology)


def num_writers(topology: TopologyConfig) -> int:
    """Actors that write to one replay, at most."""
    match topology:
        case GlobalConfig():
            return -(-topology.num_actors // topology.num_replay_shards)
        case _:
            return 1


def demands(topology: TopologyConfig, algorithm: AlgorithmConfig, num_shards: int, needs: RoleNeeds) -> list[Demand]:
    """What all roles and shards want of their hosts."""
    match topology:
        case BundledConfig() if isinstance(algorithm, ActorCriticConfig):
            return workers.demands(1, 1, topology.compute_threads, topology.shards, num_shards, needs)
        case BundledConfig():
            return bundled.demands(topology, num_shards, needs)
        case GlobalConfig():
            return separate.demands(topology, num_shards, needs)
        case WorkersConfig():
            # A lost shard sends the run back to its checkpoint: with backup workers, any host but the first can be.
            num_holders = 1 if topology.num_backup_workers else topology.num_workers
            return workers.demands(
                topology.num_started, num_holders, topology.compute_threads, topology.shards, num_shards, needs
            )
    raise _no_such(topology)


def system(topology: TopologyConfig, role: RoleSpec) -> System:
    """All roles of a run whose pattern is `role`."""
    match topology, role:
        case BundledConfig(), QRoleSpec():
            return System(bundled.roles(topology), (), role, None)
        case BundledConfig(), WorkerSpec():
            return System(workers.roles(1), (), role, None)
        case GlobalConfig(), QRoleSpec():
            role = replace(role, traffic=topology.traffic)
            return System(separate.roles(topology), separate.replays(topology, role), role, None)
        case WorkersConfig(), WorkerSpec():
            role = replace(role, stragglers=topology.stragglers)
            quorum = topology.num_workers if topology.sync else None
            return System(workers.roles(topology.num_started), (), role, quorum)
    raise _no_such(topology)


def mistakes(topology: TopologyConfig, algorithm: AlgorithmConfig) -> list[str]:
    """Why this topology cannot run this algorithm, one line each, beginning with the setting's name."""
    can_learn_by_policy = isinstance(topology, WorkersConfig) or topology.kind == SINGLE
    can_learn_values = not isinstance(topology, WorkersConfig)
    learns_by_policy = isinstance(algorithm, ActorCriticConfig)
    if can_learn_by_policy if learns_by_policy else can_learn_values:
        return []
    others = "single or workers" if learns_by_policy else "single, bundled or global"
    return [f"topology.kind={topology.kind} cannot run algorithm.kind={algorithm.kind}: choose topology={others}"]


def _no_such(topology: TopologyConfig) -> TypeError:
    return TypeError(f"{type(topology).__name__} is no topology that can be started with this algorithm")
