"""What a float32 vector looks like while it crosses a process border.

bfloat16 is the upper half of a float32, rounded to nearest, ties to even. It travels as uint16, for NumPy and Dask's
serialisation have no bfloat16. Not here: which dtype a run uses (`ParamServerConfig.wire_dtype`).
"""

import numpy as np
import torch
from torch.utils.dlpack import from_dlpack

from pipeline.types import Float32Array, WireArray


def encode(values: Float32Array, wire_dtype: str) -> WireArray:
    """`values` as they travel: the array itself for "float32", a new uint16 array for "bfloat16"."""
    match wire_dtype:
        case "float32":
            return values
        case "bfloat16":
            # from_dlpack takes read-only arrays without a warning; here and below they are only read.
            rounded: WireArray = from_dlpack(values).to(torch.bfloat16).view(torch.uint16).numpy()
            return rounded
    raise ValueError(f"wire_dtype={wire_dtype} must be float32 or bfloat16")


def decode(wire: WireArray) -> Float32Array:
    """The values that travelled: the array itself if it is float32, else a new one. Every bfloat16 is a float32."""
    if wire.dtype == np.float32:
        return wire  # type: ignore[return-value]
    if wire.dtype == np.uint16:
        values: Float32Array = from_dlpack(wire).view(torch.bfloat16).to(torch.float32).numpy()
        return values
    raise ValueError(f"got {wire.dtype} from the wire, it carries float32, or bfloat16 as uint16")
