"""Optimizers on flat float32 slices: each element is updated from its own gradient and state alone.

Because of that a sharded server equals an unsharded one bit for bit, however the vector is cut. It takes care: a
compiled kernel may round the elements left over behind the last whole vector register differently, since it fuses a
product and a sum in one place and not in the other. AdaGrad and Adam are torch's fused kernels, never shown such a
remainder (`pipeline.optimizers.fused`); RMSProp is elementary NumPy operations, each of which IEEE 754 rounds in one
way only.

Not here: the optimizers (`pipeline.optimizers.adagrad`, `.adam`, `.rmsprop`), their settings (`.config`); clipping that
needs the whole gradient (the sender does it, `pipeline.roles.learner`); locks and versions
(`pipeline.param_server.shard`).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from pipeline.errors import CheckpointError
from pipeline.kinds import Kinds
from pipeline.schedules import Changes, changes_mistakes, value_at
from pipeline.types import Float32Array


@dataclass(frozen=True)
class OptimizerConfig(ABC):
    """Base of the optimizers' settings. Sources stand beside the values in `conf/optimizer/`."""

    KINDS: ClassVar[tuple[str, ...]] = ()
    """What `kind` may be for this class, besides where it is."""

    kind: str
    """One of `OPTIMIZERS`, or a class of one's own: "my_package.lion.LionConfig"."""
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

    @abstractmethod
    def make(self, size: int) -> "FlatOptimizer":
        """A new optimizer for a slice of `size` parameters."""


OPTIMIZERS: Kinds[OptimizerConfig] = Kinds(OptimizerConfig, "pipeline.optimizers.config")  # type: ignore[type-abstract]  # it makes none
"""Settings of optimizers, by kind."""


class OptimizerState(NamedTuple):
    """All that an optimizer must remember between two updates."""

    num_updates: int
    slots: dict[str, Float32Array]
    """One array of the slice's length for each name in the `SLOTS` of its settings."""


VECTOR = 16
"""Floats in the widest vector register (AVX-512), and the unit in which torch's fused kernels share out work."""


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
        self._slots = {name: np.zeros(size + VECTOR, np.float32) for name in config.SLOTS}

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


def not_positive(name: str, value: float) -> list[str]:
    """The mistake of a setting that is not positive."""
    return [] if value > 0 else [f"{name}={value} must be positive"]


def not_a_decay(name: str, value: float) -> list[str]:
    """The mistake of a setting that is no decay."""
    return [] if 0 <= value < 1 else [f"{name}={value} must lie in [0, 1)"]
