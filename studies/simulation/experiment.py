"""One simulated experiment: so many workers around so many servers, for so many updates.

The same settings, costs and seed give the same result to the last digit.
Not here: which experiments (`studies.dba3c.simulation`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from pipeline import seeding
from pipeline.interfaces import ClosedUpdate, Commit, CommitAnswer
from pipeline.param_server.layout import ParamLayout
from pipeline.param_server.quorum import Quorum
from pipeline.param_server.quorum_size import QuorumRange
from pipeline.roles.rollout_worker import wait_seconds
from pipeline.roles.straggler import Stragglers, delay_of
from studies.simulation.clock import Clock, OwnCore, SharedCores
from studies.simulation.costs import Costs
from studies.simulation.servers import GENERATION, Leader, Server
from studies.simulation.workers import SimulatedWorker


@dataclass(frozen=True)
class Machine:
    """The one machine that everything runs on."""

    num_cores: int
    full_speed: float
    """Of a core when all are busy, beside one that works alone."""


@dataclass(frozen=True)
class Cluster:
    """Who takes part."""

    num_workers: int
    """N: gradients of an update, at least."""
    num_backup_workers: int
    """b"""
    num_servers: int
    """S"""
    stragglers: Stragglers = ()
    """Workers that are slow on purpose."""
    machine: Machine | None = None
    """None: each worker and each server has a machine of its own, of which it uses one core."""
    dynamic_quorum: bool = False
    """Each update waits for N to N + b gradients, whatever makes the most progress a second."""


class Outcome(NamedTuple):
    """What came of it. Averages leave the warm-up out."""

    seconds_per_update: float
    data_points_per_second: float
    """Agent steps that became part of an update."""
    late_share: float
    """Of the gradients: those that were not among the first N."""
    waited_share: float
    """Of the workers' time: waiting for the version that comes next."""
    server_share: float
    """Of the servers' time: busy, on average over the servers."""
    busiest_server_share: float
    updates: tuple[ClosedUpdate, ...]
    """All of them, from the first on."""
    commits: tuple[tuple[Commit, CommitAnswer], ...]
    """All that reached the leader, in that order, with what became of them."""


class _Counts(NamedTuple):
    """Where everything stands at one time."""

    seconds: float
    num_gradients: int
    num_late: int
    waited_seconds: float
    busy_seconds: tuple[float, ...]


def simulate(cluster: Cluster, costs: Costs, *, num_updates: int, num_warmup_updates: int, seed: int = 0) -> Outcome:
    """Run until `num_warmup_updates` + `num_updates` updates are closed."""
    clock = Clock()
    num_started = cluster.num_workers + cluster.num_backup_workers
    machine = cluster.machine
    shared = None if machine is None else SharedCores(clock, machine.num_cores, machine.full_speed)
    slices = ParamLayout(costs.num_params, cluster.num_servers).slices
    servers = [Server(clock, shared or OwnCore(clock), costs, part.stop - part.start) for part in slices]
    leader = Leader(clock, costs, servers, Quorum(_size(cluster), 0, GENERATION))
    workers = [
        SimulatedWorker(
            clock,
            shared or OwnCore(clock),
            costs,
            servers,
            leader,
            index,
            _draw(costs.step_seconds, seeding.stream(seed, "step", index)),
            _draw_delay(cluster.stragglers, index, seeding.stream(seed, "straggler", index)),
            wait_seconds(num_started),
        )
        for index in range(num_started)
    ]
    for worker in workers:
        worker.wait()
    clock.run_until(lambda: len(leader.updates) >= num_warmup_updates)
    start = _count(clock, workers, servers, leader)
    clock.run_until(lambda: len(leader.updates) >= num_warmup_updates + num_updates)
    end = _count(clock, workers, servers, leader)
    seconds = end.seconds - start.seconds
    num_used = sum(len(update.senders) for update in leader.updates[num_warmup_updates:][:num_updates])
    busy_shares = [(b - a) / seconds for a, b in zip(start.busy_seconds, end.busy_seconds, strict=True)]
    return Outcome(
        seconds_per_update=seconds / num_updates,
        data_points_per_second=num_used * costs.batch_size / seconds,
        late_share=(end.num_late - start.num_late) / (end.num_gradients - start.num_gradients),
        waited_share=(end.waited_seconds - start.waited_seconds) / (seconds * num_started),
        server_share=float(np.mean(busy_shares)),
        busiest_server_share=max(busy_shares),
        updates=tuple(leader.updates),
        commits=tuple(leader.commits),
    )


def _size(cluster: Cluster) -> int | QuorumRange:
    least = cluster.num_workers
    return QuorumRange(least, least + cluster.num_backup_workers) if cluster.dynamic_quorum else least


def _count(clock: Clock, workers: list[SimulatedWorker], servers: list[Server], leader: Leader) -> _Counts:
    num_late_commits = sum(bool(answer.reason) for _, answer in leader.commits)
    return _Counts(
        clock.now,
        sum(worker.num_gradients for worker in workers),
        num_late_commits,
        sum(worker.waited_seconds for worker in workers),
        tuple(server.busy_seconds for server in servers),
    )


def _draw(samples: tuple[float, ...], rng: np.random.Generator) -> Callable[[], float]:
    def draw() -> float:
        return samples[int(rng.integers(len(samples)))]

    return draw


def _draw_delay(stragglers: Stragglers, index: int, rng: np.random.Generator) -> Callable[[], float]:
    delay = delay_of(stragglers, index)
    return (lambda: 0.0) if delay is None else partial(delay.draw, rng)
