"""What the supervision of a fleet is told: one look at the fleet, and how the tasks of its roles ended. Plain values.

Not here: who looks (`pipeline.topologies.fleet`), what is made of it (`pipeline.topologies.supervision`), how long a
role has been silent (`pipeline.topologies.silence`).
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import NamedTuple

from pipeline.cluster.placement import Offer


@dataclass(frozen=True)
class Returned:
    """A role left by itself."""

    reason: str
    """"done", or why it had to leave (`pipeline.cluster.coordination.channel`)."""


@dataclass(frozen=True)
class NotArrived:
    """A role left, and what it returned did not arrive."""


@dataclass(frozen=True)
class Cancelled:
    """Somebody cancelled the task of a role."""


@dataclass(frozen=True)
class Failed:
    """A role ended with an error."""

    error: BaseException


@dataclass(frozen=True)
class HostGone:
    """The host of a role that was to leave is gone."""


@dataclass(frozen=True)
class StillThere:
    """A role that was to leave has not."""

    waited_seconds: float


End = Returned | NotArrived | Cancelled | Failed
"""How a task ended that nobody had told to."""
NoFarewell = Cancelled | Failed | HostGone | StillThere
"""How a role that was told to leave did it without a result."""


class Look(NamedTuple):
    """The world at one moment, as far as a fleet sees it."""

    now: float
    """Seconds on a clock that never goes back."""
    present: AbstractSet[str]
    """Addresses of the hosts that are there."""
    placement: Mapping[str, Offer]
    """Where roles and shards stand, and what else was placed with them."""
    servers: Mapping[str, str]
    """Name of each shard, and of the leader -> address of its host."""
    ended: Mapping[str, End]
    """Roles whose task has ended, on a host that is there."""
    silent_seconds: Mapping[str, float]
    """How long nothing was heard of each role."""
    served: AbstractSet[str] = frozenset()
    """Those hosts of the placement that are gone because their time was over."""
