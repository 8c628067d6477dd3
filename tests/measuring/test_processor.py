"""Which kind of processor a figure is from."""

import pytest
import torch

from measuring.processor import ORDINARY, kind_of, processor, processor_here


def test_a_process_that_is_kept_to_avx2_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ORDINARY:
        monkeypatch.delenv(name, raising=False)
    whole = f"{torch.backends.cpu.get_cpu_capability().lower()}, float32"
    assert processor_here("float32") == processor(ordinary=False, precision="float32") == whole
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", "avx2")
    assert processor_here("float32") == whole, "convolutions may still use more"
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "AVX2")
    assert processor_here("bfloat16") == "avx2 (restricted), float32"


def test_two_models_of_a_class_are_two_kinds() -> None:
    row = {"processor": "avx512, bfloat16", "cpu": "AMD EPYC", "num_cores": 2, "commit": "1234567"}
    assert kind_of(row) == "avx512, bfloat16, AMD EPYC, 2 cores"
