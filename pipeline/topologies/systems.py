"""From a topology's settings to its roles: the one place that knows all kinds of topology.

Not here: what each kind starts (`pipeline.topologies.bundled`, `.separate`), starting it (`pipeline.topologies.fleet`).
"""

from dataclasses import replace
from typing import NamedTuple

from pipeline.cluster.placement import Demand
from pipeline.roles.replay_server import ReplayServerSpec
from pipeline.roles.spec import RoleSpec
from pipeline.topologies import bundled, separate
from pipeline.topologies.config import BundledConfig, GlobalConfig, TopologyConfig
from pipeline.topologies.fleet import RolePlan
from pipeline.topologies.needs import RoleNeeds


class System(NamedTuple):
    """All roles of a run."""

    roles: tuple[RolePlan, ...]
    replays: tuple[ReplayServerSpec, ...]
    role: RoleSpec
    """The pattern of all roles."""


def num_actors(topology: TopologyConfig) -> int:
    """Roles that play."""
    match topology:
        case BundledConfig():
            return topology.num_bundles
        case GlobalConfig():
            return topology.num_actors
    raise _no_such(topology)


def num_writers(topology: TopologyConfig) -> int:
    """Actors that write to one replay, at most."""
    match topology:
        case BundledConfig():
            return 1
        case GlobalConfig():
            return -(-topology.num_actors // topology.num_replay_shards)
    raise _no_such(topology)


def demands(topology: TopologyConfig, num_shards: int, needs: RoleNeeds) -> list[Demand]:
    """What all roles and shards want of their hosts."""
    match topology:
        case BundledConfig():
            return bundled.demands(topology, num_shards, needs)
        case GlobalConfig():
            return separate.demands(topology, num_shards, needs)
    raise _no_such(topology)


def system(topology: TopologyConfig, role: RoleSpec) -> System:
    """All roles of a run whose pattern is `role`."""
    match topology:
        case BundledConfig():
            return System(bundled.roles(topology), (), role)
        case GlobalConfig():
            role = replace(role, traffic=topology.traffic)
            return System(separate.roles(topology), separate.replays(topology, role), role)
    raise _no_such(topology)


def _no_such(topology: TopologyConfig) -> TypeError:
    return TypeError(f"{type(topology).__name__} is no topology that can be started")
