"""AdaGrad."""

from dataclasses import dataclass
from functools import partial

from torch.optim.adagrad import adagrad

from pipeline.optimizers.fused import FusedOptimizer, Tensors
from pipeline.optimizers.optimizer import OptimizerConfig, not_positive


@dataclass(frozen=True)
class AdaGradConfig(OptimizerConfig):
    """AdaGrad (Duchi et al. 2011) as DistBelief uses it on a shard (Dean et al. 2012, section 4.1)."""

    KINDS = ("adagrad",)
    SLOTS = ("sum_of_squares",)

    epsilon: float
    """Added to the root of the sum of squares."""
    initial_accumulator: float
    """Sum of squares before the first gradient."""

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = super().mistakes() + not_positive("epsilon", self.epsilon)
        if self.initial_accumulator < 0:
            found.append(f"initial_accumulator={self.initial_accumulator} must be at least 0")
        return found

    def make(self, size: int) -> "AdaGrad":
        """A new optimizer for a slice of `size` parameters."""
        return AdaGrad(self, size)


class AdaGrad(FusedOptimizer):
    """sum += g^2; params -= learning_rate * g / (sqrt(sum) + epsilon).

    Departure: Dean et al. 2012 give the formula without epsilon; it keeps elements finite that never had a gradient.
    """

    def __init__(self, config: AdaGradConfig, size: int) -> None:
        super().__init__(config, size)
        self._slots["sum_of_squares"][:] = config.initial_accumulator
        self._kernel = partial(
            adagrad,
            fused=True,
            lr_decay=0.0,
            weight_decay=0.0,
            eps=config.epsilon,
            maximize=False,
        )

    def _call_kernel(self, params: Tensors, gradients: Tensors, slots: list[Tensors], updates: Tensors) -> None:
        self._kernel(params, gradients, slots[0], updates, lr=self.learning_rate)
