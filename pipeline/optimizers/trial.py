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
_RELATIVE, _ABSOLUTE = 1e-3, 1e-6
"""As near as slices must come to the whole: by rounding they differ less."""


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
    before = _first_params()
    after = _updated(whole, before, 0)
    if np.array_equal(after, before):
        return "leaves the parameters as they are: `apply` has to change them in place, as in params -= ..."
    if whole.num_updates != 1:
        return f"counts {whole.num_updates} updates after one: `apply` has to add 1 to num_updates"
    if not np.isfinite(_updated(whole, after, 1)).all():
        return "makes parameters that are no finite numbers: does it divide by 0?"
    return None


def _fault_of_slices(config: OptimizerConfig) -> str | None:
    whole, parts = config.make(_SIZE), (config.make(_CUT), config.make(_SIZE - _CUT))
    params = _first_params()
    for update in range(2):
        slices = [
            _updated(part, params[own], update, own)
            for part, own in zip(parts, (slice(_CUT), slice(_CUT, _SIZE)), strict=True)
        ]
        params = _updated(whole, params, update)
        if not np.allclose(np.concatenate(slices), params, _RELATIVE, _ABSOLUTE):
            return (
                "computes otherwise in two slices than in one: each element may depend on its own gradient and state "
                "alone, as the parameters lie on shards"
            )
    return None


def _fault_of_state(config: OptimizerConfig) -> str | None:
    first, later = config.make(_SIZE), config.make(_SIZE)
    params = _updated(first, _first_params(), 0)
    later.load_state(first.state())
    if np.array_equal(_updated(first, params, 1), _updated(later, params, 1)):
        return None
    return (
        "goes on otherwise after a resume: what it remembers between two updates has to lie in `_slots`, with names "
        "in SLOTS"
    )


def _updated(optimizer: FlatOptimizer, params: Float32Array, update: int, own: slice = slice(None)) -> Float32Array:
    """Copies of these parameters after an update by `own` of the trial's gradient."""
    after, gradient = params.copy(), _gradient(update)[own]
    gradient.flags.writeable = False
    optimizer.apply(after, gradient)
    return after


def _first_params() -> Float32Array:
    return np.linspace(-1, 1, _SIZE, dtype=np.float32)


def _gradient(update: int) -> Float32Array:
    """None of its elements is 0, nor like another one."""
    return np.linspace(0.5, 2, _SIZE, dtype=np.float32) * np.float32(-1 if update % 2 else 1)
