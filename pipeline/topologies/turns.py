"""A run's roles as one that takes turns with itself: the schedule of a deterministic run.

    bundle-0, bundle-1, shard-0, shard-1   ->   turns (all bundles), shard-0, shard-1

A lone role keeps its name. Not here: what they do in turn (`pipeline.roles.turns`), what cannot be deterministic
(`pipeline.config.determinism`).
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from pipeline.cluster.placement import Demand
from pipeline.roles.turns import Turn, Turns
from pipeline.topologies.system import RolePlan, System

TURNS = "turns"


def demands_in_turns(demands: Sequence[Demand]) -> list[Demand]:
    """The same demands, with one in place of those of all roles: they compute in turn, and hold all that they did."""
    roles = [demand.role for demand in demands if demand.beside is None and not demand.alone]
    if len(roles) == 1:
        return list(demands)
    joined = [demand for demand in demands if demand.role in roles]
    one = replace(joined[0], role=TURNS, memory_bytes=sum(demand.memory_bytes for demand in joined))
    others = [demand for demand in demands if demand.role not in roles]
    return [one, *(replace(demand, beside=TURNS) if demand.beside in roles else demand for demand in others)]


def in_turns(system: System, desk: str) -> System:
    """The same system with one role, which meets its coordinator at the desk with that key."""
    turns = [Turn(plan.name, plan.index, plan.build) for plan in system.roles]
    name = system.roles[0].name if len(turns) == 1 else TURNS
    return system._replace(roles=(RolePlan(name, 0, partial(Turns, turns, desk), plays=True),))
