"""An evaluation protocol as data: which environment, how many games, how much exploration.

Not here: playing the games (`pipeline.evaluation.play`), statistics over them (`pipeline.results`).
"""

from dataclasses import dataclass

from pipeline.envs.protocol import EnvironmentConfig


@dataclass(frozen=True)
class EvaluationConfig:
    """One protocol under which parameters are scored. Sources stand beside the values in `conf/evaluation/`."""

    protocol: str
    """Name that travels with every score, e.g. "noop_starts"."""
    num_episodes: int
    """Whole games, each once, each with a seed of its own."""
    epsilon: float
    """Chance of a uniformly random action."""
    environment: EnvironmentConfig

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = [f"environment.{line}" for line in self.environment.mistakes()]
        if self.num_episodes < 1:
            found.append(f"num_episodes={self.num_episodes} must be at least 1")
        if not 0 <= self.epsilon <= 1:
            found.append(f"epsilon={self.epsilon} must lie in [0, 1]")
        return found
