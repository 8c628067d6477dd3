"""Benchmarks: each module is run with `python -m benchmarks <name>` and prints one JSON line per group of figures.

A figure is worth something only beside the machine and the commit it was measured on, so `report` adds them. A ratio
is worth something only when both sides were measured in one run, turn and turn about, so that whatever else the machine
does hits both alike: `alternate`.
"""

import json
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch

from pipeline.types import Float32Array

Figure = float | int | str
_NOT_LOOKED_AT = (":(top,exclude)results", ":(top,exclude)docs/figures")


def report(name: str, **figures: Figure) -> None:
    """Print one JSON line: the benchmark's name, its figures (unit in the key), commit, machine and versions."""
    line = {
        "benchmark": name,
        **{key: float(f"{value:.4g}") if isinstance(value, float) else value for key, value in figures.items()},
        **provenance(),
    }
    print(json.dumps(line), flush=True)


def provenance() -> dict[str, Figure]:
    """What a figure was measured on: commit, machine and versions."""
    return {
        "commit": commit_of(Path(__file__).parent),
        "cpu": _cpu_model(),
        "num_cores": os.cpu_count() or 1,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
    }


def median_seconds(call: Callable[[], object], num_calls: int, num_warmup_calls: int = 10) -> float:
    """Median wall time of `call()` over `num_calls`, after calls that are not counted."""
    for _ in range(num_warmup_calls):
        call()
    return statistics.median(seconds(call) for _ in range(num_calls))


def seconds(call: Callable[[], object]) -> float:
    """Wall time of one `call()`."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def alternate(
    variants: Mapping[str, Callable[[], float]], num_rounds: int, num_warmup_rounds: int = 1
) -> dict[str, list[float]]:
    """What each variant measured in each round, A B A B ..., after rounds that are not counted."""
    measured: dict[str, list[float]] = {name: [] for name in variants}
    for round_ in range(num_warmup_rounds + num_rounds):
        for name, measure in variants.items():
            value = measure()
            if round_ >= num_warmup_rounds:
                measured[name].append(value)
    return measured


def median_ratio(numerators: Sequence[float], denominators: Sequence[float]) -> float:
    """Median over the rounds of the ratio within each round: slow drift of the machine cancels."""
    return statistics.median(_ratios(numerators, denominators))


def ratio_quartiles(numerators: Sequence[float], denominators: Sequence[float]) -> tuple[float, float]:
    """First and third quartile of what `median_ratio` is the median of: how far its rounds lie apart."""
    low, high = np.quantile(_ratios(numerators, denominators), [0.25, 0.75])
    return float(low), float(high)


def _ratios(numerators: Sequence[float], denominators: Sequence[float]) -> list[float]:
    return [a / b for a, b in zip(numerators, denominators, strict=True)]


class Copy:
    """A float32 vector that parameters are pulled into."""

    def __init__(self, num_params: int) -> None:
        self._flat = np.zeros(num_params, np.float32)

    def load_slice(self, start: int, values: Float32Array) -> None:
        """Copy one slice."""
        self._flat[start : start + len(values)] = values


def commit_of(folder: Path) -> str:
    """The commit checked out there, with "-dirty" where files differ from it.

    Not where only results and figures do: a long benchmark changes these itself.
    """
    changed = _git(folder, "status", "--porcelain", "--untracked-files=no", "--", ":/", *_NOT_LOOKED_AT)
    return (_git(folder, "describe", "--always", "--abbrev=12") or "unknown") + ("-dirty" if changed else "")


def _git(folder: Path, *words: str) -> str:
    result = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=False)
    return result.stdout.strip()


def _cpu_model() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
