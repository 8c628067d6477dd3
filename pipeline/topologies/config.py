"""What a topology is: settings of how many roles there are and where they stand, and the roles that they make.

Not here: the topologies, a module each (`pipeline.topologies.kinds`); starting them (`pipeline.topologies.fleet`).
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from pipeline.algorithms.config import AlgorithmConfig
from pipeline.cluster.placement import Demand
from pipeline.kinds import Kinds
from pipeline.roles.spec import RoleSpec
from pipeline.topologies.needs import RoleNeeds
from pipeline.topologies.system import System

BESIDE, APART = PLACES = ("beside", "apart")


@dataclass(frozen=True)
class TopologyConfig(ABC):
    """What all topologies have. Sources stand beside the values in `conf/topology/`."""

    KINDS: ClassVar[tuple[str, ...]] = ()
    """What `kind` may be for this class, besides where it is."""

    kind: str
    """One of `TOPOLOGIES`, or a class of one's own. "single": one bundle or worker and its parameters on one host, the
    baseline; "bundled": bundles around a server; "global": actors and learners around a server and a global replay;
    "workers": DBA3C's workers around a server."""
    num_lanes: int
    """Games that one actor plays at once."""
    shards: str
    """"beside": parameter shards share the hosts of those who learn, in turn; "apart": each has a host of its own."""
    compute_threads: int
    """Torch threads of one role that learns, and emulator threads of one that plays beside."""

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = []
        if self.shards not in PLACES:
            found.append(f"shards={self.shards} must be one of {', '.join(PLACES)}")
        for name in ("num_lanes", "compute_threads"):
            if getattr(self, name) < 1:
                found.append(f"{name}={getattr(self, name)} must be at least 1")
        return found

    @classmethod
    @abstractmethod
    def runs(cls, kind: str, algorithm: AlgorithmConfig) -> bool:
        """Whether a topology of this class and this kind can carry out such an algorithm."""

    def unfit_for(self, algorithm: AlgorithmConfig) -> list[str]:
        """Why this topology cannot run this algorithm, one line each, beginning with the field's name."""
        if self.runs(self.kind, algorithm):
            return []
        fit = [kind for kind, topology in TOPOLOGIES.items() if topology.runs(kind, algorithm)]
        return [f"kind={self.kind} cannot run algorithm.kind={algorithm.kind}: choose topology={_either(fit)}"]

    @property
    @abstractmethod
    def num_playing(self) -> int:
        """Roles that play."""

    @property
    def num_learning(self) -> int:
        """Roles that send gradients."""
        return self.num_playing

    @property
    def num_replays(self) -> int:
        """Replays of the run, those inside of roles included."""
        return self.num_playing

    @property
    def writers_per_replay(self) -> int:
        """Actors that write to one replay, at most."""
        return 1

    @property
    def shares_replay(self) -> bool:
        """Whether all who learn draw from all replays; else each has one of its own."""
        return False

    @property
    def quorum(self) -> int | None:
        """Gradients that make one update; None: each is one as it comes."""
        return None

    @property
    def spare_roles(self) -> tuple[str, ...]:
        """Names of the roles that no update needs, the most dispensable one first."""
        return ()

    @property
    def settings_of_time(self) -> tuple[tuple[str, object, str], ...]:
        """What makes the learning hang on who is late: (setting, its value, a value without that)."""
        return ()

    @abstractmethod
    def demands(self, algorithm: AlgorithmConfig, num_shards: int, needs: RoleNeeds) -> list[Demand]:
        """What all roles and shards want of their hosts; whom others stand beside comes before them."""

    @abstractmethod
    def system(self, role: RoleSpec) -> System:
        """All roles of a run whose pattern is `role`."""


TOPOLOGIES: Kinds[TopologyConfig] = Kinds(TopologyConfig, "pipeline.topologies.kinds")  # type: ignore[type-abstract]  # it makes none
"""Settings of topologies, by kind."""


def _either(words: Sequence[str]) -> str:
    return " or ".join([*filter(None, [", ".join(words[:-1])]), *words[-1:]])
