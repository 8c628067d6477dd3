"""Settings of the learning rules: Q-learning's target, loss, guards, exploration; actor-critic's returns and loss."""

from dataclasses import dataclass

from pipeline.schedules import Changes, changes_mistakes

Q_LEARNING = "q_learning"
ACTOR_CRITIC = "actor_critic"


@dataclass(frozen=True)
class AlgorithmConfig:
    """What all learning rules have. Sources stand beside the values in `conf/algorithm/`."""

    kind: str
    """"q_learning" (DQN and Gorila) or "actor_critic" (BA3C and DBA3C)."""
    discount: float
    """Gamma."""

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        return [] if 0 <= self.discount <= 1 else [f"discount={self.discount} must lie in [0, 1]"]


@dataclass(frozen=True)
class ExplorationConfig:
    """Epsilon-greedy exploration, linear in the server's updates."""

    initial_epsilon: float
    """Epsilon at update 0."""
    final_epsilon: float
    """Epsilon from update `decay_updates` on."""
    decay_updates: int
    """Server updates over which epsilon falls."""
    lane_spread: float
    """Exponent range of a different epsilon per lane (Horgan et al. 2018): lane i of all n lanes of all actors plays
    with epsilon ** (1 + lane_spread * i / (n - 1)); 0.0: all lanes alike."""

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = []
        for name in ("initial_epsilon", "final_epsilon"):
            if not 0 <= getattr(self, name) <= 1:
                found.append(f"{name}={getattr(self, name)} must lie in [0, 1]")
        if self.decay_updates < 1:
            found.append(f"decay_updates={self.decay_updates} must be at least 1")
        if self.lane_spread < 0:
            found.append(f"lane_spread={self.lane_spread} must be at least 0")
        return found


@dataclass(frozen=True)
class QLearningConfig(AlgorithmConfig):
    """DQN's learning rule with Gorila's guards."""

    n_step: int
    """Rewards summed before the target network's value is added (Sutton 1988); 1: DQN's one-step target."""
    double: bool
    """The online network chooses the next action, the target network values it (van Hasselt et al. 2016)."""
    max_abs_td_error: float | None
    """The derivative of the loss is clipped to this (Huber loss); None: plain squared error."""
    max_gradient_norm: float | None
    """L2 norm of the whole gradient is scaled down to this at the sender; None: never."""
    outlier_deviations: float | None
    """k: a gradient whose loss exceeds running mean + k standard deviations is thrown away; None: never."""
    outlier_decay: float
    """Decay of that running mean and deviation, per update."""
    steps_per_update: int
    """Agent steps of the bundle, all lanes together, per gradient."""
    exploration: ExplorationConfig

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = super().mistakes() + [f"exploration.{line}" for line in self.exploration.mistakes()]
        if self.n_step < 1:
            found.append(f"n_step={self.n_step} must be at least 1")
        for name in ("max_abs_td_error", "max_gradient_norm", "outlier_deviations"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                found.append(f"{name}={value} must be positive, or null for none")
        if not 0 < self.outlier_decay < 1:
            found.append(f"outlier_decay={self.outlier_decay} must lie in (0, 1)")
        if self.steps_per_update < 1:
            found.append(f"steps_per_update={self.steps_per_update} must be at least 1")
        return found


@dataclass(frozen=True)
class ActorCriticConfig(AlgorithmConfig):
    """The learning rule of batch A3C (Adamski et al. 2018), after A3C (Mnih et al. 2016)."""

    t_max: int
    """Steps of one lane that make one return; fewer where the episode ends before."""
    batch_size: int
    """Steps of all lanes of one worker, together, in one gradient."""
    entropy_weight: float
    """beta: how much the policy's entropy counts."""
    entropy_weight_changes: Changes
    """Later values of beta."""
    value_weight: float
    """How much half the squared error of the values counts."""
    max_average_norm: float | None
    """Each tensor's gradient is scaled down to this L2 norm per element at the sender; None: never."""
    max_gradient_norm: float | None
    """After that the whole gradient is scaled down to this L2 norm; None: never."""

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = super().mistakes()
        for name in ("t_max", "batch_size"):
            if getattr(self, name) < 1:
                found.append(f"{name}={getattr(self, name)} must be at least 1")
        for name in ("entropy_weight", "value_weight"):
            if getattr(self, name) < 0:
                found.append(f"{name}={getattr(self, name)} must be at least 0")
        for name in ("max_average_norm", "max_gradient_norm"):
            if (limit := getattr(self, name)) is not None and limit <= 0:
                found.append(f"{name}={limit} must be positive, or null for none")
        return found + changes_mistakes("entropy_weight_changes", self.entropy_weight_changes, at_least=0.0)
