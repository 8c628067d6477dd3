"""What `run.json` of a run folder says, read without trust.

Not here: who writes it (`pipeline.experiments.files.provenance`).
"""

import datetime
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pipeline.checked_files import LARGEST_COUNT, bytes_in, json_in
from pipeline.errors import RunFolderError

RUN = "run.json"
"""Name of the file inside a run folder."""

GENERATION = "generation"
"""The fact that says which generation of the run has begun last, in any of its starts."""


def _is_time(value: Any) -> bool:
    try:
        return datetime.datetime.fromisoformat(value).tzinfo is not None
    except (TypeError, ValueError):
        return False


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= LARGEST_COUNT


_FITS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "commit": (lambda value: value is None or isinstance(value, str), "a text or null"),
    "started_at": (_is_time, "a time with its zone"),
    "resumed_at": (lambda value: isinstance(value, list), "a list"),
    "hosts": (lambda value: isinstance(value, list) and all(isinstance(one, dict) for one in value), "a list"),
    GENERATION: (_is_count, "a whole number from 0 on"),
    "init_from": (lambda value: value is None or isinstance(value, dict), "an object or null"),
    "end_reason": (lambda value: value is None or isinstance(value, str), "a text or null"),
    "total_frames": (_is_count, "a whole number from 0 on"),
    "wall_seconds": (
        lambda value: type(value) in (int, float) and math.isfinite(value) and value >= 0,
        "a number from 0 on",
    ),
}
"""Facts that commands go by -> whether a value fits, and what does."""


def origin_of(facts: Mapping[str, Any]) -> str:
    """Whose parameters a run began with: "gorila/Pong/1 at update 12,000", or a path; "" for a fresh start."""
    origin = facts.get("init_from")
    if not isinstance(origin, Mapping):
        return ""
    run = [origin.get(name) for name in ("experiment", "game", "seed")]
    name = str(origin.get("path")) if None in run else "/".join(map(str, run))
    version = origin.get("version")
    return f"{name} at update {version:,}" if isinstance(version, int) else name


def facts_in(folder: Path) -> dict[str, Any]:
    """What the run's file says; empty where there is none. Raises RunFolderError if it cannot be read."""
    path = folder / RUN
    try:
        facts = json_in(bytes_in(path))
        for name, (fits, wanted) in _FITS.items():
            if name in facts and not fits(facts[name]):
                raise ValueError(f"{name} is not {wanted}")
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, OverflowError) as error:
        raise RunFolderError(f"{path} cannot be read: {error}; resume the run, or move the file away") from error
    return facts
