"""A Python of its own for each library: `.venv-peers/<name>`, made when it is first needed, with exact versions.

What does not install is no error of the benchmark: `NotInstalled` says why.
Not here: the Python that we run with (`make setup`).
"""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

TORCH = "torch==2.13.0"
"""As ours."""

PACKAGES: Mapping[str, tuple[str, ...]] = {
    "sb3": (
        TORCH,
        "stable-baselines3==2.9.2",
        "gymnasium==1.4.0",
        "ale-py==0.12.1",
        "opencv-python-headless==5.0.0.93",
    ),
    # What its script runs with today: its own lock file wants a Python below 3.11 and torch 2.4.
    "cleanrl": (
        TORCH,
        "gymnasium==0.29.1",
        "ale-py==0.10.1",
        "numpy==1.26.4",
        "opencv-python-headless==4.11.0.86",
        "tensorboard==2.21.0",
        "tyro==1.0.17",
    ),
    "rllib": (TORCH, "ray[rllib]==2.60.0", "gymnasium==1.2.2", "ale-py==0.12.1", "opencv-python-headless==5.0.0.93"),
}
_READY = "installed.txt"
"""In the folder of an environment: the packages that it was made of, written when all are there."""
_INSTALL_SECONDS = 1800.0


class NotInstalled(Exception):
    """A library cannot be had here; the message says why."""


def python_of(name: str, folder: Path) -> Path:
    """The Python that has the library, which is installed now if it is not there. Raises NotInstalled."""
    home = folder / name
    ready = home / _READY
    if not is_ready(name, folder):
        print(f"Installing {', '.join(PACKAGES[name])} into {home} (minutes)", file=sys.stderr, flush=True)
        _run(sys.executable, "-m", "venv", "--clear", str(home))
        _run(str(_python(home)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES[name])
        ready.write_text("\n".join(PACKAGES[name]) + "\n", encoding="utf-8")
    return _python(home)


def is_ready(name: str, folder: Path) -> bool:
    """Whether the library is installed with the versions of today."""
    ready = folder / name / _READY
    return ready.exists() and ready.read_text(encoding="utf-8").split() == list(PACKAGES[name])


def _python(home: Path) -> Path:
    # Not resolved: a Python finds its packages by the place that it is called by.
    return home.absolute() / "bin" / "python"


def _run(*words: str) -> None:
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=_INSTALL_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotInstalled(str(error)) from error
    if done.returncode != 0:
        written = (done.stderr or done.stdout).strip().splitlines() or [f"exit status {done.returncode}"]
        reasons = [line for line in written if line.startswith("ERROR")] or written
        raise NotInstalled(reasons[-1].strip()[:200])
