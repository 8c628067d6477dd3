"""Measured costs as a JSON file, so that a simulation can be repeated without measuring: what it says is in seconds.

Not here: measuring them (`studies.simulation.measured_costs`, `.call_costs`).
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from measuring.processor import processor_here
from measuring.provenance import provenance
from pipeline.whole_file import whole_text
from studies.simulation.call_costs import Calls
from studies.simulation.costs import ApplyCost, CallCost, Linear
from studies.simulation.measured_costs import Measured, Steps


def append(path: Path, network: str, measured: Measured) -> None:
    """Add one round of a network, with the commit, machine and kind of processor that it was measured on."""
    path.parent.mkdir(parents=True, exist_ok=True)
    networks = _read(path)
    facts = {"processor": processor_here(), **provenance()}
    networks.setdefault(network, []).append(_named(measured) | {"measured_on": facts})
    whole_text(path, json.dumps(networks, indent=1) + "\n")


def load(path: Path, network: str) -> list[Measured]:
    """The rounds of a network; none where there is no file."""
    return [_measured(content) for content in _read(path).get(network, [])]


def measured_on(path: Path) -> list[Mapping[str, Any]]:
    """Of each round, of whatever network: commit, machine and kind of processor; none where there is no file."""
    return [content["measured_on"] for of_network in _read(path).values() for content in of_network]


def _read(path: Path) -> dict[str, list[dict[str, Any]]]:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


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
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {name: _named(part) for name, part in value.items()}
    return value
