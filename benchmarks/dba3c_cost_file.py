"""Measured costs as a JSON file, so that a simulation can be repeated without measuring: what it says is in seconds.

Not here: measuring them (`benchmarks.dba3c_costs`, `.dba3c_call_costs`).
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import provenance
from benchmarks.dba3c_call_costs import Calls
from benchmarks.dba3c_costs import Measured, Steps
from benchmarks.simulation.costs import ApplyCost, CallCost, Linear


def save(path: Path, measured: Mapping[str, Sequence[Measured]]) -> None:
    """Write the file: the rounds of each network, by its name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"networks": _named(measured), "measured_on": provenance()}, indent=1) + "\n")


def load(path: Path) -> dict[str, list[Measured]]:
    """Read what `save` wrote; nothing where there is no file."""
    if not path.exists():
        return {}
    networks = json.loads(path.read_text())["networks"]
    return {name: [_measured(content) for content in rounds] for name, rounds in networks.items()}


def _measured(content: dict[str, Any]) -> Measured:
    calls, steps = content["calls"], content["steps"]
    return Measured(
        content["num_cores"],
        Steps(tuple(steps["alone"]), tuple(steps["crowded"])),
        Calls(
            push=_call_cost(calls["push"]),
            pull=_call_cost(calls["pull"]),
            message=_call_cost(calls["message"]),
            apply=ApplyCost(**calls["apply"]),
            latency_seconds=calls["latency_seconds"],
        ),
    )


def _call_cost(content: dict[str, dict[str, float]]) -> CallCost:
    return CallCost(Linear(**content["caller"]), Linear(**content["server"]))


def _named(value: Any) -> Any:
    """NamedTuples as objects, which JSON would make lists."""
    if isinstance(value, list):
        return [_named(part) for part in value]
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {name: _named(part) for name, part in value.items()}
    return value
