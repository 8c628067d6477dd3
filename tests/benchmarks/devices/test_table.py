"""The tables of GPUs: one line for each size, and the document has those of the committed rows."""

from typing import Any

import pytest

from benchmarks.devices.table import DOCUMENT, ROWS, tables
from benchmarks.rows import read
from measuring.markdown import with_tables


def where(device: str, commit: str, cpu: str, gpu: str) -> dict[str, Any]:
    name = gpu if device == "cuda" else "processor"
    return {"device": device, "device_name": name, "commit": commit, "cpu": cpu, "num_cores": 16}


def step(
    device: str, dtype: str, gradient_ms: float, commit: str = "abcdefgh", cpu: str = "Xeon", gpu: str = "H200"
) -> dict[str, Any]:
    facts = {"benchmark": "devices_step", "experiment": "gorila", "batch_size": 32}
    return {**facts, **where(device, commit, cpu, gpu), "dtype": dtype, "gradient_ms": gradient_ms}


def run(device: str, rate: float, commit: str = "abcdefgh", cpu: str = "Xeon", gpu: str = "H200") -> dict[str, Any]:
    facts = {"benchmark": "devices_run", "experiment": "dba3c", "cluster": "threads", "num_playing": 4}
    return {**facts, **where(device, commit, cpu, gpu), "steps_per_second": rate}


def test_a_line_has_the_processor_beside_the_gpu() -> None:
    made = tables(
        [step("cpu", "float32", 20.04), step("cuda", "float32", 4.0), run("cpu", 1_000.0), run("cuda", 2_500)]
    )
    assert made["steps"].splitlines()[-1] == "| `gorila` | 32 | 20.0 |  | 4.0 |  | abcdefg |"
    assert made["runs"].splitlines()[-1] == "| `dba3c` | threads | 4 | 1,000 | 2,500 | 2.50 |  | abcdefg |"


def test_what_two_commits_measured_stands_in_two_lines() -> None:
    made = tables(
        [step("cpu", "float32", 20.0), run("cpu", 2_000.0, "b"), run("cuda", 3_000.0, "b"), run("cpu", 1.0, "a")]
    )
    assert made["runs"].splitlines()[2:] == [
        "| `dba3c` | threads | 4 | 2,000 | 3,000 | 1.50 |  | b |",
        "| `dba3c` | threads | 4 | 1 |  |  |  | a |",
    ]


def test_what_two_machines_measured_at_one_commit_stands_in_two_lines_that_name_them() -> None:
    of_xeon = [run("cpu", 1_000.0), run("cuda", 2_000.0)]
    of_epyc = [run("cpu", 3_000.0, cpu="EPYC"), run("cuda", 9_000.0, cpu="EPYC")]
    made = tables([step("cpu", "float32", 20.0), *of_xeon, *of_epyc])
    assert made["runs"].splitlines()[2:] == [
        "| `dba3c` | threads | 4 | 1,000 | 2,000 | 2.00 |  | Xeon, 16 cores, H200 | abcdefg |",
        "| `dba3c` | threads | 4 | 3,000 | 9,000 | 3.00 |  | EPYC, 16 cores, H200 | abcdefg |",
    ]
    assert "machine" not in made["steps"], "there is one"
    of_two_gpus = [step("cuda", "float32", 4.0), step("cuda", "float32", 8.0, gpu="L4")]
    made = tables([step("cpu", "float32", 20.0), *of_two_gpus, *of_xeon])
    assert made["steps"].splitlines()[2:] == [
        "| `gorila` | 32 | 20.0 |  | 4.0 |  | Xeon, 16 cores, H200 | abcdefg |",
        "| `gorila` | 32 | 20.0 |  | 8.0 |  | Xeon, 16 cores, L4 | abcdefg |",
    ]


def test_what_was_not_measured_stays_empty() -> None:
    made = tables([step("cpu", "float32", 20.0), run("cpu", 1_000.0), run("cpu", 3_000.0)])
    assert made["runs"].splitlines()[-1] == "| `dba3c` | threads | 4 | 2,000 |  |  |  | abcdefg |"
    with pytest.raises(ValueError, match="without rows"):
        tables([run("cpu", 1_000.0)])


def test_the_document_has_the_tables_of_the_rows() -> None:
    text = DOCUMENT.read_text()
    assert text == with_tables(text, tables(read(ROWS)))
