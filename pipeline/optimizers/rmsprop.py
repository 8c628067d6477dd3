"""Centred RMSProp."""

from dataclasses import dataclass

import numpy as np

from pipeline.optimizers.optimizer import FlatOptimizer, OptimizerConfig, not_a_decay, not_positive
from pipeline.types import Float32Array

_BLOCK = 32768
"""Floats of the blocks in which NumPy works: all five arrays of a block stay in the second-level cache."""


@dataclass(frozen=True)
class RMSPropConfig(OptimizerConfig):
    """Centred RMSProp as in Nature DQN (Mnih et al. 2015): epsilon stands inside the root."""

    KINDS = ("rmsprop",)
    SLOTS = ("mean", "mean_square")

    decay: float
    """Decay of the running means of gradient and squared gradient."""
    epsilon: float
    """Added to the variance, inside the root."""

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        return super().mistakes() + not_positive("epsilon", self.epsilon) + not_a_decay("decay", self.decay)

    def make(self, size: int) -> "RMSProp":
        """A new optimizer for a slice of `size` parameters."""
        return RMSProp(self, size)


class RMSProp(FlatOptimizer):
    """The gradient over its standard deviation.

    mean = decay * mean + (1 - decay) * g; mean_square = decay * mean_square + (1 - decay) * g^2;
    params -= learning_rate * g / sqrt(mean_square - mean^2 + epsilon)
    """

    def __init__(self, config: RMSPropConfig, size: int) -> None:
        super().__init__(config, size)
        self._config = config
        self._scratch = np.empty(_BLOCK, np.float32)

    def apply(self, params: Float32Array, gradient: Float32Array) -> None:
        """See `FlatOptimizer`."""
        mean, mean_square = self._slots["mean"], self._slots["mean_square"]
        for start in range(0, self._size, _BLOCK):
            block = slice(start, min(start + _BLOCK, self._size))
            self._apply_block(params[block], gradient[block], mean[block], mean_square[block])
        self.num_updates += 1

    def _apply_block(self, p: Float32Array, g: Float32Array, mean: Float32Array, mean_square: Float32Array) -> None:
        decay, epsilon = self._config.decay, self._config.epsilon
        x = self._scratch[: p.size]
        np.multiply(g, 1 - decay, out=x)
        mean *= decay
        mean += x
        x *= g
        mean_square *= decay
        mean_square += x
        np.multiply(mean, mean, out=x)
        np.subtract(mean_square, x, out=x)
        x += epsilon
        # A large and constant gradient has next to no variance, and rounding can carry it below zero: no root of that.
        # Departure from Mnih et al. 2015, without effect where rounding does no harm.
        np.maximum(x, epsilon, out=x)
        np.sqrt(x, out=x)
        np.divide(g, x, out=x)
        x *= self.learning_rate
        p -= x
