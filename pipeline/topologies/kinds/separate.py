"""Gorila with separate actors and learners around a global replay: who is started, who holds whose handle.

    actor-0 ... actor-N   --steps-->  replay-0 ... replay-R  --minibatches-->  learner-0 ... learner-M
        ^                                                                          |  ^
        +----------parameters-----------  shard-0 ... shard-S  <----gradients------+  +---parameters

Actor i writes to replay shard i modulo R; every learner draws from all of them. Nair et al. 2015 (global replay); with
one learner and priorities it is the picture of Horgan et al. 2018.
Not here: how they are started and watched (`pipeline.topologies.fleet`).
"""

from dataclasses import dataclass, replace

from pipeline.algorithms.config import AlgorithmConfig
from pipeline.cluster.placement import Demand
from pipeline.interfaces import RowSink, Servers
from pipeline.replay.config import ReplayTrafficConfig
from pipeline.roles.replay_server import ReplayServerSpec
from pipeline.roles.role import Role
from pipeline.roles.spec import QRoleSpec, RoleSpec
from pipeline.topologies.config import PLACES, TopologyConfig
from pipeline.topologies.needs import RoleNeeds
from pipeline.topologies.servers import learner_demand, server_demand
from pipeline.topologies.system import RolePlan, System, replay_name, shard_name

GLOBAL = "global"


def actor_name(index: int) -> str:
    """Role name of an actor."""
    return f"actor-{index}"


def learner_name(index: int) -> str:
    """Role name of a learner."""
    return f"learner-{index}"


@dataclass(frozen=True)
class GlobalConfig(TopologyConfig):
    """Separate actors and learners around a global replay."""

    KINDS = (GLOBAL,)

    num_actors: int
    """Roles that play, each on a host of its own, with one compute thread."""
    num_learners: int
    """Roles that learn, each on a host of its own."""
    num_replay_shards: int
    """Parts of the global replay; actors write to them in turn, learners draw from all."""
    replay_shards: str
    """"apart": each has a host of its own; "beside": they share the actors' hosts in turn."""
    traffic: ReplayTrafficConfig

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = super().mistakes()
        for name in ("num_actors", "num_learners", "num_replay_shards"):
            if getattr(self, name) < 1:
                found.append(f"{name}={getattr(self, name)} must be at least 1")
        if self.num_replay_shards > self.num_actors:
            found.append(
                f"num_replay_shards={self.num_replay_shards} must be at most num_actors={self.num_actors}: "
                "an actor writes to one shard, the others would stay empty"
            )
        if self.replay_shards not in PLACES:
            found.append(f"replay_shards={self.replay_shards} must be one of {', '.join(PLACES)}")
        return found + [f"traffic.{line}" for line in self.traffic.mistakes()]

    @classmethod
    def runs(cls, kind: str, algorithm: AlgorithmConfig) -> bool:
        """See `TopologyConfig`."""
        return algorithm.NEEDS_REPLAY

    @property
    def num_playing(self) -> int:
        """See `TopologyConfig`."""
        return self.num_actors

    @property
    def num_learning(self) -> int:
        """See `TopologyConfig`."""
        return self.num_learners

    @property
    def num_replays(self) -> int:
        """See `TopologyConfig`."""
        return self.num_replay_shards

    @property
    def writers_per_replay(self) -> int:
        """See `TopologyConfig`."""
        return -(-self.num_actors // self.num_replay_shards)

    @property
    def shares_replay(self) -> bool:
        """See `TopologyConfig`."""
        return True

    def demands(self, algorithm: AlgorithmConfig, num_shards: int, needs: RoleNeeds) -> list[Demand]:
        """Learners and actors first, so that shards can stand beside them."""
        learners = [
            learner_demand(learner_name(i), self.compute_threads, needs.learner_bytes, needs)
            for i in range(self.num_learners)
        ]
        actors = [Demand(actor_name(i), 1, needs.actor_bytes + needs.host_bytes) for i in range(self.num_actors)]
        shards = [
            server_demand(shard_name(i), needs.shard_bytes, learner_name(i % self.num_learners), self.shards, needs)
            for i in range(num_shards)
        ]
        replays = [
            server_demand(
                replay_name(i), needs.replay_bytes, actor_name(i % self.num_actors), self.replay_shards, needs
            )
            for i in range(self.num_replay_shards)
        ]
        return learners + actors + shards + replays

    def system(self, role: RoleSpec) -> System:
        """The actors, the learners, and the shards of the global replay, each for the actors that write to it.

        Raises TypeError for another algorithm than Q-learning.
        """
        if not isinstance(role, QRoleSpec):
            raise TypeError(f"{type(role).__name__} is no role that learns from a global replay")
        role = replace(role, traffic=self.traffic)
        actors = [RolePlan(actor_name(i), i, build_actor, plays=True) for i in range(self.num_actors)]
        learners = [RolePlan(learner_name(i), i, build_learner, plays=False) for i in range(self.num_learners)]
        count = self.num_replay_shards
        replays = [
            ReplayServerSpec(role, replay_name(i), num_writers=len(range(i, self.num_actors, count)))
            for i in range(count)
        ]
        return System((*actors, *learners), tuple(replays), role, self.quorum)


def build_actor(spec: QRoleSpec, servers: Servers, rows: RowSink) -> Role:
    """An actor on its host."""
    from pipeline.roles.standalone_actor import StandaloneActor  # torch: the host needs it, settings do not

    return StandaloneActor(spec, servers, rows)


def build_learner(spec: QRoleSpec, servers: Servers, rows: RowSink) -> Role:
    """A learner on its host."""
    from pipeline.roles.standalone_learner import StandaloneLearner  # as above

    return StandaloneLearner(spec, servers, rows)
