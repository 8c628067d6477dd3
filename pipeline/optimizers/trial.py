"""Whether an optimizer of anybody's can be one here: it is made and updates a little, before any work.

    apply           changes the parameters in place, and counts
    elements        depend on their own gradients alone: cut in two it computes the same
    state           is all in its slots: another one that takes it over goes on in the same way

Not here: what is asked of it (`pipeline.optimizers.optimizer`), ours, which their tests try.
"""

import numpy as np

from pipeline.errors import in_words
from pipeline.optimizers.optimizer import FlatOptimizer, OptimizerConfig
from pipeline.types import Float32Array

_SIZE, _CUT = 40, 23
"""Parameters, and how many of them the first of two slices has: neither is a multiple of a vector's length."""
_NUM_UPDATES = 8
"""So many: a rate may begin at nothing, and gradients may be gathered before they count."""
_NEAR = 1e-3
"""How near two slices come to the whole, as a share of the largest move: by rounding they differ less."""


def faults(config: OptimizerConfig) -> list[str]:
    """Why it cannot be an optimizer, the first reason alone, as the end of a line that begins with its kind.

    What its own code raises stands in the line.
    """
    try:
        whole = config.make(_SIZE)
    except Exception as error:  # whatever it raises
        return [f"cannot be made for {_SIZE} parameters: {in_words(error)}"]
    if not isinstance(whole, FlatOptimizer):
        return [f"makes a {type(whole).__name__}, and must make a pipeline.optimizers.optimizer.FlatOptimizer"]
    try:
        fault = _fault_of_updates(whole) or _fault_of_slices(config) or _fault_of_state(config)
    except Exception as error:  # whatever it raises
        fault = f"cannot update {_SIZE} parameters: {in_words(error)}"
    return [] if fault is None else [fault]


def _fault_of_updates(whole: FlatOptimizer) -> str | None:
    path = _path(whole)
    if not path.any():
        return "leaves the parameters as they are: `apply` has to change them in place, as in params -= ..."
    if whole.num_updates != _NUM_UPDATES:
        return f"counts {whole.num_updates} updates after {_NUM_UPDATES}: `apply` has to add 1 to num_updates"
    if not np.isfinite(path).all():
        return "makes parameters that are no finite numbers: does it divide by 0?"
    return None


def _fault_of_slices(config: OptimizerConfig) -> str | None:
    whole = _path(config.make(_SIZE))
    parts = _path(config.make(_CUT), slice(_CUT)), _path(config.make(_SIZE - _CUT), slice(_CUT, _SIZE))
    if np.abs(np.concatenate(parts, axis=1) - whole).max() <= _NEAR * np.abs(whole).max():
        return None
    return (
        "computes otherwise in two slices than in one: each element may depend on its own gradient and state alone, "
        "as the parameters lie on shards"
    )


def _fault_of_state(config: OptimizerConfig) -> str | None:
    first, later = config.make(_SIZE), config.make(_SIZE)
    _path(first)
    later.load_state(first.state())
    if np.array_equal(_path(first), _path(later)):
        return None
    return (
        "goes on otherwise after a resume: what it remembers between two updates has to lie in `_slots`, with names "
        "in SLOTS"
    )


def _path(optimizer: FlatOptimizer, own: slice = slice(None)) -> Float32Array:
    """Where parameters that begin at 0 are after each of the trial's updates (_NUM_UPDATES, size)."""
    # None is 0, nor like another one. From 0 on the smallest rate is not lost in rounding.
    gradient = np.linspace(0.5, 2, _SIZE, dtype=np.float32)[own]
    params, path = np.zeros_like(gradient), []
    for update in range(_NUM_UPDATES):
        given = gradient * np.float32(-1 if update % 3 == 1 else 1)
        given.flags.writeable = False
        optimizer.apply(params, given)
        path.append(params.copy())
    return np.stack(path)
