"""Where one role stands among its like, where it starts to count, and the clock that it counts by.

Not here: what ends a run (`pipeline.experiments.life`).
"""

import time
from dataclasses import dataclass

from pipeline.schedules import Extent


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


class RoleClock:
    """The run's time as one role counts it, from when this is made, and how much of the run's budget is spent by it."""

    def __init__(self, place: RolePlace) -> None:
        self.share_before = place.budget_share_before
        """What was told before as spent."""
        self._seconds_before = place.wall_seconds_before
        self._started = time.monotonic()

    @property
    def wall_seconds(self) -> float:
        """Since the run's first start, pauses between resumes not counted."""
        return self._seconds_before + time.monotonic() - self._started

    def budget_share(self, extent: Extent, num_steps: int) -> float:
        """How much of the budget is spent after so many agent steps of all roles, 0.0 to 1.0; it never falls."""
        return max(extent.share(num_steps, self.wall_seconds), self.share_before)
