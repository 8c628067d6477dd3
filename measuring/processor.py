"""Which kind of processor a figure is from: what torch makes use of, and how to have it use less.

Not here: its name (`measuring.provenance`).
"""

import os
from collections.abc import Mapping
from typing import Any

import torch

from measuring.provenance import provenance
from pipeline.networks.compute import resolve_precision

ORDINARY = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2"}
"""What keeps torch and its convolutions from instructions that ordinary processors do not have."""
KIND = ("processor", "cpu", "num_cores")
"""Columns of a measured row that tell of its processor."""

_ATEN = {"default": "avx2", "avx2": "avx512_vl"}
"""What torch's own operations may be kept to -> the least that they then do without. It heeds small letters alone."""
_ONEDNN = {
    "SSE41": ("avx2", "avx512_vl"),
    "AVX": ("avx2", "avx512_vl"),
    **dict.fromkeys(("AVX2", "AVX2_VNNI", "AVX2_VNNI_2"), ("avx512_vl",)),
    "AVX512_CORE": ("avx512_vnni", "avx512_bf16", "amx_tile"),
    "AVX512_CORE_VNNI": ("avx512_bf16", "amx_tile"),
    "AVX512_CORE_BF16": ("avx512_fp16", "amx_tile"),
    "AVX512_CORE_FP16": ("amx_tile",),
    "AVX512_CORE_AMX": ("amx_fp16",),
    **dict.fromkeys(("AVX512_CORE_AMX_FP16", "ALL", "DEFAULT"), ()),
}
"""The same of convolutions and products of matrices, which are oneDNN's."""


def processor(*, ordinary: bool, precision: str = "auto") -> str:
    """Instructions and precision, as "avx512, bfloat16"; `ordinary`: with the variables above, in float32.

    Where the environment keeps torch from what the processor has, that is said of the instructions:
    "avx2 (restricted)" with the two variables above, "avx2 (partly restricted)" with the first alone, and with the
    second alone "avx512 (partly restricted: oneDNN avx2)".
    """
    environment = os.environ | (ORDINARY if ordinary else {})
    aten, onednn = _limits(environment, torch.cpu.get_capabilities())
    if (aten, onednn) == ("avx2", "avx2"):
        return "avx2 (restricted), float32"
    instructions = aten or torch.backends.cpu.get_cpu_capability().lower()
    if onednn:
        instructions += f" (partly restricted: oneDNN {onednn})"
    elif aten:
        instructions += " (partly restricted)"
    dtype = str(resolve_precision("float32" if ordinary else precision, torch.device("cpu"))).removeprefix("torch.")
    return f"{instructions}, {dtype}"


def processor_here(precision: str = "auto") -> str:
    """The same of this process, which is restricted if its environment says so."""
    return processor(ordinary=False, precision=precision)


def _limits(environment: Mapping[str, str], has: Mapping[str, Any]) -> tuple[str, str]:
    """What torch and oneDNN are kept to of what the processor `has`; "": to nothing less than that."""
    aten = environment.get("ATEN_CPU_CAPABILITY", "")
    onednn = (environment.get("ONEDNN_MAX_CPU_ISA") or environment.get("DNNL_MAX_CPU_ISA") or "ALL").upper()
    # A name that is not known here may be a newer one, and no row with it is to pass for one without.
    above = _ONEDNN.get(onednn, ("avx512_vl",))
    return (
        aten if aten in _ATEN and has.get(_ATEN[aten]) else "",
        onednn.lower() if any(has.get(feature) for feature in above) else "",
    )


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
