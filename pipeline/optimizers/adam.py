"""Adam; its settings are in `pipeline.optimizers.config`."""

from functools import partial

from torch.optim.adam import adam

from pipeline.optimizers.fused import FusedOptimizer, Tensors
from pipeline.optimizers.optimizer import OptimizerConfig


class Adam(FusedOptimizer):
    """Moments with bias correction.

    mean += (1 - beta1) (g - mean); mean_square += (1 - beta2) (g^2 - mean_square); t counts updates from 1:
    params -= learning_rate * (mean / (1 - beta1^t)) / (sqrt(mean_square / (1 - beta2^t)) + epsilon)

    Departure from TensorFlow 1, in which DBA3C was made: it adds epsilon to the root before that is corrected by t.
    """

    def __init__(self, config: OptimizerConfig, size: int, *, beta1: float, beta2: float, epsilon: float) -> None:
        super().__init__(config, size)
        self._kernel = partial(
            adam,
            fused=True,
            amsgrad=False,
            beta1=beta1,
            beta2=beta2,
            weight_decay=0.0,
            eps=epsilon,
            maximize=False,
        )

    def _call_kernel(self, params: Tensors, gradients: Tensors, slots: list[Tensors], updates: Tensors) -> None:
        mean, mean_square = slots
        no_maxima: Tensors = []
        self._kernel(params, gradients, mean, mean_square, no_maxima, updates, lr=self.learning_rate)
