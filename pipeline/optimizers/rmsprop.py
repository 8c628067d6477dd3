"""Centred RMSProp; its settings are in `pipeline.optimizers.config`."""

import numpy as np

from pipeline.optimizers.optimizer import FlatOptimizer, OptimizerConfig
from pipeline.types import Float32Array

_BLOCK = 32768
"""Floats of the blocks in which NumPy works: all five arrays of a block stay in the second-level cache."""


class RMSProp(FlatOptimizer):
    """The gradient over its standard deviation.

    mean = decay * mean + (1 - decay) * g; mean_square = decay * mean_square + (1 - decay) * g^2;
    params -= learning_rate * g / sqrt(mean_square - mean^2 + epsilon)
    """

    def __init__(self, config: OptimizerConfig, size: int, *, decay: float, epsilon: float) -> None:
        super().__init__(config, size)
        self._decay, self._epsilon = decay, epsilon
        self._scratch = np.empty(_BLOCK, np.float32)

    def apply(self, params: Float32Array, gradient: Float32Array) -> None:
        """See `FlatOptimizer`."""
        mean, mean_square = self._slots["mean"], self._slots["mean_square"]
        for start in range(0, self._size, _BLOCK):
            block = slice(start, min(start + _BLOCK, self._size))
            self._apply_block(params[block], gradient[block], mean[block], mean_square[block])
        self.num_updates += 1

    def _apply_block(self, p: Float32Array, g: Float32Array, mean: Float32Array, mean_square: Float32Array) -> None:
        decay, epsilon = self._decay, self._epsilon
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
