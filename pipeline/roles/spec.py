"""Everything that a host needs to know to build a role; a plain value that travels there.

Not here: what the roles are (`pipeline.roles.bundle`, `.standalone_actor`, `.standalone_learner`), who gets which
(`pipeline.topologies`).
"""

from dataclasses import dataclass

from pipeline.algorithms.config import QLearningConfig
from pipeline.envs.protocol import EnvironmentConfig
from pipeline.networks.config import NetworkConfig
from pipeline.param_server.config import ParamServerConfig
from pipeline.replay.config import ReplayConfig, ReplayTrafficConfig
from pipeline.roles.actor import ActorPlace


@dataclass(frozen=True)
class RoleSpec:
    """One role of Q-learning; picklable."""

    place: ActorPlace
    attempt: int
    """Counts the starts of this role; no two starts of a run have the same, generations included."""
    seed: int
    game: str
    num_lanes: int
    compute_threads: int
    device: str
    precision: str
    generation: int
    """Generation of the parameter server that it belongs to."""
    max_steps: int | None
    """Agent steps after which the role is done, resumes included; None: until it is stopped."""
    algorithm: QLearningConfig
    network: NetworkConfig
    environment: EnvironmentConfig
    replay: ReplayConfig
    param_server: ParamServerConfig
    traffic: ReplayTrafficConfig | None
    """How to talk to a global replay; None: the role has its own."""

    @property
    def sender(self) -> str:
        """Names this start of the role to the shards; nobody else's, since they count its pushes under it."""
        return f"{self.place.role}/{self.attempt}"
