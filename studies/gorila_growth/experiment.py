"""One simulated experiment: a placement of bundles and shards, what their parts cost -> how fast, how stale.

The same settings, costs and seed give the same result to the last digit.
Not here: which experiments (`studies.gorila_growth.grid`), how a placement is made (`pipeline.cluster.placement`).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pipeline import seeding
from pipeline.cluster.placement import Placement
from pipeline.param_server.config import ParamServerConfig
from pipeline.param_server.layout import ParamLayout
from pipeline.topologies.kinds.bundled import bundle_name
from pipeline.topologies.system import shard_name
from studies.gorila_growth.bundles import Pace, SimulatedBundle, Totals
from studies.gorila_growth.costs import GorilaCosts
from studies.gorila_growth.servers import SimulatedHost, SimulatedShard
from studies.simulation.clock import Clock, Cores, OwnCore, SharedCores


@dataclass(frozen=True)
class Cluster:
    """Who stands where."""

    placement: Placement
    """Of bundles and shards, by their role names."""
    in_one_process: bool = False
    """All hosts are threads of one process, so that every call is direct."""
    full_speed: float = 1.0
    """Of a core when all of its machine are busy, beside one that works alone."""
    bytes_per_second: float = math.inf
    """Of each host's network, in each direction."""


class Outcome(NamedTuple):
    """What came of it, after the warm-up."""

    steps_per_second: float
    """Agent steps of all bundles, as many as gradients were due for: those of a play come all at once, at its end."""
    gradients_per_second: float
    updates_per_second: float
    """Versions of the slowest shard."""
    stale_share: float
    """Of the gradients: dropped by at least one shard for their age."""
    mean_staleness: float
    """Versions, over all receipts."""
    max_staleness: int
    """From the start on."""
    waited_share: float
    """Of the bundles' time: in calls to shards."""
    shard_share: float
    """Of the shards' time: at work, on average."""
    busiest_shard_share: float


class _Counts(NamedTuple):
    seconds: float
    num_gradients: int
    version: int
    num_stale: int
    num_receipts: int
    sum_staleness: int
    waited_seconds: float
    busy_seconds: tuple[float, ...]


def simulate(
    cluster: Cluster,
    costs: GorilaCosts,
    server: ParamServerConfig,
    pace: Pace,
    *,
    num_bundles: int,
    num_gradients: int,
    num_warmup_gradients: int,
    is_staggered: bool = True,
    seed: int = 0,
) -> Outcome:
    """Until the bundles have made so many gradients each, on average, behind those of the warm-up.

    `is_staggered`: bundles begin somewhere within the first turn of one that is alone, and not all at once.
    """
    clock = Clock()
    hosts = _hosts(clock, cluster)
    slices = ParamLayout(costs.num_params, server.num_shards).slices
    shards = [
        SimulatedShard(clock, hosts[shard_name(index)], costs, part.stop - part.start, server.max_staleness)
        for index, part in enumerate(slices)
    ]
    totals = Totals()
    due = pace.num_lanes / pace.steps_per_update
    turn_seconds = float(np.mean(costs.play_seconds) + due * np.mean(costs.gradient_seconds))
    for index in range(num_bundles):
        host = hosts[bundle_name(index)]
        bundle = SimulatedBundle(
            clock,
            host,
            shards,
            costs,
            server,
            pace,
            index,
            totals,
            _draw(costs.play_seconds, seeding.stream(seed, "play", index)),
            _draw(costs.gradient_seconds, seeding.stream(seed, "gradient", index)),
            is_direct=lambda shard, host=host: cluster.in_one_process or shard.host is host,  # type: ignore[misc]
            bytes_per_second=cluster.bytes_per_second,
        )
        late = seeding.stream(seed, "begin", index).random() * turn_seconds if is_staggered else 0.0
        clock.after(late, bundle.begin)
    clock.run_until(lambda: totals.num_gradients >= num_warmup_gradients * num_bundles)
    start = _count(clock, totals, shards)
    num_all = (num_warmup_gradients + num_gradients) * num_bundles
    clock.run_until(lambda: totals.num_gradients >= num_all)
    return _outcome(start, _count(clock, totals, shards), totals.max_staleness, num_bundles, pace.steps_per_update)


def _hosts(clock: Clock, cluster: Cluster) -> dict[str, SimulatedHost]:
    """Role -> its host. A role that is alone on its machine has a core for itself; others share its cores."""
    machines = [offer.machine for offer in cluster.placement.values()]
    cores: dict[str, Cores] = {}
    hosts: dict[str, SimulatedHost] = {}
    for offer in cluster.placement.values():
        if offer.machine not in cores:
            is_alone = machines.count(offer.machine) == 1
            shared = SharedCores(clock, offer.num_cores, cluster.full_speed)
            cores[offer.machine] = OwnCore(clock) if is_alone else shared
        if offer.address not in hosts:
            hosts[offer.address] = SimulatedHost(clock, cores[offer.machine], cluster.bytes_per_second)
    return {role: hosts[offer.address] for role, offer in cluster.placement.items()}


def _count(clock: Clock, totals: Totals, shards: list[SimulatedShard]) -> _Counts:
    return _Counts(
        clock.now,
        totals.num_gradients,
        min(shard.version for shard in shards),
        totals.num_stale,
        totals.num_receipts,
        totals.sum_staleness,
        totals.waited_seconds,
        tuple(shard.busy_seconds for shard in shards),
    )


def _outcome(start: _Counts, end: _Counts, max_staleness: int, num_bundles: int, steps_per_gradient: int) -> Outcome:
    seconds = end.seconds - start.seconds
    busy = [(after - before) / seconds for before, after in zip(start.busy_seconds, end.busy_seconds, strict=True)]
    num_gradients = end.num_gradients - start.num_gradients
    return Outcome(
        steps_per_second=steps_per_gradient * num_gradients / seconds,
        gradients_per_second=num_gradients / seconds,
        updates_per_second=(end.version - start.version) / seconds,
        stale_share=(end.num_stale - start.num_stale) / num_gradients,
        mean_staleness=(end.sum_staleness - start.sum_staleness) / max(end.num_receipts - start.num_receipts, 1),
        max_staleness=max_staleness,
        waited_share=(end.waited_seconds - start.waited_seconds) / (seconds * num_bundles),
        shard_share=float(np.mean(busy)),
        busiest_shard_share=max(busy),
    )


def _draw(samples: tuple[float, ...], rng: np.random.Generator) -> Callable[[], float]:
    return lambda: samples[int(rng.random() * len(samples))]
