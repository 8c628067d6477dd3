"""Everything that a host needs to know to build a role; plain values that travel there.

Not here: what the roles are (`pipeline.roles.bundle`, `.standalone_actor`, `.standalone_learner`, `.worker`,
`.q_worker`), who gets which (`pipeline.topologies`).
"""

from dataclasses import dataclass, field

from pipeline.algorithms.config import ActorCriticConfig, AlgorithmConfig, PqnConfig, QLearningConfig, RolloutConfig
from pipeline.envs.protocol import EnvironmentConfig
from pipeline.networks.config import NetworkConfig
from pipeline.param_server.config import ParamServerConfig
from pipeline.replay.config import ReplayConfig, ReplayTrafficConfig
from pipeline.replay.keeper import KeptReplays
from pipeline.roles.place import RolePlace
from pipeline.roles.straggler import Stragglers
from pipeline.schedules import Extent

BUNDLE, WORKER = "bundle", "worker"
"""What our roles that play and learn are called."""


@dataclass(frozen=True)
class RoleSpec:
    """What every role has; picklable."""

    place: RolePlace
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
    extent: Extent
    """Of the whole run."""
    algorithm: AlgorithmConfig
    network: NetworkConfig
    environment: EnvironmentConfig
    param_server: ParamServerConfig
    restorable: bool = field(default=False, kw_only=True)
    """Its games are seeded one by one, so that it has a state: a deterministic run."""
    is_restart: bool = field(default=False, kw_only=True)
    """An earlier start in this generation was lost."""

    @property
    def sender(self) -> str:
        """Names this start of the role to the shards; nobody else's, since they count its pushes under it."""
        return f"{self.place.role}/{self.attempt}"

    def stream_name(self, purpose: str) -> tuple[str | int, ...]:
        """Names of one of this role's random streams (`pipeline.seeding`).

        A start in the place of a lost one may begin at the same step, and must not repeat what that one drew. In a
        deterministic run it has to, for the run is the same.
        """
        name = self.place.role, purpose, self.place.num_steps_before
        return (*name, self.attempt) if self.is_restart and not self.restorable else name

    @property
    def has_own_replay(self) -> bool:
        """Whether the role has a replay of its own, which is empty when it is started again."""
        return False

    @property
    def held_back_seconds(self) -> float:
        """How long a global replay may hold the role back until it gives up; 0.0: there is none."""
        return 0.0


@dataclass(frozen=True)
class QRoleSpec(RoleSpec):
    """One role of Q-learning."""

    algorithm: QLearningConfig
    replay: ReplayConfig
    traffic: ReplayTrafficConfig | None = None
    """How to talk to a global replay; None: the role has its own."""
    kept_replays: KeptReplays | None = None
    """Where replays are saved; None: nowhere."""

    @property
    def has_own_replay(self) -> bool:
        """Whether the role has a replay of its own, which is empty when it is started again."""
        return self.traffic is None

    @property
    def held_back_seconds(self) -> float:
        """How long a global replay may hold the role back until it gives up; 0.0: there is none."""
        return 0.0 if self.traffic is None else self.traffic.wait_seconds


@dataclass(frozen=True)
class RolloutSpec(RoleSpec):
    """One worker, whatever it learns in its rollouts."""

    algorithm: RolloutConfig
    stragglers: Stragglers = ()
    """Workers that are slow on purpose."""


@dataclass(frozen=True)
class WorkerSpec(RolloutSpec):
    """One worker of actor-critic learning."""

    algorithm: ActorCriticConfig


@dataclass(frozen=True)
class QWorkerSpec(RolloutSpec):
    """One worker of Q-learning in rollouts."""

    algorithm: PqnConfig
