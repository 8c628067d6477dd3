"""What the parts of a bundle and its calls to shards cost, in seconds of a core, and these as a JSON file.

Not here: how they are measured (`studies.gorila_growth.part_costs`), the file itself (`studies.simulation.round_file`).
"""

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from measuring.processor import kind_of
from studies.simulation import round_file
from studies.simulation.costs import CallCost, Linear
from studies.simulation.round_file import call_cost, mean


class DirectCosts(NamedTuple):
    """Calls within one process: all on the caller's core, while the shard is locked."""

    push: Linear
    """With the update."""
    pull: Linear
    message: float
    """A pull of a version that is known, or a push that is dropped."""


class SliceBytes(NamedTuple):
    """What travels for a slice: so many bytes whatever its size, and so many for each of its parameters."""

    fixed: float
    per_param: float

    def of(self, num_params: int) -> float:
        """For a slice of this size."""
        return self.fixed + self.per_param * num_params


class WireCosts(NamedTuple):
    """Calls to a shard in another process."""

    push: CallCost
    """With the update, on the server's side."""
    pull: CallCost
    message: CallCost
    latency_seconds: float
    """One way."""
    push_bytes: SliceBytes
    pull_bytes: SliceBytes


class GorilaCosts(NamedTuple):
    """All that the simulation knows of processor and network."""

    play_seconds: tuple[float, ...]
    """A step of all lanes and the choice of its actions, as samples that are drawn from."""
    gradient_seconds: tuple[float, ...]
    """A minibatch, its loss, gradient and norm, as samples."""
    num_params: int
    direct: DirectCosts
    wire: WireCosts


class Measured(NamedTuple):
    """One round of measuring, with one wire."""

    costs: GorilaCosts
    full_speed: float
    """Of a core when all are busy, beside one that works alone; by chance above 1."""
    num_cores: int


def merged(rounds: Sequence[Measured]) -> Measured:
    """All samples of several rounds, and the means of all other numbers."""
    plain = [one._replace(costs=one.costs._replace(play_seconds=(), gradient_seconds=())) for one in rounds]
    means: Measured = mean(plain)
    costs = means.costs._replace(
        play_seconds=tuple(seconds for one in rounds for seconds in one.costs.play_seconds),
        gradient_seconds=tuple(seconds for one in rounds for seconds in one.costs.gradient_seconds),
        num_params=rounds[0].costs.num_params,
    )
    # Chance has to cancel before the bound: a core is no faster for being in company.
    return means._replace(costs=costs, full_speed=min(1.0, means.full_speed), num_cores=rounds[0].num_cores)


def at_one_speed(measured: Mapping[str, Measured]) -> dict[str, Measured]:
    """Costs of several wires as if the machine had been equally fast for each.

    A play is the same work whatever the wire: how long it took tells how fast the machine was then.
    """
    plays = {wire: statistics.fmean(one.costs.play_seconds) for wire, one in measured.items()}
    usual = statistics.fmean(plays.values()) if plays else 0.0
    return {wire: one._replace(costs=_stretched(one.costs, usual / plays[wire])) for wire, one in measured.items()}


def append(path: Path, wire: str, beside: str, processor: str, measured: Measured) -> None:
    """Add one round of a wire. `beside` says what else the machine had to do, `processor` its kind."""
    round_file.append(path, wire, measured, {"beside": beside, "processor": processor}, digits=6)


def load(path: Path, wire: str) -> list[Measured]:
    """The rounds of a wire; none where there is no file."""
    return [_measured(content) for content in round_file.rounds_of(path, wire)]


def measured_on(path: Path, wire: str) -> list[dict[str, Any]]:
    """Commit, processor, and what else the machine had to do, of each round."""
    return round_file.measured_on(path, wire)


def processors(path: Path) -> list[str]:
    """The kinds of processor that its rounds were measured on; more than one were put together by hand."""
    return list(dict.fromkeys(map(kind_of, round_file.measured_on(path))))


def _measured(content: dict[str, Any]) -> Measured:
    costs = content["costs"]
    direct, wire = costs["direct"], costs["wire"]
    return Measured(
        GorilaCosts(
            tuple(costs["play_seconds"]),
            tuple(costs["gradient_seconds"]),
            costs["num_params"],
            DirectCosts(Linear(**direct["push"]), Linear(**direct["pull"]), direct["message"]),
            WireCosts(
                push=call_cost(wire["push"]),
                pull=call_cost(wire["pull"]),
                message=call_cost(wire["message"]),
                latency_seconds=wire["latency_seconds"],
                push_bytes=SliceBytes(**wire["push_bytes"]),
                pull_bytes=SliceBytes(**wire["pull_bytes"]),
            ),
        ),
        content["full_speed"],
        content["num_cores"],
    )


def _stretched(costs: GorilaCosts, factor: float) -> GorilaCosts:
    def line(cost: Linear) -> Linear:
        return Linear(cost.fixed * factor, cost.per_param * factor)

    def call(cost: CallCost) -> CallCost:
        return CallCost(line(cost.caller), line(cost.server))

    direct, wire = costs.direct, costs.wire
    return costs._replace(
        play_seconds=tuple(factor * seconds for seconds in costs.play_seconds),
        gradient_seconds=tuple(factor * seconds for seconds in costs.gradient_seconds),
        direct=DirectCosts(line(direct.push), line(direct.pull), factor * direct.message),
        wire=wire._replace(
            push=call(wire.push),
            pull=call(wire.pull),
            message=call(wire.message),
            latency_seconds=factor * wire.latency_seconds,
        ),
    )
