"""A topology: two roles that play and learn, the second one's gradients as good as the first one's."""

from dataclasses import dataclass

from pipeline.algorithms.config import AlgorithmConfig
from pipeline.cluster.placement import Demand
from pipeline.roles.role import role_of
from pipeline.roles.spec import RoleSpec
from pipeline.topologies.config import TopologyConfig
from pipeline.topologies.needs import RoleNeeds
from pipeline.topologies.servers import learner_demand, server_demand
from pipeline.topologies.system import RolePlan, System, shard_name

TWINS = ("castor", "pollux")


@dataclass(frozen=True)
class TwinsConfig(TopologyConfig):
    """Settings of that topology: those that all have."""

    @classmethod
    def runs(cls, kind: str, algorithm: AlgorithmConfig) -> bool:
        """See `TopologyConfig`."""
        return True

    @property
    def num_playing(self) -> int:
        """See `TopologyConfig`."""
        return len(TWINS)

    def demands(self, algorithm: AlgorithmConfig, num_shards: int, needs: RoleNeeds) -> list[Demand]:
        """The twins, and all shards beside the first."""
        role_bytes = needs.replay_bytes + needs.learner_bytes
        twins = [learner_demand(name, self.compute_threads, role_bytes, needs) for name in TWINS]
        names = map(shard_name, range(num_shards))
        return twins + [server_demand(name, needs.shard_bytes, TWINS[0], self.shards, needs) for name in names]

    def system(self, role: RoleSpec) -> System:
        """The twins."""
        build = role_of(type(role.algorithm)).build
        return System(tuple(RolePlan(name, i, build, plays=True) for i, name in enumerate(TWINS)), (), role, None)
