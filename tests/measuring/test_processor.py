"""Which kind of processor a figure is from."""

from collections.abc import Callable, Mapping

import pytest
import torch

from measuring.processor import ORDINARY, kind_of, processor, processor_here

NAMES = (*ORDINARY, "DNNL_MAX_CPU_ISA")
AVX2, ZEN4 = {"avx2": True}, dict.fromkeys(("avx2", "avx512_vl", "avx512_vnni", "avx512_bf16"), True)
"""What torch knows of an ordinary processor and of an EPYC with bfloat16."""
Computer = Callable[[Mapping[str, bool], Mapping[str, str]], None]


@pytest.fixture
def computer(monkeypatch: pytest.MonkeyPatch) -> Computer:
    """Makes this process one on a processor that has these features, with these variables."""

    def make(has: Mapping[str, bool], variables: Mapping[str, str]) -> None:
        used = "AVX512" if has.get("avx512_vl") else "AVX2"
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: has)
        monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: used)
        for name in NAMES:
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    return make


def test_a_process_that_is_kept_to_avx2_says_so(computer: Computer) -> None:
    computer(ZEN4, {})
    assert processor_here("float32") == processor(ordinary=False, precision="float32") == "avx512, float32"
    assert processor(ordinary=True) == "avx2 (restricted), float32"
    computer(ZEN4, ORDINARY)
    assert processor_here("bfloat16") == "avx2 (restricted), float32"


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        # Convolutions may still use more.
        ({"ATEN_CPU_CAPABILITY": "avx2"}, "avx2 (partly restricted), bfloat16"),
        ({"ATEN_CPU_CAPABILITY": "default"}, "default (partly restricted), bfloat16"),
        ({"ONEDNN_MAX_CPU_ISA": "AVX2"}, "avx512 (partly restricted: oneDNN avx2), float32"),
        ({"DNNL_MAX_CPU_ISA": "avx2"}, "avx512 (partly restricted: oneDNN avx2), float32"),
        ({"ONEDNN_MAX_CPU_ISA": "AVX512_CORE"}, "avx512 (partly restricted: oneDNN avx512_core), float32"),
        ({"ONEDNN_MAX_CPU_ISA": "AVX99"}, "avx512 (partly restricted: oneDNN avx99), bfloat16"),
        (
            {"ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41"},
            "default (partly restricted: oneDNN sse41), float32",
        ),
        ({"ATEN_CPU_CAPABILITY": "avx2", "DNNL_MAX_CPU_ISA": "AVX2"}, "avx2 (restricted), float32"),
    ],
)
def test_each_variable_alone_restricts_a_part_and_is_named(
    computer: Computer, variables: dict[str, str], expected: str
) -> None:
    computer(ZEN4, variables)
    assert processor_here() == processor(ordinary=False) == expected


@pytest.mark.parametrize(
    "variables",
    [
        {"ATEN_CPU_CAPABILITY": "avx512"},
        {"ATEN_CPU_CAPABILITY": "AVX2"},  # torch warns, and takes no notice of it
        {"ONEDNN_MAX_CPU_ISA": "ALL"},
        {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_BF16", "DNNL_MAX_CPU_ISA": "AVX2"},  # the newer name counts
        {"DNNL_MAX_CPU_ISA": "avx512_core_amx"},
    ],
)
def test_who_is_kept_from_nothing_that_the_processor_has_is_not_restricted(
    computer: Computer, variables: dict[str, str]
) -> None:
    computer(ZEN4, variables)
    assert processor_here() == "avx512, bfloat16"


@pytest.mark.parametrize("variables", [ORDINARY, *({name: "avx2"} for name in NAMES)])
def test_a_processor_that_has_avx2_alone_is_not_restricted_to_it(computer: Computer, variables: dict[str, str]) -> None:
    computer(AVX2, variables)
    assert processor_here() == processor(ordinary=True) == "avx2, float32"
    computer(AVX2, {"DNNL_MAX_CPU_ISA": "SSE41"})
    assert processor_here() == "avx2 (partly restricted: oneDNN sse41), float32"


def test_two_models_of_a_class_are_two_kinds() -> None:
    row = {"processor": "avx512, bfloat16", "cpu": "AMD EPYC", "num_cores": 2, "commit": "1234567"}
    assert kind_of(row) == "avx512, bfloat16, AMD EPYC, 2 cores"
