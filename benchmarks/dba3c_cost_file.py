"""Measured costs as a JSON file, so that a simulation can be repeated without measuring: what it says is in seconds.

Not here: measuring them (`benchmarks.dba3c_costs`, `.dba3c_call_costs`).
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import provenance
from benchmarks.dba3c_call_costs import Calls
from benchmarks.dba3c_costs import Steps
from benchmarks.simulation.costs import ApplyCost, CallCost, Linear


class Measured(NamedTuple):
    """All costs of one machine."""

    num_cores: int
    """That the crowded steps were measured on."""
    calls: Calls
    steps: Mapping[str, Steps]
    """By network."""


def save(path: Path, measured: Measured) -> None:
    """Write the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(_named(measured) | {"measured_on": provenance()}, indent=1) + "\n")


def load(path: Path) -> Measured:
    """Read what `save` wrote."""
    content = json.loads(path.read_text())
    calls = content["calls"]
    return Measured(
        num_cores=content["num_cores"],
        calls=Calls(
            push=_call_cost(calls["push"]),
            pull=_call_cost(calls["pull"]),
            message=_call_cost(calls["message"]),
            apply=ApplyCost(**calls["apply"]),
            latency_seconds=calls["latency_seconds"],
        ),
        steps={
            network: Steps(tuple(samples["alone"]), tuple(samples["crowded"]))
            for network, samples in content["steps"].items()
        },
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
