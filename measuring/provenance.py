"""What a figure was measured on, and figures as JSON lines: a figure is worth something only beside the two.

Not here: rows of CSV files (`studies.row_file`).
"""

import functools
import json
import os
import platform
import subprocess
from pathlib import Path

import numpy as np
import torch

Figure = float | int | str
_NOT_LOOKED_AT = (":(top,exclude)results", ":(top,exclude)docs/figures")


def report(name: str, **figures: Figure) -> None:
    """Print one JSON line: what was measured, its figures (unit in the key), commit, machine and versions."""
    print(as_line(name, **figures), flush=True)


def as_line(name: str, **figures: Figure) -> str:
    """That line, without its end."""
    line = {
        "benchmark": name,
        **{key: float(f"{value:.4g}") if isinstance(value, float) else value for key, value in figures.items()},
        **provenance(),
    }
    return json.dumps(line)


def provenance() -> dict[str, Figure]:
    """What a figure was measured on: commit, machine and versions."""
    return {
        "commit": _commit_of_this_code(),
        "cpu": _cpu_model(),
        "num_cores": os.cpu_count() or 1,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
    }


def commit_of(folder: Path) -> str:
    """The commit checked out there, with "-dirty" where files differ from it.

    Not where only results and figures do: a long study changes these itself.
    """
    changed = _git(folder, "status", "--porcelain", "--untracked-files=no", "--", ":/", *_NOT_LOOKED_AT)
    commit = _git(folder, "rev-parse", "--verify", "--quiet", "--short=12", "HEAD")
    return (commit or "unknown") + ("-dirty" if changed else "")


@functools.cache
def _commit_of_this_code() -> str:
    """As it was when a figure was first asked for: what was committed since is not what runs."""
    return commit_of(Path(__file__).parent)


def _git(folder: Path, *words: str) -> str:
    result = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=False)
    return result.stdout.strip()


def _cpu_model() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
