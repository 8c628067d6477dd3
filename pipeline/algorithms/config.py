"""Settings of the learning rules: Q-learning's target, loss and guards; returns and losses of rollouts."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from pipeline.algorithms.exploration_config import ExplorationConfig
from pipeline.kinds import Kinds
from pipeline.rows import ActorCriticUpdateRow, Row, UpdateRow
from pipeline.schedules import Changes, changes_mistakes
from pipeline.types import Distribution

Q_LEARNING = "q_learning"
ACTOR_CRITIC = "actor_critic"
PQN = "pqn"


@dataclass(frozen=True)
class AlgorithmConfig:
    """What all learning rules have. Sources stand beside the values in `conf/algorithm/`.

    Its facts below are what others need to know of it; the role that carries it out names it (`pipeline.roles.role`).
    """

    KINDS: ClassVar[tuple[str, ...]] = ()
    """What `kind` may be for this class, besides where it is."""
    NETWORK: ClassVar[str]
    """What its network has to answer: "q" or "actor_critic" (`pipeline.networks.config`)."""
    UPDATE_ROW: ClassVar[type[Row]]
    """What its roles write of their gradients."""
    NEEDS_REPLAY: ClassVar[bool]
    """Whether it learns from a replay; else from each step once."""
    NEEDS_TARGET_NETWORK: ClassVar[bool]
    """Whether it learns from an older copy of the network, too."""
    TAKES_LANES_TOGETHER: ClassVar[bool]
    """Whether all lanes of a role have to make the same number of steps."""
    EXCHANGES_EVERY_GRADIENT: ClassVar[bool]
    """Whether each gradient is sent by itself, and computed at the newest parameters."""

    kind: str
    """One of `ALGORITHMS`, or one's own class: "q_learning" (DQN, Gorila), "actor_critic" (BA3C, DBA3C), "pqn"."""
    discount: float
    """Gamma."""

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        return [] if 0 <= self.discount <= 1 else [f"discount={self.discount} must lie in [0, 1]"]

    def unfit_for_distribution(self, distribution: Distribution | None) -> list[str]:
        """Why it cannot learn such distributions of returns, or means (None); each begins with the field's name."""
        return []

    @property
    def follows_budget(self) -> bool:
        """Whether it changes with the share of the budget that is spent, by frames or by the clock."""
        return False

    @property
    def steps_per_transition(self) -> int:
        """Agent steps between the two observations of a transition in the replay."""
        return 1

    def num_stacks_held(self, num_lanes: int) -> int:
        """Observations that a role of so many lanes holds beside its replay, at most."""
        return 0


ALGORITHMS: Kinds[AlgorithmConfig] = Kinds(AlgorithmConfig, "pipeline.algorithms.config")
"""Settings of learning rules, by kind."""


@dataclass(frozen=True)
class QLearningConfig(AlgorithmConfig):
    """DQN's learning rule with Gorila's guards."""

    KINDS = (Q_LEARNING,)
    NETWORK = "q"
    UPDATE_ROW = UpdateRow
    NEEDS_REPLAY = True
    NEEDS_TARGET_NETWORK = True
    TAKES_LANES_TOGETHER = True
    EXCHANGES_EVERY_GRADIENT = False

    n_step: int
    """Rewards summed before the target network's value is added (Sutton 1988); 1: DQN's one-step target."""
    double: bool
    """The online network chooses the next action, the target network values it (van Hasselt et al. 2016)."""
    max_abs_td_error: float | None
    """The derivative of the loss is clipped to this (Huber loss); None: plain squared error. With a network of
    quantiles it is their kappa (Dabney et al. 2018), with one of atoms it means nothing."""
    max_gradient_norm: float | None
    """L2 norm of the whole gradient is scaled down to this at the sender; None: never."""
    outlier_deviations: float | None
    """k: a gradient whose loss exceeds running mean + k standard deviations is thrown away; None: never."""
    outlier_decay: float
    """Decay of that running mean and deviation, per update."""
    outlier_min_error: float
    """Clipped rewards; a minibatch without an error above this is never thrown away. 0: any may be."""
    steps_per_update: int
    """Agent steps of the bundle, all lanes together, per gradient."""
    munchausen: bool
    """Rewards with a share of the policy's own logarithm, and targets that are its mean (Vieillard et al. 2020)."""
    munchausen_weight: float
    """alpha: that share; this and the next two are not used without `munchausen`."""
    munchausen_temperature: float
    """tau: of the policy softmax(q / tau), in units of clipped reward."""
    munchausen_floor: float
    """l_0: tau * log(policy) counts as this where it is less."""
    exploration: ExplorationConfig

    @property
    def follows_budget(self) -> bool:
        """See `AlgorithmConfig`."""
        return self.exploration.decay_share is not None

    @property
    def steps_per_transition(self) -> int:
        """See `AlgorithmConfig`."""
        return self.n_step

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = super().mistakes() + [f"exploration.{line}" for line in self.exploration.mistakes()]
        for name in ("n_step", "steps_per_update"):
            if getattr(self, name) < 1:
                found.append(f"{name}={getattr(self, name)} must be at least 1")
        for name in ("max_abs_td_error", "max_gradient_norm", "outlier_deviations"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                found.append(f"{name}={value} must be positive, or null for none")
        if not 0 < self.outlier_decay < 1:
            found.append(f"outlier_decay={self.outlier_decay} must lie in (0, 1)")
        if self.outlier_min_error < 0:
            found.append(f"outlier_min_error={self.outlier_min_error} must be at least 0")
        return found + self._munchausen_mistakes()

    def unfit_for_distribution(self, distribution: Distribution | None) -> list[str]:
        """See `AlgorithmConfig`."""
        found = []
        if distribution == "quantiles" and self.max_abs_td_error is None:
            found.append(
                "max_abs_td_error=null must be a number with network.num_quantiles, whose kappa it is (Dabney et al. "
                "2018): algorithm.max_abs_td_error=1.0"
            )
        if distribution == "atoms" and self.munchausen:
            found.append(
                "munchausen=true cannot be learned with network.num_atoms: its targets are those of values or of "
                "quantiles: network=nature or network=quantile"
            )
        return found

    def _munchausen_mistakes(self) -> list[str]:
        found = []
        if not 0 <= self.munchausen_weight <= 1:
            found.append(f"munchausen_weight={self.munchausen_weight} must lie in [0, 1]")
        if self.munchausen_temperature <= 0:
            found.append(f"munchausen_temperature={self.munchausen_temperature} must be positive")
        if self.munchausen_floor >= 0:
            found.append(f"munchausen_floor={self.munchausen_floor} must be below 0")
        if self.munchausen and self.double:
            found.append("double=true must be false with munchausen=true: its targets are means over all next actions")
        return found


@dataclass(frozen=True)
class RolloutConfig(AlgorithmConfig, ABC):
    """What the learning rules have that see each step once, in rollouts of many lanes (`pipeline.roles.rollouts`)."""

    NEEDS_REPLAY = False
    NEEDS_TARGET_NETWORK = False
    TAKES_LANES_TOGETHER = False
    EXCHANGES_EVERY_GRADIENT = True

    t_max: int
    """Steps of one lane that make one return; fewer where the episode ends before."""
    batch_size: int
    """Steps of all lanes of one worker, together, in one gradient."""
    num_passes: int
    """Gradients of each batch, each of which is a part of an update of its own."""
    max_gradient_norm: float | None
    """The whole gradient is scaled down to this L2 norm at the sender; None: never."""

    @property
    @abstractmethod
    def return_lambda(self) -> float:
        """How much of a return is what was played on; the rest is the value of the next state."""

    @property
    def gradient_limits(self) -> tuple[float | None, float | None]:
        """Of each tensor's L2 norm per element, and of the whole gradient's; None: there is none."""
        return None, self.max_gradient_norm

    def num_stacks_held(self, num_lanes: int) -> int:
        """Those that wait for their return, and once more those of one batch, side by side."""
        return num_lanes * self.t_max + 2 * self.batch_size

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = super().mistakes()
        for name in ("t_max", "batch_size", "num_passes"):
            if getattr(self, name) < 1:
                found.append(f"{name}={getattr(self, name)} must be at least 1")
        for name, norm in zip(("max_average_norm", "max_gradient_norm"), self.gradient_limits, strict=True):
            if norm is not None and norm <= 0:
                found.append(f"{name}={norm} must be positive, or null for none")
        return found


@dataclass(frozen=True)
class ActorCriticConfig(RolloutConfig):
    """The learning rule of batch A3C (Adamski et al. 2018), after A3C (Mnih et al. 2016)."""

    KINDS = (ACTOR_CRITIC,)
    NETWORK = "actor_critic"
    UPDATE_ROW = ActorCriticUpdateRow

    entropy_weight: float
    """beta: how much the policy's entropy counts."""
    entropy_weight_changes: Changes
    """Later values of beta."""
    value_weight: float
    """How much half the squared error of the values counts."""
    max_average_norm: float | None
    """Each tensor's gradient is scaled down to this L2 norm per element, before the whole is; None: never."""
    gae_lambda: float
    """lambda of generalised advantages (Schulman et al. 2016); 1: the return of all steps, as in A3C."""
    clip_range: float | None
    """epsilon of the clipped objective (Schulman et al. 2017); None: the plain one."""
    normalised_advantages: bool
    """Whether the advantages of a batch get mean 0 and deviation 1; under the clipped objective alone."""

    @property
    def return_lambda(self) -> float:
        """See `RolloutConfig`."""
        return self.gae_lambda

    @property
    def gradient_limits(self) -> tuple[float | None, float | None]:
        """See `RolloutConfig`."""
        return self.max_average_norm, self.max_gradient_norm

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = super().mistakes()
        for name in ("entropy_weight", "value_weight"):
            if getattr(self, name) < 0:
                found.append(f"{name}={getattr(self, name)} must be at least 0")
        if not 0 <= self.gae_lambda <= 1:
            found.append(f"gae_lambda={self.gae_lambda} must lie in [0, 1]")
        if self.clip_range is not None and not 0 < self.clip_range < 1:
            found.append(f"clip_range={self.clip_range} must lie in (0, 1), or be null for the plain objective")
        if self.num_passes > 1 and self.clip_range is None:
            found.append(
                f"num_passes={self.num_passes} must be 1 without clip_range: nothing would hold the policy near the "
                "one that played: clip_range=0.1"
            )
        if self.normalised_advantages and self.clip_range is None:
            found.append(
                "normalised_advantages=true must be false without clip_range, whose objective they are for: "
                "clip_range=0.1"
            )
        if self.normalised_advantages and self.batch_size == 1:
            found.append("batch_size=1 must be at least 2 with normalised_advantages=true: one alone is always 0")
        return found + changes_mistakes("entropy_weight_changes", self.entropy_weight_changes, at_least=0.0)


@dataclass(frozen=True)
class PqnConfig(RolloutConfig):
    """Q-learning without a replay and without a target network (PQN, Gallici et al. 2025)."""

    KINDS = (PQN,)
    NETWORK = "q"
    UPDATE_ROW = UpdateRow

    q_lambda: float
    """lambda of the returns; 0: one reward and the largest value behind it, 1: all t_max rewards."""
    exploration: ExplorationConfig

    @property
    def follows_budget(self) -> bool:
        """See `AlgorithmConfig`."""
        return self.exploration.decay_share is not None

    @property
    def return_lambda(self) -> float:
        """See `RolloutConfig`."""
        return self.q_lambda

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = super().mistakes() + [f"exploration.{line}" for line in self.exploration.mistakes()]
        return found if 0 <= self.q_lambda <= 1 else [*found, f"q_lambda={self.q_lambda} must lie in [0, 1]"]

    def unfit_for_distribution(self, distribution: Distribution | None) -> list[str]:
        """See `AlgorithmConfig`."""
        if distribution is None:
            return []
        return [f"kind={self.kind} learns means of returns, no {distribution}: network=layer_norm or network=nature"]
