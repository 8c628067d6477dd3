"""Whether the hosts that a cluster is asked for can be those that a run's roles want. A pure function.

Not here: whether roles fit the hosts that are there (`pipeline.cluster.placement`).
"""

from collections.abc import Sequence

from pipeline.cluster.config import ClusterConfig
from pipeline.cluster.groups import has_own_host, hosts_by_group, in_groups, unknown_roles
from pipeline.cluster.placement import Demand
from pipeline.config.words import listed


def hosts_mistakes(cluster: ClusterConfig, wanted: Sequence[Demand]) -> list[str]:
    """What is wrong, one line each, beginning with the setting's name. `cluster` has no mistakes of its own."""
    if found := unknown_roles(cluster.groups, [demand.role for demand in wanted]):
        return found
    if cluster.num_hosts is None:
        return []
    grouped = in_groups(wanted, cluster.groups, host_bytes=0)
    least = sum(hosts_by_group(grouped, cluster.groups, None).values())
    if cluster.num_hosts >= least:
        return []
    own = listed([demand.role for demand in grouped if has_own_host(demand)])
    return [f"num_hosts={cluster.num_hosts} must be at least {least}: {own} have hosts of their own"]
