"""Gorila's bundled mode, and its smallest case, the single-machine baseline: who is started, who holds whose handle.

    shard-0 ... shard-S      one slice of the parameters each
       ^  v                  gradients up, parameters down
    bundle-0 ... bundle-N    actor + local replay + learner each; they never talk to each other

`topology=single` is one bundle beside its shards: the same role classes, every call within one thread.
A bundle that is started again elsewhere begins with an empty replay. Nair et al. 2015, bundled mode.
Not here: how they are started and watched (`pipeline.topologies.fleet`).
"""

from pipeline.cluster.placement import Demand
from pipeline.interfaces import RowSink, Servers
from pipeline.roles.bundle import Bundle
from pipeline.roles.spec import QRoleSpec
from pipeline.topologies.config import BundledConfig
from pipeline.topologies.hosted_roles import RolePlan
from pipeline.topologies.hosted_servers import shard_name
from pipeline.topologies.needs import RoleNeeds
from pipeline.topologies.servers import learner_demand, server_demand


def bundle_name(index: int) -> str:
    """Role name of a bundle."""
    return f"bundle-{index}"


def demands(topology: BundledConfig, num_shards: int, needs: RoleNeeds) -> list[Demand]:
    """What the roles want of their hosts: bundles first, so that shards can stand beside them."""
    bundle_bytes = needs.replay_bytes + needs.learner_bytes
    bundles = [
        learner_demand(bundle_name(i), topology.compute_threads, bundle_bytes, needs)
        for i in range(topology.num_bundles)
    ]
    shards = [
        server_demand(shard_name(i), needs.shard_bytes, bundle_name(i % topology.num_bundles), topology.shards, needs)
        for i in range(num_shards)
    ]
    return bundles + shards


def roles(topology: BundledConfig) -> tuple[RolePlan, ...]:
    """The bundles."""
    return tuple(RolePlan(bundle_name(i), i, build_bundle, plays=True) for i in range(topology.num_bundles))


def build_bundle(spec: QRoleSpec, servers: Servers, rows: RowSink) -> Bundle:
    """A bundle on its host."""
    return Bundle(spec, servers.shards, rows)
