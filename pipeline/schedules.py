"""Settings that change as a run goes on: at given server updates, or after given shares of the run's budget.

Not here: what ends a run (`pipeline.experiments.life`).
"""

from dataclasses import dataclass

Changes = tuple[tuple[int, float], ...]
"""Later values of a setting, ((server update, value), ...) in rising order: from that update on it is that value."""


def value_at(first: float, changes: Changes, update: int) -> float:
    """The value that is in force after `update` server updates."""
    value = first
    for start, later in changes:
        if update < start:
            break
        value = later
    return value


def changes_mistakes(name: str, changes: Changes, at_least: float) -> list[str]:
    """What is wrong with the later values of a setting, one line each, beginning with its name."""
    found = []
    updates = [update for update, _ in changes]
    if any(update < 1 for update in updates) or sorted(set(updates)) != updates:
        found.append(f"{name}: updates {updates} must be positive and rising")
    too_small = [(update, value) for update, value in changes if value < at_least]
    return found + [f"{name}: {value} at update {update} must be at least {at_least}" for update, value in too_small]


@dataclass(frozen=True)
class Extent:
    """How long a run may be, as its roles count it: the limits that shares of its budget are taken of."""

    num_steps: float | None
    """Agent steps of all roles that play; None: no such limit."""
    wall_seconds: float | None
    """None: no such limit."""

    def share(self, num_steps: float, wall_seconds: float) -> float:
        """How much of it is over after so many agent steps of all roles, 0.0 to 1.0."""
        return share_spent((num_steps, self.num_steps), (wall_seconds, self.wall_seconds))


def share_spent(*limits: tuple[float, float | None]) -> float:
    """The largest share of (spent, limit), 0.0 to 1.0: the limit that is nearest ends the run. None: no such limit."""
    return min(max((spent / limit for spent, limit in limits if limit is not None), default=0.0), 1.0)
