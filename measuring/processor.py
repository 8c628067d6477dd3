"""Which kind of processor a figure is from, and how to have torch use less of it.

Not here: its name (`measuring.provenance`), what torch makes use of (`pipeline.networks.instructions`).
"""

import os
from collections.abc import Mapping
from typing import Any

import torch

from measuring.provenance import provenance
from pipeline.networks.compute import resolve_precision
from pipeline.networks.instructions import RESTRICTED, instructions

ORDINARY = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2"}
"""What keeps torch and its convolutions from instructions that ordinary processors do not have."""
KIND = ("processor", "cpu", "num_cores")
"""Columns of a measured row that tell of its processor."""


def processor(*, ordinary: bool, precision: str = "auto") -> str:
    """Instructions and precision, as "avx512, bfloat16"; `ordinary`: with the variables above, in float32."""
    used = instructions(os.environ | (ORDINARY if ordinary else {}))
    wanted = "float32" if ordinary or used == RESTRICTED else precision
    return f"{used}, {resolve_precision(wanted, torch.device('cpu'))}".replace("torch.", "")


def processor_here(precision: str = "auto") -> str:
    """The same of this process, which is restricted if its environment says so."""
    return processor(ordinary=False, precision=precision)


def kind_here(instructions: str) -> tuple[str, str, int]:
    """What those columns say here; `instructions` as `processor` has them."""
    facts = provenance()
    return instructions, str(facts["cpu"]), int(facts["num_cores"])


def named_here(instructions: str) -> str:
    """The kind of processor here, as `kind_of` calls it."""
    return kind_of(dict(zip(KIND, kind_here(instructions), strict=True)))


def kind_of(row: Mapping[Any, Any]) -> str:
    """Of a measured row, as "avx2, float32, AMD EPYC, 2 cores": two models of one class, or 2 cores and 8, are two."""
    return f"{row['processor']}, {row['cpu']}, {row['num_cores']} cores"
