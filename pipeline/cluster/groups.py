"""Kinds of host, and which roles stand on which: those that learn where a GPU is, shards where memory is.

    cluster.groups=[{name:gpus,roles:[learner]},{name:big,roles:[replay,shard]}]

A role that a group names stands on a host of that group, and nowhere else. All others stand on hosts of no group. A
host says that it is one of a group by a Dask resource of that name; hosts that we start do so themselves.
Not here: choosing among the hosts of a group (`pipeline.cluster.placement`).
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pipeline.cluster.host_settings import GPU
from pipeline.cluster.placement import Demand

_NAME = re.compile("[a-z]([a-z0-9-]*[a-z0-9])?")
_OF_KUBERNETES = "default"
"""What the Dask operator calls the hosts of no group."""


@dataclass(frozen=True)
class HostGroup:
    """Hosts of one kind. What is None or empty is as for all other hosts of the cluster."""

    name: str
    """Of the Dask resource, too."""
    roles: tuple[str, ...]
    """Kinds of role, as their names begin: shard of shard-0."""
    num_hosts: int | None = None
    """None: one for each of its roles that compute, at least one; of hosts that are there already, one to wait for."""
    host_cores: int | None = None
    """Cores of each host."""
    memory_bytes: int | None = None
    """Of each host."""
    gpus_per_host: int | None = None
    """GPUs that each host declares."""
    partition: str | None = None
    """Queue of the jobs (Slurm)."""
    directives: tuple[str, ...] = ()
    """More #SBATCH lines, after those of all jobs (Slurm)."""

    @property
    def size(self) -> int:
        """Hosts to start or to wait for; one, where it does not say how many."""
        return self.num_hosts or 1

    @property
    def given(self) -> dict[str, Any]:
        """What it says of its hosts, by setting, but for their number."""
        named = ("host_cores", "memory_bytes", "gpus_per_host", "partition", "directives")
        return {name: value for name in named if (value := getattr(self, name)) not in (None, ())}


def kind_of(role: str) -> str:
    """What a group calls a role with this name: "shard" for shard-0, "evaluator" for evaluator."""
    kind, _, index = role.rpartition("-")
    return kind if index.isdecimal() else role


def groups_mistakes(groups: Sequence[HostGroup], settings: Sequence[str], kind: str) -> list[str]:
    """What is wrong with groups in themselves, one line each, beginning with "groups".

    `settings`: what such a group may say of its hosts where the cluster is of this kind.
    """
    found = []
    for name, count in Counter(group.name for group in groups).items():
        if count > 1:
            found.append(f"groups: {name} is named {count} times")
        if _NAME.fullmatch(name) is None or name == _OF_KUBERNETES:
            found.append(f"groups: name={name} must be of small letters, digits and -, and not {_OF_KUBERNETES}")
    for role, count in Counter(role for group in groups for role in group.roles).items():
        if count > 1:
            found.append(f"groups: {role} is in {count} groups, and has one")
    for group in groups:
        if not group.roles:
            found.append(f"groups: {group.name} has no roles: name at least one, e.g. learner")
        found += [
            f"groups: {setting} of {group.name} is no setting of kind={kind}, whose groups have "
            f"{', '.join(('name', 'roles', 'num_hosts', *settings))}"
            for setting in group.given
            if setting not in settings
        ]
        for setting, least in (("num_hosts", 1), ("host_cores", 1), ("memory_bytes", 1), ("gpus_per_host", 0)):
            value = getattr(group, setting)
            if value is not None and value < least:
                found.append(f"groups: {setting}={value} of {group.name} must be at least {least}")
    return found


def unknown_roles(groups: Sequence[HostGroup], roles: Sequence[str]) -> list[str]:
    """The mistake of each kind of role that a run with these roles has not, one line each."""
    kinds = list(dict.fromkeys(map(kind_of, roles)))
    return [
        f"groups: {group.name} has the role {role}, of which this run has none: it has {', '.join(kinds)}"
        for group in groups
        for role in group.roles
        if role not in kinds
    ]


def in_groups(demands: Sequence[Demand], groups: Sequence[HostGroup], host_bytes: int) -> list[Demand]:
    """The same demands, each with its group. A role that would stand beside one of another group has a host to find.

    `host_bytes`: of the process that such a role is counted with then.
    """
    group_of_kind = {kind: group.name for group in groups for kind in group.roles}
    group_of = {demand.role: group_of_kind.get(kind_of(demand.role)) for demand in demands}
    found = []
    for demand in demands:
        group = group_of[demand.role]
        if demand.beside is not None and group_of[demand.beside] != group:
            demand = replace(demand, beside=None, memory_bytes=demand.memory_bytes + host_bytes)
        found.append(replace(demand, group=group))
    return found


def has_own_host(demand: Demand) -> bool:
    """Whether a host is started for it: neither does it stand beside another, nor compute in others' time."""
    return demand.beside is None and demand.num_threads > 0


def hosts_by_group(
    demands: Sequence[Demand], groups: Sequence[HostGroup], num_hosts: int | None
) -> dict[str | None, int]:
    """How many hosts to start of each group, None for those of no group; in all, `num_hosts` where it is given."""
    sizes: dict[str | None, int] = {group.name: group.num_hosts or _wanted(demands, group.name) for group in groups}
    ungrouped = _wanted(demands, None) if num_hosts is None else num_hosts - sum(sizes.values())
    return {None: max(ungrouped, 0), **sizes}


def _wanted(demands: Sequence[Demand], group: str | None) -> int:
    """One for each that has its own, and one for all that compute in others' time, if they can share none of these."""
    own = [demand for demand in demands if demand.group == group and has_own_host(demand)]
    has_guests = any(demand.beside is None and demand.group == group and demand not in own for demand in demands)
    return len(own) + int(has_guests and all(demand.alone for demand in own))


def num_in_groups(groups: Sequence[HostGroup]) -> int:
    """Hosts of all groups."""
    return sum(group.size for group in groups)


def declared(num_gpus: int, group: HostGroup | None) -> str:
    """What `dask worker --resources` gets for a host with so many GPUs in this group; empty: nothing."""
    gpus = [f"{GPU}={num_gpus}"] if num_gpus else []
    return ",".join(gpus if group is None else [*gpus, f"{group.name}=1"])
