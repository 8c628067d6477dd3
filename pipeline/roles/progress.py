"""What a role has done so far, as it tells its coordinator about once a second."""

from typing import NamedTuple


class RoleProgress(NamedTuple):
    """Counters of one role; the newest one replaces the one before."""

    num_steps: int
    """Agent steps, resumes included."""
    num_updates: int
    """Gradients computed since this start of the role."""
    version: int
    """Server version that the role last saw."""
    epsilon: float
    replay_transitions: int
    wall_seconds: float
    """Since the run's first start."""
    waited_seconds: float = 0.0
    """Of this start: held back by a global replay, or waiting for the wire to it."""
    budget_share: float = 0.0
    """How much of the run's budget was spent, as far as the role can tell; resumes included, it never falls."""
    num_games: int = 0
    """Of an evaluation: how many of its games are over."""
