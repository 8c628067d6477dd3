"""All roles and shards of a run, as a topology names them: plain values, apart from what starts them.

Not here: the topologies (`pipeline.topologies.kinds`), starting (`pipeline.topologies.fleet`).
"""

from dataclasses import dataclass
from typing import NamedTuple

from pipeline.param_server.quorum_size import QuorumRange
from pipeline.roles.replay_server import ReplayServerSpec
from pipeline.roles.role import RoleBuilder
from pipeline.roles.spec import RoleSpec


@dataclass(frozen=True)
class RolePlan:
    """One role: its name, its number among its like, and how a host builds it."""

    name: str
    index: int
    build: RoleBuilder
    plays: bool
    """Whether it counts agent steps; one that only learns counts from what all players had made."""


class System(NamedTuple):
    """All roles of a run."""

    roles: tuple[RolePlan, ...]
    replays: tuple[ReplayServerSpec, ...]
    role: RoleSpec
    """The pattern of all roles."""
    quorum: int | QuorumRange | None
    """Gradients that make one update, or from what their number is chosen; None: each is one as it comes."""


def shard_name(index: int) -> str:
    """Role name of a parameter shard."""
    return f"shard-{index}"


def replay_name(index: int) -> str:
    """Role name of a shard of the global replay."""
    return f"replay-{index}"
