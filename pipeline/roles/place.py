"""Where one role stands among its like, and where it starts to count."""

from dataclasses import dataclass


@dataclass(frozen=True)
class RolePlace:
    """Which of the run's roles this is."""

    role: str
    index: int
    num_actors: int
    """Roles of the run that play."""
    num_steps_before: int
    """Agent steps that this role made before a resume."""
    wall_seconds_before: float
    """Wall time of the run before a resume, in seconds."""
    budget_share_before: float = 0.0
    """How much of its budget this role took for spent before a resume: with a larger budget it is less, and what
    follows the budget must not go back."""
