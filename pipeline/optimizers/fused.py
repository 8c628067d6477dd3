"""Optimizers that are torch's fused kernels, on slices of any length.

Not here: the formulas (`pipeline.optimizers.adagrad`, `.adam`).
"""

from abc import abstractmethod

import numpy as np
import torch
from torch.utils.dlpack import from_dlpack

from pipeline.optimizers.optimizer import VECTOR, FlatOptimizer, OptimizerConfig
from pipeline.types import Float32Array

Tensors = list[torch.Tensor]


class FusedOptimizer(FlatOptimizer):
    """An optimizer that is one of torch's fused kernels.

    Whole vectors, the body, are updated where they lie. The `size % 16` elements behind them, the end, go through
    buffers of one whole vector, so that the kernel never takes the scalar path that it has for a remainder.
    """

    def __init__(self, config: OptimizerConfig, size: int) -> None:
        super().__init__(config, size)
        self._body = size // VECTOR * VECTOR
        self._end_params = np.zeros(VECTOR, np.float32)
        self._end_gradient = np.zeros(VECTOR, np.float32)

    def apply(self, params: Float32Array, gradient: Float32Array) -> None:
        """See `FlatOptimizer`."""
        body, end = self._body, self._size - self._body
        self._end_params[:end] = params[body:]
        self._end_gradient[:end] = gradient[body:]
        self._call_kernel(
            _tensors(params[:body], self._end_params),
            _tensors(gradient[:body], self._end_gradient),
            [_tensors(slot[:body], slot[body : body + VECTOR]) for slot in self._slots.values()],
            # The kernel adds one to each of these. Only Adam's bias correction reads them, which float32 serves well.
            [torch.tensor(self.num_updates, dtype=torch.float32) for _ in range(2)],
        )
        params[body:] = self._end_params[:end]
        self.num_updates += 1

    @abstractmethod
    def _call_kernel(self, params: Tensors, gradients: Tensors, slots: list[Tensors], updates: Tensors) -> None:
        """Update body and end of `params` and of each slot."""


def _tensors(body: Float32Array, end: Float32Array) -> Tensors:
    # Not from_numpy, which warns of a read-only array: the gradient may be one, and the kernels only read it.
    return [from_dlpack(body), from_dlpack(end)]
