"""Settings of Q-learning: target, loss, guards and exploration."""

from dataclasses import dataclass


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
class QLearningConfig:
    """DQN's learning rule with Gorila's guards. Sources stand beside the values in `conf/algorithm/`."""

    discount: float
    """Gamma."""
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
        found = [f"exploration.{line}" for line in self.exploration.mistakes()]
        if not 0 <= self.discount <= 1:
            found.append(f"discount={self.discount} must lie in [0, 1]")
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
