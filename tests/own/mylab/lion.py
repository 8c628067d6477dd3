"""Lion: steps of one size, in the direction of a mean of gradients (Chen et al. 2023)."""

from dataclasses import dataclass

import numpy as np

from pipeline.optimizers.optimizer import FlatOptimizer, OptimizerConfig, not_a_decay
from pipeline.types import Float32Array


@dataclass(frozen=True)
class LionConfig(OptimizerConfig):
    """Settings of Lion without weight decay."""

    SLOTS = ("mean",)

    beta1: float
    """How much of the step's direction is the mean of before."""
    beta2: float
    """Decay of that mean, per update."""

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        return super().mistakes() + not_a_decay("beta1", self.beta1) + not_a_decay("beta2", self.beta2)

    def make(self, size: int) -> "Lion":
        """A new optimizer for a slice of `size` parameters."""
        return Lion(self, size)


class Lion(FlatOptimizer):
    """params -= learning_rate * sign(beta1 mean + (1 - beta1) g); mean = beta2 mean + (1 - beta2) g"""

    def __init__(self, config: LionConfig, size: int) -> None:
        super().__init__(config, size)
        self._config = config

    def apply(self, params: Float32Array, gradient: Float32Array) -> None:
        """See `FlatOptimizer`."""
        mean, beta1, beta2 = self._slots["mean"][: params.size], np.float32(self._config.beta1), self._config.beta2
        params -= np.float32(self.learning_rate) * np.sign(beta1 * mean + (1 - beta1) * gradient)
        mean *= np.float32(beta2)
        mean += np.float32(1 - beta2) * gradient
        self.num_updates += 1
