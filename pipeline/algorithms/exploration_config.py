"""Settings of epsilon-greedy exploration. Not here: what they do (`pipeline.algorithms.exploration`)."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ExplorationConfig:
    """Epsilon-greedy exploration, linear in the server's updates or in the share of the budget that is spent."""

    initial_epsilon: float
    """Epsilon at the start."""
    final_epsilon: float
    """Epsilon once it has fallen."""
    decay_updates: int | None
    """Server updates over which epsilon falls; None: it falls over `decay_share`."""
    decay_share: float | None
    """Share of the run's budget over which epsilon falls, so that a slow machine that is stopped by `budget.minutes`
    has a whole schedule as well; None: it falls over `decay_updates`."""
    lane_spread: float
    """Exponent range of a different epsilon per lane (Horgan et al. 2018): lane i of all n lanes of all actors plays
    with epsilon ** (1 + lane_spread * i / (n - 1)); 0.0: all lanes alike."""

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = []
        for name in ("initial_epsilon", "final_epsilon"):
            if not 0 <= getattr(self, name) <= 1:
                found.append(f"{name}={getattr(self, name)} must lie in [0, 1]")
        if (self.decay_updates is None) == (self.decay_share is None):
            found.append(
                f"decay_updates={self.decay_updates} and decay_share={self.decay_share}: one of them must be a number "
                "and the other one null"
            )
        if self.decay_updates is not None and self.decay_updates < 1:
            found.append(f"decay_updates={self.decay_updates} must be at least 1, or null for decay_share")
        if self.decay_share is not None and not 0 < self.decay_share <= 1:
            found.append(f"decay_share={self.decay_share} must lie in (0, 1], or be null for decay_updates")
        if self.lane_spread < 0:
            found.append(f"lane_spread={self.lane_spread} must be at least 0")
        return found
