"""Optimizers on flat float32 slices: each element is updated from its own gradient and state alone.

Because of that a sharded server equals an unsharded one bit for bit, however the vector is cut. It takes care: a
compiled kernel may round the elements left over behind the last whole vector register differently, since it fuses a
product and a sum in one place and not in the other. AdaGrad and Adam are torch's fused kernels, never shown such a
remainder; RMSProp is elementary NumPy operations, each of which IEEE 754 rounds in one way only.

Not here: clipping that needs the whole gradient (the sender does it, `pipeline.roles.learner`); locks and versions
(`pipeline.param_server.shard`).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from torch.optim.adagrad import adagrad
from torch.optim.adam import adam
from torch.utils.dlpack import from_dlpack

from pipeline.errors import CheckpointError
from pipeline.schedules import Changes, changes_mistakes, value_at
from pipeline.types import Float32Array


@dataclass(frozen=True)
class OptimizerConfig:
    """Base of the optimizers' settings. Sources stand beside the values in `conf/optimizer/`."""

    kind: str
    """"adagrad", "rmsprop" or "adam"."""
    learning_rate: float
    learning_rate_changes: Changes
    """Later learning rates, ((update, rate), ...) in rising order: from that update on it is that rate."""

    SLOTS: ClassVar[tuple[str, ...]]
    """Names of the arrays that this optimizer keeps beside the parameters, each one as long as they are."""

    @property
    def num_slots(self) -> int:
        """Floats that it keeps per parameter."""
        return len(self.SLOTS)

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = []
        if self.learning_rate <= 0:
            found.append(f"learning_rate={self.learning_rate} must be positive")
        return found + changes_mistakes("learning_rate_changes", self.learning_rate_changes, at_least=0.0)


@dataclass(frozen=True)
class AdaGradConfig(OptimizerConfig):
    """AdaGrad (Duchi et al. 2011) as DistBelief uses it on a shard (Dean et al. 2012, section 4.1)."""

    epsilon: float
    """Added to the root of the sum of squares."""
    initial_accumulator: float
    """Sum of squares before the first gradient."""

    SLOTS = ("sum_of_squares",)

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = super().mistakes() + _not_positive("epsilon", self.epsilon)
        if self.initial_accumulator < 0:
            found.append(f"initial_accumulator={self.initial_accumulator} must be at least 0")
        return found


@dataclass(frozen=True)
class RMSPropConfig(OptimizerConfig):
    """Centred RMSProp as in Nature DQN (Mnih et al. 2015): epsilon stands inside the root."""

    decay: float
    """Decay of the running means of gradient and squared gradient."""
    epsilon: float
    """Added to the variance, inside the root."""

    SLOTS = ("mean", "mean_square")

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        return super().mistakes() + _not_positive("epsilon", self.epsilon) + _not_a_decay("decay", self.decay)


@dataclass(frozen=True)
class AdamConfig(OptimizerConfig):
    """Adam with bias correction (Kingma & Ba 2015)."""

    beta1: float
    beta2: float
    epsilon: float
    """Added to the root of the second moment, after bias correction."""

    SLOTS = ("mean", "mean_square")

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = super().mistakes() + _not_positive("epsilon", self.epsilon)
        return found + _not_a_decay("beta1", self.beta1) + _not_a_decay("beta2", self.beta2)


class OptimizerState(NamedTuple):
    """All that an optimizer must remember between two updates."""

    num_updates: int
    slots: dict[str, Float32Array]
    """One array of the slice's length for each name in the `SLOTS` of its settings."""


class FlatOptimizer(ABC):
    """An optimizer of one slice of `size` float32 parameters. Not safe to call from two threads at once."""

    num_updates: int
    """Gradients applied so far, those before a `load_state` included."""

    def __init__(self, config: OptimizerConfig, size: int) -> None:
        self.num_updates = 0
        self._size = size
        self._first_learning_rate = config.learning_rate
        self._learning_rate_changes = config.learning_rate_changes
        # Longer than the slice, so that its last elements can be worked on as a whole vector.
        self._slots = {name: np.zeros(size + _VECTOR, np.float32) for name in config.SLOTS}

    @property
    def learning_rate(self) -> float:
        """Of the next update."""
        return value_at(self._first_learning_rate, self._learning_rate_changes, self.num_updates)

    @abstractmethod
    def apply(self, params: Float32Array, gradient: Float32Array) -> None:
        """Update `params` (size,) in place. `gradient` (size,) may be read-only; nothing of it is kept."""

    def state(self) -> OptimizerState:
        """A copy of the state."""
        return OptimizerState(self.num_updates, {name: slot[: self._size].copy() for name, slot in self._slots.items()})

    def load_state(self, state: OptimizerState) -> None:
        """Continue from `state`, which is copied. Raises CheckpointError if it is of another optimizer or length."""
        given = {name: slot.shape for name, slot in state.slots.items()}
        wanted = dict.fromkeys(self._slots, (self._size,))
        if given != wanted:
            raise CheckpointError(
                f"the saved optimizer state holds {given}, this optimizer wants {wanted}: "
                "resume with the optimizer that the run was started with"
            )
        self.num_updates = state.num_updates
        for name, slot in state.slots.items():
            self._slots[name][: self._size] = slot


def make_optimizer(config: OptimizerConfig, size: int) -> FlatOptimizer:
    """A new optimizer for a slice of `size` parameters."""
    match config:
        case AdaGradConfig():
            return _AdaGrad(config, size)
        case RMSPropConfig():
            return _RMSProp(config, size)
        case AdamConfig():
            return _Adam(config, size)
    raise TypeError(f"no optimizer for {type(config).__name__}: use AdaGradConfig, RMSPropConfig or AdamConfig")


_VECTOR = 16
"""Floats in the widest vector register (AVX-512), and the unit in which torch's fused kernels share out work."""

_BLOCK = 32768
"""Floats of the blocks in which NumPy works: all five arrays of a block stay in the second-level cache."""

_Tensors = list[torch.Tensor]


class _Fused(FlatOptimizer):
    """An optimizer that is one of torch's fused kernels.

    Whole vectors, the body, are updated where they lie. The `size % 16` elements behind them, the end, go through
    buffers of one whole vector, so that the kernel never takes the scalar path that it has for a remainder.
    """

    def __init__(self, config: OptimizerConfig, size: int) -> None:
        super().__init__(config, size)
        self._body = size // _VECTOR * _VECTOR
        self._end_params = np.zeros(_VECTOR, np.float32)
        self._end_gradient = np.zeros(_VECTOR, np.float32)

    def apply(self, params: Float32Array, gradient: Float32Array) -> None:
        body, end = self._body, self._size - self._body
        self._end_params[:end] = params[body:]
        self._end_gradient[:end] = gradient[body:]
        self._call_kernel(
            _tensors(params[:body], self._end_params),
            _tensors(gradient[:body], self._end_gradient),
            [_tensors(slot[:body], slot[body : body + _VECTOR]) for slot in self._slots.values()],
            # The kernel adds one to each of these. Only Adam's bias correction reads them, which float32 serves well.
            [torch.tensor(float(self.num_updates)) for _ in range(2)],
        )
        params[body:] = self._end_params[:end]
        self.num_updates += 1

    @abstractmethod
    def _call_kernel(self, params: _Tensors, gradients: _Tensors, slots: list[_Tensors], updates: _Tensors) -> None:
        """Update body and end of `params` and of each slot."""


class _AdaGrad(_Fused):
    """sum += g^2; params -= learning_rate * g / (sqrt(sum) + epsilon)

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

    def _call_kernel(self, params: _Tensors, gradients: _Tensors, slots: list[_Tensors], updates: _Tensors) -> None:
        self._kernel(params, gradients, slots[0], updates, lr=self.learning_rate)


class _Adam(_Fused):
    """mean += (1 - beta1) (g - mean); mean_square += (1 - beta2) (g^2 - mean_square); t counts updates from 1:
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

    def _call_kernel(self, params: _Tensors, gradients: _Tensors, slots: list[_Tensors], updates: _Tensors) -> None:
        mean, mean_square = slots
        no_maxima: _Tensors = []
        self._kernel(params, gradients, mean, mean_square, no_maxima, updates, lr=self.learning_rate)


class _RMSProp(FlatOptimizer):
    """mean = decay * mean + (1 - decay) * g; mean_square = decay * mean_square + (1 - decay) * g^2;
    params -= learning_rate * g / sqrt(mean_square - mean^2 + epsilon)"""

    def __init__(self, config: RMSPropConfig, size: int) -> None:
        super().__init__(config, size)
        self._config = config
        self._scratch = np.empty(_BLOCK, np.float32)

    def apply(self, params: Float32Array, gradient: Float32Array) -> None:
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


def _tensors(body: Float32Array, end: Float32Array) -> _Tensors:
    # Not from_numpy, which warns of a read-only array: the gradient may be one, and the kernels only read it.
    return [from_dlpack(body), from_dlpack(end)]


def _not_positive(name: str, value: float) -> list[str]:
    return [] if value > 0 else [f"{name}={value} must be positive"]


def _not_a_decay(name: str, value: float) -> list[str]:
    return [] if 0 <= value < 1 else [f"{name}={value} must lie in [0, 1)"]
