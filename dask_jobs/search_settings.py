"""Settings of a search, `hydra.sweeper.*`: one commented field each, and every mistake in them in words.

Hydra reads this module at the start of every program that it finds the sweeper beside: it imports light things only.
Not here: using them (`trials`), what Hydra knows them by (`hydra_plugins.ask_and_tell.config`).
"""

from dataclasses import dataclass, field
from typing import Any

MAXIMIZE = "maximize"
DIRECTIONS = (MAXIMIZE, "minimize")

_MAX_SEED = 2**32 - 1
"""Of NumPy's generator in Optuna's samplers."""


@dataclass
class SearchSettings:
    """`hydra.sweeper.*`, with the values that stand when nothing is said."""

    direction: str = MAXIMIZE
    """Which of two numbers that jobs return is the better one."""
    n_trials: int = 20
    """Trials in all, those that the ledger calls done included."""
    n_jobs: int | None = None
    """Trials that run at once. None: as many as the hosts take; then one is always chosen ahead."""
    seed: int | None = None
    """Of the sampler, for the first command of a search. Trials that run side by side end in any order, so that it
    repeats the first ones only."""
    sampler: Any = None
    """One of Optuna's, as a node with `_target_`, e.g. {_target_: optuna.samplers.RandomSampler}. None: its TPE, which
    takes trials that still run for bad ones, so that others are tried elsewhere ("constant liar")."""
    params: dict[str, Any] = field(default_factory=dict)
    """Setting -> what is tried, in Hydra's words: choice(…), range(…), interval(…), tag(log, interval(…))."""

    def mistakes(self) -> list[str]:
        """Everything that is wrong with these settings, one line each, beginning with the setting's name."""
        found = []
        if self.direction not in DIRECTIONS:
            found.append(f"direction={self.direction} must be one of {', '.join(DIRECTIONS)}")
        if self.n_trials < 1:
            found.append(f"n_trials={self.n_trials} must be at least 1")
        if self.n_jobs is not None and self.n_jobs < 1:
            found.append(f"n_jobs={self.n_jobs} must be at least 1, or null")
        if self.sampler is not None and self.seed is not None:
            found.append(f"seed={self.seed} is for the sampler that stands when none is named: put it into sampler")
        if self.seed is not None and not 0 <= self.seed <= _MAX_SEED:
            found.append(f"seed={self.seed} must be from 0 to {_MAX_SEED}")
        return found
