"""What every function of tensors refuses: another dtype, or another number of axes than it is written for."""

import torch


def check_tensor(name: str, tensor: torch.Tensor, dtype: torch.dtype, num_axes: int) -> None:
    """Raises TypeError that names what was given and what is wanted.

    A (B, 1) beside a (B,) would broadcast to (B, B) without a word.
    """
    if tensor.dtype != dtype or tensor.ndim != num_axes:
        given = f"{tensor.dtype} of shape {tuple(tensor.shape)}"
        raise TypeError(f"{name} is {given}, it must be {dtype} with {num_axes} axes")
