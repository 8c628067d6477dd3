"""Adam."""

from dataclasses import dataclass
from functools import partial

from torch.optim.adam import adam

from pipeline.optimizers.fused import FusedOptimizer, Tensors
from pipeline.optimizers.optimizer import OptimizerConfig, not_a_decay, not_positive


@dataclass(frozen=True)
class AdamConfig(OptimizerConfig):
    """Adam with bias correction (Kingma & Ba 2015)."""

    KINDS = ("adam",)
    SLOTS = ("mean", "mean_square")

    beta1: float
    beta2: float
    epsilon: float
    """Added to the root of the second moment, after bias correction."""

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = super().mistakes() + not_positive("epsilon", self.epsilon)
        return found + not_a_decay("beta1", self.beta1) + not_a_decay("beta2", self.beta2)

    def make(self, size: int) -> "Adam":
        """A new optimizer for a slice of `size` parameters."""
        return Adam(self, size)


class Adam(FusedOptimizer):
    """Moments with bias correction.

    mean += (1 - beta1) (g - mean); mean_square += (1 - beta2) (g^2 - mean_square); t counts updates from 1:
    params -= learning_rate * (mean / (1 - beta1^t)) / (sqrt(mean_square / (1 - beta2^t)) + epsilon)

    Departure from TensorFlow 1, in which DBA3C was made: it adds epsilon to the root before that is corrected by t.
    """

    def __init__(self, config: AdamConfig, size: int) -> None:
        super().__init__(config, size)
        self._kernel = partial(
            adam,
            fused=True,
            amsgrad=False,
            beta1=config.beta1,
            beta2=config.beta2,
            weight_decay=0.0,
            eps=config.epsilon,
            maximize=False,
        )

    def _call_kernel(self, params: Tensors, gradients: Tensors, slots: list[Tensors], updates: Tensors) -> None:
        mean, mean_square = slots
        no_maxima: Tensors = []
        self._kernel(params, gradients, mean, mean_square, no_maxima, updates, lr=self.learning_rate)
