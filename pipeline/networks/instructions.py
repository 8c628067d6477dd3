"""Which instructions of its processor a process computes with, and what its environment keeps it from.

Not here: which dtype it computes in (`pipeline.networks.compute`), names of processors (`pipeline.cluster.hosts`).
"""

import os
from collections.abc import Mapping
from typing import Any

import torch

RESTRICTED = "avx2 (restricted)"
"""Of a processor that has more."""

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


def instructions(environment: Mapping[str, str] = os.environ) -> str:
    """As "avx512", with what the environment keeps torch from of what the processor here has.

    "avx2 (restricted)" with `ATEN_CPU_CAPABILITY` and `ONEDNN_MAX_CPU_ISA` at AVX2, "avx2 (partly restricted)" with the
    first alone, and with the second alone "avx512 (partly restricted: oneDNN avx2)".
    """
    aten, onednn = _limits(environment, torch.cpu.get_capabilities())
    if (aten, onednn) == ("avx2", "avx2"):
        return RESTRICTED
    found = aten or torch.backends.cpu.get_cpu_capability().lower()
    if onednn:
        return f"{found} (partly restricted: oneDNN {onednn})"
    return f"{found} (partly restricted)" if aten else found


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
