"""Whether a topology of anybody's can be started: it is asked for its roles, before any work.

    demands    name each role, shard and replay once, and whom one stands beside before it
    system     has a plan for each of these names and for no other

Not here: what is asked of it (`pipeline.topologies.config`), whether hosts have room (`pipeline.cluster.placement`).
"""

from collections.abc import Callable, Iterable, Sequence

from pipeline.algorithms.config import AlgorithmConfig
from pipeline.cluster.placement import Demand
from pipeline.errors import in_words
from pipeline.roles.spec import RoleSpec
from pipeline.topologies.config import TopologyConfig
from pipeline.topologies.needs import RoleNeeds
from pipeline.topologies.system import System, replay_name, shard_name

_NOTHING = RoleNeeds(replay_bytes=0, learner_bytes=0, actor_bytes=0, shard_bytes=0, host_bytes=0)


def faults_of_topology(
    topology: TopologyConfig, algorithm: AlgorithmConfig, role: Callable[[], RoleSpec], num_shards: int
) -> list[str]:
    """Why it cannot be started, the first reason alone, as the end of a line that begins with its kind.

    `role` makes the pattern of all roles, for which the topology is asked too. What its own code raises stands in the
    line.
    """
    try:
        demands = list(topology.demands(algorithm, num_shards, _NOTHING))
        fault = _fault_of_demands(demands)
    except Exception as error:  # whatever it raises
        return [f"cannot say what its roles want: `demands` raises {in_words(error)}"]
    if fault is not None:
        return [fault]
    try:
        fault = _fault_of_system(topology.system(role()), [demand.role for demand in demands], num_shards)
    except Exception as error:  # whatever it raises
        fault = f"cannot say which roles it has: `system` raises {in_words(error)}"
    return [] if fault is None else [fault]


def _fault_of_demands(demands: Sequence[Demand]) -> str | None:
    placed: set[str] = set()
    for demand in demands:
        if demand.role in placed:
            return f"demands a host for {demand.role} twice: each role has a name of its own"
        if demand.beside is not None and demand.beside not in placed:
            return f"has {demand.role} stand beside {demand.beside}, which no demand before it names"
        placed.add(demand.role)
    return None


def _fault_of_system(system: System, demanded: Sequence[str], num_shards: int) -> str | None:
    if not system.roles:
        return "has no role in its `system`"
    roles = [plan.name for plan in system.roles]
    if twice := sorted({name for name in roles if roles.count(name) > 1}):
        return f"has two roles named {twice[0]}: each has a name of its own"
    started = [*roles, *map(shard_name, range(num_shards)), *map(replay_name, range(len(system.replays)))]
    if homeless := _only_in(started, demanded):
        return f"starts {homeless}, for which `demands` asks no host"
    if idle := _only_in(demanded, started):
        return f"asks in `demands` for {idle}, which nothing starts"
    return None


def _only_in(names: Iterable[str], others: Iterable[str]) -> str | None:
    """The first of `names` that is none of the others."""
    known = set(others)
    return next((name for name in names if name not in known), None)
