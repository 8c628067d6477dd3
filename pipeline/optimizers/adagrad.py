"""AdaGrad; its settings are in `pipeline.optimizers.config`."""

from functools import partial

from torch.optim.adagrad import adagrad

from pipeline.optimizers.fused import FusedOptimizer, Tensors
from pipeline.optimizers.optimizer import OptimizerConfig


class AdaGrad(FusedOptimizer):
    """sum += g^2; params -= learning_rate * g / (sqrt(sum) + epsilon).

    Departure: Dean et al. 2012 give the formula without epsilon; it keeps elements finite that never had a gradient.
    """

    def __init__(self, config: OptimizerConfig, size: int, *, epsilon: float, initial_accumulator: float) -> None:
        super().__init__(config, size)
        self._slots["sum_of_squares"][:] = initial_accumulator
        self._kernel = partial(
            adagrad,
            fused=True,
            lr_decay=0.0,
            weight_decay=0.0,
            eps=epsilon,
            maximize=False,
        )

    def _call_kernel(self, params: Tensors, gradients: Tensors, slots: list[Tensors], updates: Tensors) -> None:
        self._kernel(params, gradients, slots[0], updates, lr=self.learning_rate)
