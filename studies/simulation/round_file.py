"""Rounds of measuring as a JSON file, so that a simulation can be repeated without measuring: a list for each name.

Each round has beside it what it was measured on. Costs are NamedTuples within NamedTuples: objects in the file.
Not here: which costs these are (`studies.simulation.cost_file`, `studies.gorila_growth.costs`).
"""

import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from measuring.provenance import provenance
from pipeline.whole_file import whole_text
from studies.simulation.costs import CallCost, Linear

_MEASURED_ON = "measured_on"


def append(path: Path, name: str, measured: Any, facts: Mapping[str, str], digits: int | None = None) -> None:
    """Add a round, with these facts and the commit and machine that it was measured on; samples to so many digits."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rounds = _read(path)
    rounds.setdefault(name, []).append(_named(measured, digits) | {_MEASURED_ON: {**facts, **provenance()}})
    whole_text(path, json.dumps(rounds, indent=1) + "\n")


def rounds_of(path: Path, name: str) -> list[dict[str, Any]]:
    """The rounds of a name; none where there is no file."""
    return _read(path).get(name, [])


def measured_on(path: Path, name: str | None = None) -> list[dict[str, Any]]:
    """What each round was measured on, of a name or of all; none where there is no file."""
    rounds = _read(path)
    lists = rounds.values() if name is None else [rounds.get(name, [])]
    return [content[_MEASURED_ON] for of_name in lists for content in of_name]


def call_cost(content: Mapping[str, Mapping[str, float]]) -> CallCost:
    """As it was before it was written."""
    return CallCost(Linear(**content["caller"]), Linear(**content["server"]))


def mean(values: Sequence[Any]) -> Any:
    """Of numbers, or of each number within tuples."""
    if isinstance(values[0], tuple):
        return type(values[0])(*map(mean, zip(*values, strict=True))) if values[0] else ()
    return statistics.fmean(values)


def _read(path: Path) -> dict[str, list[dict[str, Any]]]:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def _named(value: Any, digits: int | None) -> Any:
    """NamedTuples as objects, which JSON would make lists."""
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {name: _named(part, digits) for name, part in value.items()}
    if isinstance(value, tuple) and digits is not None:
        return [round(part, digits) for part in value]
    return value
