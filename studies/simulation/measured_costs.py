"""What the simulation has to know of this machine: a worker's step, its calls, and with them all that it costs.

A real worker on one host process, its shard and its leader on another: alone, then as many such pairs as there are
cores. A step is Worker.step() without its calls, and is charged in CPU seconds of the process, so that what else the
machine does counts less; what operating systems and networks add by chance is therefore not in it.
Not here: calls and updates (`studies.simulation.call_costs`), what is made of the costs
(`studies.simulation.experiment`).
"""

import math
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from measuring.worker_speed import batch_size, num_parameters
from pipeline import seeding
from pipeline.cluster.remotes.quorum import HostedLeader, LeaderAddress, SynchronousShardAddress
from pipeline.cluster.session import Session
from pipeline.config.run_config import RunConfig
from pipeline.experiments.plan import make_plan, network_of
from pipeline.experiments.specs import fleet_spec
from pipeline.interfaces import RowSink, Servers
from pipeline.roles.spec import WorkerSpec
from pipeline.roles.worker import Worker
from pipeline.rows import Row
from pipeline.topologies.kinds.workers import worker_name
from studies.simulation.call_costs import (
    CallMeter,
    Calls,
    CallSeconds,
    MeteredLeader,
    MeteredRemote,
    MeteredShard,
    calls_of,
    gradient_seconds,
    start_of,
)
from studies.simulation.costs import Costs, Wire
from studies.simulation.round_file import mean

_BYTES_PER_PARAM = 4
_GENERATION = 1


class Steps(NamedTuple):
    """CPU seconds of a worker's steps."""

    alone: tuple[float, ...]
    crowded: tuple[float, ...]
    """While every core has a worker."""

    @property
    def full_speed(self) -> float:
        """Of a core when all are busy, beside one that works alone."""
        return min(1.0, statistics.fmean(self.alone) / statistics.fmean(self.crowded))


class Measured(NamedTuple):
    """All that one network costs."""

    num_cores: int
    """That the crowded steps were measured on."""
    steps: Steps
    calls: Calls


def merged(rounds: Sequence[Measured]) -> Measured:
    """All steps of several rounds, and the means of their calls."""
    return Measured(
        rounds[0].num_cores,
        Steps(
            tuple(step for measured in rounds for step in measured.steps.alone),
            tuple(step for measured in rounds for step in measured.steps.crowded),
        ),
        mean([measured.calls for measured in rounds]),
    )


def costs_of(config: RunConfig, measured: Measured, bytes_per_second: float = math.inf) -> Costs:
    """All that the simulation needs for the run's network.

    On loopback the way of a byte costs nothing beyond the copying, which is charged to the cores.
    """
    calls = measured.calls
    return Costs(
        step_seconds=measured.steps.alone,
        batch_size=batch_size(config),
        num_params=num_parameters(config),
        bytes_per_param=_BYTES_PER_PARAM,
        push=calls.push,
        pull=calls.pull,
        message=calls.message,
        apply=calls.apply,
        wire=Wire(calls.latency_seconds, bytes_per_second),
    )


class Worked(NamedTuple):
    """What one worker did beside its own server."""

    steps: tuple[float, ...]
    """CPU seconds of each."""
    calls: Mapping[str, CallSeconds]
    """Of each kind; medians."""


def measure(session: Session, config: RunConfig, num_cores: int, num_updates: int, step_seconds: float) -> Measured:
    """Steps and calls of one worker alone, and steps of `num_cores` at once, so long each.

    The session has two hosts, each a process, for every core. Rare slow steps matter where an update waits for the
    slowest of many: short steps are measured by the thousand. `num_updates` are timed with one and with many gradients.
    """
    hosts = list(session.hosts)
    pairs = list(zip(hosts[::2], hosts[1::2], strict=True))[:num_cores]
    arguments = (config.optimizer, config.param_server, num_parameters(config), num_updates)
    per_gradient = session.submit(gradient_seconds, *arguments, host=hosts[0], name="gradients").result()
    alone, crowded = (_work_at_once(session, config, chosen, step_seconds) for chosen in (pairs[:1], pairs))
    return Measured(
        num_cores,
        Steps(alone[0].steps, tuple(step for worked in crowded for step in worked.steps)),
        calls_of(num_parameters(config), alone[0].calls, per_gradient),
    )


def work(
    config: RunConfig, index: int, shard: SynchronousShardAddress, leader: LeaderAddress, seconds: float
) -> Worked:
    """On the caller's host: what worker `index` beside a server of its own does in so long, after a third more."""
    remote = MeteredRemote(shard.name, shard.actor)
    servers = Servers([remote], [], MeteredLeader(leader.name, leader.actor, remote.meter))
    worker = Worker(_spec(config, index), servers, _NoRows())
    try:
        _steps_of(worker, remote.meter, seconds / 3)
        remote.meter.begin()
        return Worked(tuple(_steps_of(worker, remote.meter, seconds)), remote.meter.end())
    finally:
        worker.close()


def _work_at_once(
    session: Session, config: RunConfig, pairs: Sequence[tuple[str, str]], seconds: float
) -> list[Worked]:
    params = network_of(config).initial_parameters(seeding.stream(config.seed, "parameters"))
    tasks = []
    # Dask removes an actor that nobody holds.
    actors = []
    for index, (worker_host, server_host) in enumerate(pairs):
        name = f"metered-shard-{index}"
        settings = (name, start_of(params), config.optimizer, config.param_server, _GENERATION)
        actors.append(session.submit(MeteredShard, *settings, host=server_host, name=name, actor=True))
        shard = SynchronousShardAddress(name, actors[-1].result())
        name = f"metered-leader-{index}"
        leads = (name, 1, 0, _GENERATION, [shard])
        actors.append(session.submit(HostedLeader, *leads, host=server_host, name=name, actor=True))
        leader = LeaderAddress(name, actors[-1].result())
        tasks.append(session.submit(work, config, index, shard, leader, seconds, host=worker_host, name="work"))
    return [task.result() for task in tasks]


class _NoRows(RowSink):
    def emit(self, row: Row) -> None:
        pass


def _spec(config: RunConfig, index: int) -> WorkerSpec:
    spec = fleet_spec(config, make_plan(config).demands, generation=_GENERATION).role
    assert isinstance(spec, WorkerSpec)
    server = replace(spec.param_server, num_shards=1)
    return replace(spec, param_server=server, place=replace(spec.place, role=worker_name(index), index=index))


def _steps_of(worker: Worker, meter: CallMeter, seconds: float) -> list[float]:
    end = time.monotonic() + seconds
    steps: list[float] = []
    while not steps or time.monotonic() < end:
        start, in_calls = time.process_time(), meter.caller_seconds
        worker.step()
        steps.append(time.process_time() - start - (meter.caller_seconds - in_calls))
    return steps
