"""Settings of the optimizers, each of which makes its optimizer.

Not here: what they have in common (`pipeline.optimizers.optimizer`), the optimizers (`pipeline.optimizers.adagrad`,
`.adam`, `.rmsprop`).
"""

from dataclasses import dataclass

from pipeline.optimizers.optimizer import FlatOptimizer, OptimizerConfig, not_a_decay, not_positive
from pipeline.optimizers.rmsprop import RMSProp


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

    def make(self, size: int) -> FlatOptimizer:
        """A new optimizer for a slice of `size` parameters."""
        from pipeline.optimizers.adagrad import AdaGrad  # torch: read settings need none

        return AdaGrad(self, size, epsilon=self.epsilon, initial_accumulator=self.initial_accumulator)


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

    def make(self, size: int) -> FlatOptimizer:
        """A new optimizer for a slice of `size` parameters."""
        from pipeline.optimizers.adam import Adam  # torch: read settings need none

        return Adam(self, size, beta1=self.beta1, beta2=self.beta2, epsilon=self.epsilon)


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

    def make(self, size: int) -> FlatOptimizer:
        """A new optimizer for a slice of `size` parameters."""
        return RMSProp(self, size, decay=self.decay, epsilon=self.epsilon)
