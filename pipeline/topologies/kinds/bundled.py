"""Gorila's bundled mode, and its smallest case, the single-machine baseline: who is started, who holds whose handle.

    shard-0 ... shard-S      one slice of the parameters each
       ^  v                  gradients up, parameters down
    bundle-0 ... bundle-N    actor + local replay + learner each; they never talk to each other

`topology=single` is one bundle beside its shards: the same role classes, every call within one thread. With an
algorithm that needs no replay it is one worker beside its shards (`pipeline.topologies.kinds.workers`).
A bundle that is started again elsewhere begins with an empty replay. Nair et al. 2015, bundled mode.
Not here: how they are started and watched (`pipeline.topologies.fleet`).
"""

from dataclasses import dataclass

from pipeline.algorithms.config import AlgorithmConfig
from pipeline.cluster.placement import Demand
from pipeline.roles.role import role_of
from pipeline.roles.spec import BUNDLE, RoleSpec
from pipeline.topologies.config import BESIDE, TopologyConfig
from pipeline.topologies.needs import RoleNeeds
from pipeline.topologies.servers import learner_demand, server_demand
from pipeline.topologies.system import RolePlan, System, shard_name

SINGLE = "single"
BUNDLED = "bundled"


def bundle_name(index: int) -> str:
    """Role name of a bundle."""
    return f"{BUNDLE}-{index}"


@dataclass(frozen=True)
class BundledConfig(TopologyConfig):
    """Bundles; a single one is the baseline."""

    KINDS = (
        SINGLE,
        BUNDLED,
    )

    num_bundles: int
    """Actor + local replay + learner, each bundle on a host of its own."""

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = super().mistakes()
        if self.num_bundles < 1:
            found.append(f"num_bundles={self.num_bundles} must be at least 1")
        if self.kind == SINGLE and (self.num_bundles != 1 or self.shards != BESIDE):
            found.append(f"kind={SINGLE} needs num_bundles=1 and shards={BESIDE}")
        return found

    @classmethod
    def runs(cls, kind: str, algorithm: AlgorithmConfig) -> bool:
        """See `TopologyConfig`."""
        return algorithm.NEEDS_REPLAY or kind == SINGLE

    @property
    def num_playing(self) -> int:
        """See `TopologyConfig`."""
        return self.num_bundles

    def demands(self, algorithm: AlgorithmConfig, num_shards: int, needs: RoleNeeds) -> list[Demand]:
        """Bundles first, so that shards can stand beside them."""
        names = [f"{role_of(type(algorithm)).NAME}-{i}" for i in range(self.num_bundles)]
        bundle_bytes = needs.replay_bytes + needs.learner_bytes
        bundles = [learner_demand(name, self.compute_threads, bundle_bytes, needs) for name in names]
        shards = [
            server_demand(shard_name(i), needs.shard_bytes, names[i % len(names)], self.shards, needs)
            for i in range(num_shards)
        ]
        return bundles + shards

    def system(self, role: RoleSpec) -> System:
        """The bundles."""
        built = role_of(type(role.algorithm))
        bundles = [RolePlan(f"{built.NAME}-{i}", i, built.build, plays=True) for i in range(self.num_bundles)]
        return System(tuple(bundles), (), role, self.quorum)
