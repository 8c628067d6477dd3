"""Benchmarks: each module is run with `python -m benchmarks.<name>` and prints one JSON line per figure group.

A figure is worth something only beside the machine and the commit it was measured on, so `report` adds them.
"""

import json
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch


def report(name: str, **figures: float | int | str) -> None:
    """Print one JSON line: the benchmark's name, its figures (unit in the key), commit, machine and versions."""
    line = {
        "benchmark": name,
        **figures,
        "commit": _commit(),
        "cpu": _cpu_model(),
        "num_cores": os.cpu_count(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
    }
    print(json.dumps(line), flush=True)


def median_seconds(call: Callable[[], object], num_calls: int, num_warmup_calls: int = 10) -> float:
    """Median wall time of `call()` over `num_calls`, after calls that are not counted."""
    for _ in range(num_warmup_calls):
        call()
    durations = []
    for _ in range(num_calls):
        start = time.perf_counter()
        call()
        durations.append(time.perf_counter() - start)
    return statistics.median(durations)


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    result = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    return result.stdout.strip() or "unknown"


def _cpu_model() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
