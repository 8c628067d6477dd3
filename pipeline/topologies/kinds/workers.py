"""DBA3C, and its smallest case, the baseline BA3C: who is started, who holds whose handle.

    shard-0 ... shard-S      one slice of the parameters each
    leader                   beside shard-0: closes an update when the first N gradients are in; none with sync=false
       ^  v                  gradients and commits up, parameters down
    worker-0 ... worker-N+b  play and learn; they never talk to each other

`topology=single` with a rule that learns in rollouts is one worker beside its shards. Adamski et al. 2018.
Departure: in the authors' code the server's variables are read for each forward pass; here a worker has a replica.
Not here: how they are started and watched (`pipeline.topologies.fleet`), the quorum (`pipeline.param_server.quorum`).
"""

from dataclasses import dataclass, replace

from pipeline.algorithms.config import AlgorithmConfig
from pipeline.cluster.placement import Demand
from pipeline.param_server.quorum_size import QuorumRange
from pipeline.roles.role import role_of
from pipeline.roles.spec import WORKER, RoleSpec, RolloutSpec
from pipeline.roles.straggler import Stragglers, stragglers_mistakes
from pipeline.topologies.config import TopologyConfig
from pipeline.topologies.needs import RoleNeeds
from pipeline.topologies.servers import learner_demand, server_demand
from pipeline.topologies.system import RolePlan, System, shard_name

WORKERS = "workers"


def worker_name(index: int) -> str:
    """Role name of a worker."""
    return f"{WORKER}-{index}"


@dataclass(frozen=True)
class WorkersConfig(TopologyConfig):
    """DBA3C's workers, which play and learn in turn, around a parameter server."""

    KINDS = (WORKERS,)

    num_workers: int
    """N: with `sync`, so many gradients make one update."""
    num_backup_workers: int
    """b: workers beyond N, so that an update need not wait for the slowest b."""
    dynamic_quorum: bool
    """Each update waits for N to N + b gradients, whatever makes the most progress a second by the times that workers
    took (Xu et al. 2020)."""
    noise_scale: float | None
    """With `dynamic_quorum`: gradients of which an update makes half of the progress that any number could make; None:
    twice as many are always worth twice as much."""
    sync: bool
    """True: an update is the mean of the first N gradients computed at its version; False: each gradient is one."""
    stragglers: Stragglers
    """Workers that are slow on purpose."""

    @property
    def num_started(self) -> int:
        """N + b."""
        return self.num_workers + self.num_backup_workers

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = super().mistakes()
        if self.num_workers < 1:
            found.append(f"num_workers={self.num_workers} must be at least 1")
        if self.num_backup_workers < 0:
            found.append(f"num_backup_workers={self.num_backup_workers} must be at least 0")
        if self.num_backup_workers and not self.sync:
            found.append(f"num_backup_workers={self.num_backup_workers} needs sync=true: without it nobody waits")
        if self.dynamic_quorum and not self.num_backup_workers:
            found.append("dynamic_quorum=true needs num_backup_workers: without any an update waits for all")
        if self.noise_scale is not None and self.noise_scale <= 0:
            found.append(f"noise_scale={self.noise_scale} must be positive, or null")
        if self.noise_scale is not None and not self.dynamic_quorum:
            found.append(
                f"noise_scale={self.noise_scale} needs dynamic_quorum=true: a quorum that is fixed has no use for it"
            )
        return found + stragglers_mistakes(self.stragglers, self.num_started)

    @classmethod
    def runs(cls, kind: str, algorithm: AlgorithmConfig) -> bool:
        """See `TopologyConfig`."""
        return not algorithm.NEEDS_REPLAY

    @property
    def num_playing(self) -> int:
        """See `TopologyConfig`."""
        return self.num_started

    @property
    def settings_of_time(self) -> tuple[tuple[str, object, str], ...]:
        """See `TopologyConfig`."""
        found = (
            ("num_backup_workers", self.num_backup_workers, "0"),
            ("dynamic_quorum", self.dynamic_quorum, "false"),
            ("stragglers", self.stragglers, "[]"),
        )
        return tuple(one for one in found if one[1])

    @property
    def quorum(self) -> int | None:
        """See `TopologyConfig`."""
        return self.num_workers if self.sync else None

    @property
    def spare_roles(self) -> tuple[str, ...]:
        """The backup workers of a quorum, the last one first; without one there are none."""
        return tuple(worker_name(i) for i in reversed(range(self.num_workers, self.num_started)))

    def demands(self, algorithm: AlgorithmConfig, num_shards: int, needs: RoleNeeds) -> list[Demand]:
        """Workers first, so that shards can stand beside them."""
        # A lost shard sends the run back to its checkpoint: with backup workers, any host but the first can be.
        num_holders = 1 if self.num_backup_workers else self.num_workers
        names = [worker_name(i) for i in range(self.num_started)]
        workers = [learner_demand(name, self.compute_threads, needs.learner_bytes, needs) for name in names]
        shards = [
            server_demand(shard_name(i), needs.shard_bytes, names[i % num_holders], self.shards, needs)
            for i in range(num_shards)
        ]
        return workers + shards

    def system(self, role: RoleSpec) -> System:
        """The workers. Raises TypeError for some that are to be slow and know not how."""
        if self.stragglers:
            if not isinstance(role, RolloutSpec):
                raise TypeError(f"{type(role).__name__} knows no stragglers: derive it from RolloutSpec")
            role = replace(role, stragglers=self.stragglers)
        build = role_of(type(role.algorithm)).build
        workers = [RolePlan(worker_name(i), i, build, plays=True) for i in range(self.num_started)]
        return System(tuple(workers), (), role, self._quorum_size())

    def _quorum_size(self) -> int | QuorumRange | None:
        if self.dynamic_quorum and self.sync:
            return QuorumRange(self.num_workers, self.num_started, self.noise_scale)
        return self.quorum
