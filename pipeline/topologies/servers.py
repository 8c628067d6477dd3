"""What parameter shards and those who learn want of their hosts, alike in every topology.

Not here: which roles there are (`pipeline.topologies.kinds`).
"""

from pipeline.cluster.placement import Demand
from pipeline.topologies.config import APART
from pipeline.topologies.needs import RoleNeeds


def learner_demand(role: str, num_threads: int, memory_bytes: int, needs: RoleNeeds) -> Demand:
    """A role that learns, on a host of its own, with a GPU if it must have one."""
    return Demand(
        role,
        num_threads,
        memory_bytes + needs.host_bytes,
        num_gpus=needs.num_gpus,
        prefers_gpu=needs.prefers_gpu,
    )


def server_demand(role: str, memory_bytes: int, beside: str, place: str, needs: RoleNeeds) -> Demand:
    """A shard, of parameters or of a replay: on the host of `beside`, or with place=apart on one of its own."""
    if place == APART:
        return Demand(role, num_threads=1, memory_bytes=memory_bytes + needs.host_bytes, alone=True)
    return Demand(role, num_threads=0, memory_bytes=memory_bytes, beside=beside)
