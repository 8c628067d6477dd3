"""DBA3C, and its smallest case, the baseline BA3C: who is started, who holds whose handle.

    shard-0 ... shard-S      one slice of the parameters each
    leader                   beside shard-0: closes an update when the first N gradients are in; none with sync=false
       ^  v                  gradients and commits up, parameters down
    worker-0 ... worker-N+b  play and learn; they never talk to each other

`topology=single` with actor-critic learning is one worker beside its shards. Adamski et al. 2018.
Departure: in the authors' code the server's variables are read for each forward pass; here a worker has a replica.
Not here: how they are started and watched (`pipeline.topologies.fleet`), the quorum (`pipeline.param_server.quorum`).
"""

from pipeline.cluster.placement import Demand
from pipeline.interfaces import RowSink, Servers
from pipeline.roles.spec import WorkerSpec
from pipeline.roles.worker import Worker
from pipeline.topologies.hosted_roles import RolePlan
from pipeline.topologies.hosted_servers import shard_name
from pipeline.topologies.needs import RoleNeeds
from pipeline.topologies.servers import learner_demand, server_demand


def worker_name(index: int) -> str:
    """Role name of a worker."""
    return f"worker-{index}"


def demands(
    num_workers: int, num_holders: int, compute_threads: int, shards: str, num_shards: int, needs: RoleNeeds
) -> list[Demand]:
    """What the roles want of their hosts: workers first, so that shards can stand beside the first `num_holders`."""
    workers = [learner_demand(worker_name(i), compute_threads, needs.learner_bytes, needs) for i in range(num_workers)]
    servers = [
        server_demand(shard_name(i), needs.shard_bytes, worker_name(i % num_holders), shards, needs)
        for i in range(num_shards)
    ]
    return workers + servers


def roles(num_workers: int) -> tuple[RolePlan, ...]:
    """The workers."""
    return tuple(RolePlan(worker_name(i), i, build_worker, plays=True) for i in range(num_workers))


def build_worker(spec: WorkerSpec, servers: Servers, rows: RowSink) -> Worker:
    """A worker on its host."""
    return Worker(spec, servers, rows)
