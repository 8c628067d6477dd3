"""Which device, dtype and how many threads a role computes with: "auto" settings made concrete on the host that asks.

Departure: the papers computed in float32; half precision changes the networks' arithmetic only, never the master
parameters, targets or losses.
Not here: how threads are shared out among roles (`pipeline.cluster.placement`).
"""

import contextlib
import os
import threading
from collections.abc import Iterator

import torch

from pipeline.errors import ConfigError

_WITHOUT_BFLOAT16 = {"SSE41", "AVX", "AVX2", "AVX2_VNNI", "AVX2_VNNI_2", "AVX512_CORE", "AVX512_CORE_VNNI"}
"""What oneDNN, which multiplies bfloat16, may be kept to by name and is then slower at it than at float32."""


def resolve_device(device: str) -> torch.device:
    """ "auto" is CUDA where a GPU is present, else the CPU. Raises ConfigError for "cuda" without one."""
    if device == "cuda" and not torch.cuda.is_available():
        raise ConfigError(["device=cuda: this host has no CUDA device; use device=auto or device=cpu"])
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(device)


def resolve_precision(precision: str, device: torch.device) -> torch.dtype:
    """ "auto" is bfloat16 where the processor multiplies it faster than float32, else float32.

    "float32" holds for this process, as in `keep_whole`.
    """
    if precision == "float32":
        keep_whole(torch.float32, device)
    if precision == "auto":
        return torch.bfloat16 if _has_fast_bfloat16(device) else torch.float32
    return {"float32": torch.float32, "bfloat16": torch.bfloat16}[precision]


def keep_whole(dtype: torch.dtype, device: torch.device) -> None:
    """Switch off, for this process, the shorter products that a GPU's convolutions take by default for float32."""
    if dtype == torch.float32 and device.type == "cuda":
        # Else they drop 13 of the 23 bits behind the point (TF32), which nobody has asked for.
        torch.backends.cudnn.allow_tf32 = False


def set_compute_threads(num_threads: int) -> None:
    """Give the calling thread's torch operations this many threads."""
    # Without a first read, a value set in a fresh thread is lost when another thread sets its own later.
    torch.get_num_threads()
    torch.set_num_threads(num_threads)


class _Callers:
    """The number of threads that a library's caller had, while roles in this process set their own."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.num_inside = 0
        self.num_threads = 0


_CALLERS = _Callers()


@contextlib.contextmanager
def callers_threads_kept() -> Iterator[None]:
    """What is set meanwhile is undone when the last of those who are here together leaves.

    torch gives the number that was set last to every thread that computes for the first time.
    """
    with _CALLERS.lock:
        if _CALLERS.num_inside == 0:
            _CALLERS.num_threads = torch.get_num_threads()
        _CALLERS.num_inside += 1
    try:
        yield
    finally:
        with _CALLERS.lock:
            _CALLERS.num_inside -= 1
            if _CALLERS.num_inside == 0:
                torch.set_num_threads(_CALLERS.num_threads)


def _has_fast_bfloat16(device: torch.device) -> bool:
    if device.type == "cuda":
        # Older GPUs emulate it, slower than float32.
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if _onednn_limit() in _WITHOUT_BFLOAT16:
        return False
    capabilities = torch.cpu.get_capabilities()
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))


def _onednn_limit() -> str:
    """The instructions that somebody keeps oneDNN to, whatever the processor has; "" for all."""
    return os.environ.get("ONEDNN_MAX_CPU_ISA", os.environ.get("DNNL_MAX_CPU_ISA", "")).upper()
