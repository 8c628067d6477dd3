"""How far a job is: `report` hands it to the launcher, which shows it and publishes it as Dask structured events.

Messages on TOPIC, plain JSON types, told apart by "kind":

    {"sweep": id, "kind": "jobs",
     "jobs": [{"job": 0, "overrides": ["a=1"], "status": "done", "return_value": "7.5"}, ...]}
    {"sweep": id, "kind": "status", "job": 0, "status": "running", "attempt": 1, "host": "tcp://…", "reason": "",
     "return_value": ""}
    {"sweep": id, "kind": "progress", "job": 0, "fraction": 0.5, "rate": 7.0, "unit": "steps/s", "details": {...}}

"jobs" comes at each launch and names all jobs of the sweep so far, or comes with one that was added; "status" at each
change. What a job returned is JSON, as in the ledger.
Not here: showing it (`display`).
"""

import contextlib
import json
import math
import os
from collections.abc import Mapping

TOPIC = "dask-launcher"
"""Dask topic of the messages of all sweeps on a cluster."""

PIPE_VARIABLE = "DASK_LAUNCHER_PROGRESS"
"""Environment variable of a job's process: "its process id:file descriptor of a pipe that never blocks"."""


def report(fraction: float | None, rate: float | None, unit: str, details: Mapping[str, object]) -> None:
    """Tell how much of this job is done (0 to 1; None: unknown) and how fast it goes (`rate`, in `unit`).

    `details` are plain JSON types, a few kB; who watches the sweep makes of them what they like. Does nothing outside
    of a job. Never raises and never waits: a report that nobody takes in time is lost, and the next one tells more.
    """
    process, _, descriptor = os.environ.get(PIPE_VARIABLE, "").partition(":")
    # A child of the job inherits the variable, but the descriptor may be anything there.
    if process != str(os.getpid()):
        return
    with contextlib.suppress(OSError, TypeError, ValueError):
        told = {"fraction": _finite(fraction), "rate": _finite(rate), "unit": str(unit)}
        line = json.dumps(told | {"details": dict(details)})
        # The newline in front ends a line that a full pipe has cut short.
        os.write(int(descriptor), f"\n{line}\n".encode())


def _finite(value: float | None) -> float | None:
    """Of a number that is none, as 0 / 0 is in NumPy, nobody can make a bar or a sum."""
    return float(value) if value is not None and math.isfinite(value) else None
