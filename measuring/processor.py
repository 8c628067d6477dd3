"""Which kind of processor a figure is from: what torch makes use of, and how to have it use less.

Not here: its name (`measuring.provenance`).
"""

import os
from collections.abc import Mapping
from typing import Any

import torch

from pipeline.networks.compute import resolve_precision

ORDINARY = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2"}
"""What keeps torch and its convolutions from instructions that ordinary processors do not have."""


def processor(*, ordinary: bool, precision: str = "auto") -> str:
    """Instructions and precision, as "avx512, bfloat16"; `ordinary`: with the variables above, in float32."""
    if ordinary:
        return "avx2 (restricted), float32"
    dtype = str(resolve_precision(precision, torch.device("cpu"))).removeprefix("torch.")
    return f"{torch.backends.cpu.get_cpu_capability().lower()}, {dtype}"


def processor_here(precision: str = "auto") -> str:
    """The same of this process, which is restricted if its environment says so."""
    return processor(ordinary=ORDINARY.items() <= dict(os.environ).items(), precision=precision)


def kind_of(row: Mapping[Any, Any]) -> str:
    """Of a measured row, as "avx2, float32, AMD EPYC": two models of one class are two kinds."""
    return f"{row['processor']}, {row['cpu']}"
