"""An optimizer of anybody's is tried before any work: what goes wrong with one's own is told in a sentence."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from pipeline.optimizers.optimizer import FlatOptimizer, OptimizerConfig
from pipeline.optimizers.trial import faults
from pipeline.types import Float32Array
from tests.config.runs import mistakes_in
from tests.conftest import OWN
from tests.optimizers.test_optimizer import CONFIGS

Step = Callable[[FlatOptimizer, Float32Array, Float32Array], object]


@dataclass(frozen=True)
class ToyConfig(OptimizerConfig):
    """Makes whatever it is told to."""

    SLOTS = ("mean",)

    made: Callable[[OptimizerConfig, int], Any]

    def make(self, size: int) -> FlatOptimizer:
        """Of the type that is asked for, or not."""
        made: FlatOptimizer = self.made(self, size)
        return made


def toy(step: Step) -> ToyConfig:
    """An optimizer that does this and counts."""

    class Toy(FlatOptimizer):
        def apply(self, params: Float32Array, gradient: Float32Array) -> None:
            step(self, params, gradient)
            self.num_updates += 1

    return ToyConfig("toy", 0.5, (), Toy)


def descend(optimizer: FlatOptimizer, params: Float32Array, gradient: Float32Array) -> None:
    params -= np.float32(optimizer.learning_rate) * gradient


def rebound(_: FlatOptimizer, params: Float32Array, gradient: Float32Array) -> None:
    params = params - gradient


def uncounted(optimizer: FlatOptimizer, params: Float32Array, gradient: Float32Array) -> None:
    params -= gradient
    optimizer.num_updates -= 1


def by_its_norm(_: FlatOptimizer, params: Float32Array, gradient: Float32Array) -> None:
    params -= np.float32(1e-7) * gradient / np.linalg.norm(gradient)


def less_its_mean(_: FlatOptimizer, params: Float32Array, gradient: Float32Array) -> None:
    params -= np.float32(1e-7) * (gradient - gradient.mean())


def with_a_memory_of_its_own(optimizer: FlatOptimizer, params: Float32Array, gradient: Float32Array) -> None:
    mean = 0.5 * getattr(optimizer, "mean", 0.0) + gradient
    optimizer.mean = mean  # type: ignore[attr-defined]
    params -= mean


def into_the_gradient(_: FlatOptimizer, params: Float32Array, gradient: Float32Array) -> None:
    gradient *= 0.5
    params -= gradient


def by_zero(_: FlatOptimizer, params: Float32Array, gradient: Float32Array) -> None:
    with np.errstate(all="ignore"):
        params /= 0 * gradient


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.kind)
def test_ours_and_a_right_one_have_no_faults(config: OptimizerConfig) -> None:
    assert faults(config) == faults(toy(descend)) == []


def warmed_up(optimizer: FlatOptimizer, params: Float32Array, gradient: Float32Array) -> None:
    params -= np.float32(1e-6 * optimizer.num_updates) * gradient


@pytest.mark.parametrize(
    "config",
    [
        replace(toy(descend), learning_rate_changes=((1, 0.0),)),
        replace(toy(descend), learning_rate=1e-12),
        toy(warmed_up),
    ],
)
def test_a_rate_that_falls_to_nothing_is_tiny_or_begins_at_nothing_is_no_fault(config: OptimizerConfig) -> None:
    assert faults(config) == []


@pytest.mark.parametrize(
    ("config", "told"),
    [
        (toy(rebound), "leaves the parameters as they are: `apply` has to change them in place, as in params -= ..."),
        (toy(uncounted), "counts 0 updates after 8: `apply` has to add 1 to num_updates"),
        (toy(by_zero), "makes parameters that are no finite numbers: does it divide by 0?"),
        (toy(by_its_norm), "computes otherwise in two slices than in one: each element may depend on its own gradient "
                           "and state alone, as the parameters lie on shards"),
        (toy(less_its_mean), "computes otherwise in two slices than in one: each element may depend on its own "
                             "gradient and state alone, as the parameters lie on shards"),
        (toy(with_a_memory_of_its_own), "goes on otherwise after a resume: what it remembers between two updates has "
                                        "to lie in `_slots`, with names in SLOTS"),
        (toy(into_the_gradient), "cannot update 40 parameters: ValueError: output array is read-only"),
        (ToyConfig("toy", 0.5, (), lambda config, size: [][size]), "cannot be made for 40 parameters: IndexError: list "
                                                                  "index out of range"),
        (ToyConfig("toy", 0.5, (), lambda config, size: size),
         "makes a int, and must make a pipeline.optimizers.optimizer.FlatOptimizer"),
    ],
)  # fmt: skip
def test_each_fault_is_told_with_what_is_wanted(config: OptimizerConfig, told: str) -> None:
    assert faults(config) == [told]


def test_ones_own_is_tried_with_the_other_mistakes(own_package: None, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["experiment=mine", "game=Pong", "optimizer.learning_rate=1e-3"]
    assert mistakes_in(words, config_dir=OWN / "conf") == []
    monkeypatch.setattr(import_module("mylab.lion").Lion, "apply", rebound)
    (line,) = mistakes_in(words, config_dir=OWN / "conf")
    assert line.startswith("optimizer.kind=mylab.lion.LionConfig") and "leaves the parameters as they are" in line
