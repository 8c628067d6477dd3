"""Measured costs of DBA3C's parts as a JSON file: what it says is in seconds.

Not here: measuring them (`studies.simulation.measured_costs`, `.call_costs`), the file itself (`.round_file`).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from studies.simulation import round_file
from studies.simulation.call_costs import Calls
from studies.simulation.costs import ApplyCost
from studies.simulation.measured_costs import Measured, Steps
from studies.simulation.round_file import call_cost


def append(path: Path, network: str, processor: str, measured: Measured) -> None:
    """Add one round of a network, with commit and machine; `processor`: the kind of that, as its runs compute."""
    round_file.append(path, network, measured, {"processor": processor})


def load(path: Path, network: str) -> list[Measured]:
    """The rounds of a network; none where there is no file."""
    return [_measured(content) for content in round_file.rounds_of(path, network)]


def measured_on(path: Path) -> list[dict[str, Any]]:
    """Of each round, of whatever network: commit, machine and kind of processor; none where there is no file."""
    return round_file.measured_on(path)


def _measured(content: Mapping[str, Any]) -> Measured:
    calls, steps = content["calls"], content["steps"]
    return Measured(
        content["num_cores"],
        Steps(tuple(steps["alone"]), tuple(steps["crowded"])),
        Calls(
            push=call_cost(calls["push"]),
            pull=call_cost(calls["pull"]),
            message=call_cost(calls["message"]),
            apply=ApplyCost(**calls["apply"]),
            latency_seconds=calls["latency_seconds"],
        ),
    )
