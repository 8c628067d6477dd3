"""Gorila with separate actors and learners around a global replay: who is started, who holds whose handle.

    actor-0 ... actor-N   --steps-->  replay-0 ... replay-R  --minibatches-->  learner-0 ... learner-M
        ^                                                                          |  ^
        +----------parameters-----------  shard-0 ... shard-S  <----gradients------+  +---parameters

Actor i writes to replay shard i modulo R; every learner draws from all of them. Nair et al. 2015 (global replay); with
one learner and priorities it is the picture of Horgan et al. 2018.
Not here: how they are started and watched (`pipeline.topologies.fleet`).
"""

from pipeline.cluster.placement import Demand
from pipeline.interfaces import RowSink, Servers
from pipeline.roles.replay_server import ReplayServerSpec
from pipeline.roles.spec import QRoleSpec
from pipeline.roles.standalone_actor import StandaloneActor
from pipeline.roles.standalone_learner import StandaloneLearner
from pipeline.topologies.config import GlobalConfig
from pipeline.topologies.hosted_roles import RolePlan
from pipeline.topologies.hosted_servers import replay_name, shard_name
from pipeline.topologies.needs import RoleNeeds
from pipeline.topologies.servers import learner_demand, server_demand


def actor_name(index: int) -> str:
    """Role name of an actor."""
    return f"actor-{index}"


def learner_name(index: int) -> str:
    """Role name of a learner."""
    return f"learner-{index}"


def demands(topology: GlobalConfig, num_shards: int, needs: RoleNeeds) -> list[Demand]:
    """What the roles want of their hosts: learners and actors first, so that shards can stand beside them."""
    learners = [
        learner_demand(learner_name(i), topology.compute_threads, needs.learner_bytes, needs)
        for i in range(topology.num_learners)
    ]
    actors = [Demand(actor_name(i), 1, needs.actor_bytes + needs.host_bytes) for i in range(topology.num_actors)]
    shards = [
        server_demand(shard_name(i), needs.shard_bytes, learner_name(i % topology.num_learners), topology.shards, needs)
        for i in range(num_shards)
    ]
    replays = [
        server_demand(
            replay_name(i), needs.replay_bytes, actor_name(i % topology.num_actors), topology.replay_shards, needs
        )
        for i in range(topology.num_replay_shards)
    ]
    return learners + actors + shards + replays


def roles(topology: GlobalConfig) -> tuple[RolePlan, ...]:
    """The actors and the learners."""
    actors = [RolePlan(actor_name(i), i, build_actor, plays=True) for i in range(topology.num_actors)]
    learners = [RolePlan(learner_name(i), i, build_learner, plays=False) for i in range(topology.num_learners)]
    return (*actors, *learners)


def replays(topology: GlobalConfig, role: QRoleSpec) -> tuple[ReplayServerSpec, ...]:
    """The shards of the global replay, each for the actors that write to it."""
    count = topology.num_replay_shards
    return tuple(
        ReplayServerSpec(role, replay_name(i), num_writers=len(range(i, topology.num_actors, count)))
        for i in range(count)
    )


def build_actor(spec: QRoleSpec, servers: Servers, rows: RowSink) -> StandaloneActor:
    """An actor on its host."""
    return StandaloneActor(spec, servers, rows)


def build_learner(spec: QRoleSpec, servers: Servers, rows: RowSink) -> StandaloneLearner:
    """A learner on its host."""
    return StandaloneLearner(spec, servers, rows)
