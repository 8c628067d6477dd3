"""Workers that are made slow on purpose, to see what others wait for.

Not here: who waits for whom (`pipeline.param_server.quorum`).
"""

from dataclasses import dataclass

import numpy as np

CONSTANT, EXPONENTIAL = DISTRIBUTIONS = ("constant", "exponential")


@dataclass(frozen=True)
class StragglerConfig:
    """Which workers straggle: they sleep before they send a gradient. Sources stand in `conf/topology/workers.yaml`."""

    num_workers: int
    """So many of the workers, the last ones; 0: none."""
    distribution: str
    """"constant", or "exponential" around `mean_seconds`."""
    mean_seconds: float
    """Of one sleep."""

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = []
        if self.num_workers < 0:
            found.append(f"num_workers={self.num_workers} must be at least 0")
        if self.distribution not in DISTRIBUTIONS:
            found.append(f"distribution={self.distribution} must be one of {', '.join(DISTRIBUTIONS)}")
        if self.mean_seconds < 0:
            found.append(f"mean_seconds={self.mean_seconds} must be at least 0")
        return found

    def delay_seconds(self, index: int, num_workers: int, rng: np.random.Generator) -> float:
        """How long worker `index` of `num_workers` sleeps this time; 0.0 for one that does not straggle."""
        if index < num_workers - self.num_workers:
            return 0.0
        return self.mean_seconds if self.distribution == CONSTANT else float(rng.exponential(self.mean_seconds))
