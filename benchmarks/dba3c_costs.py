"""What the simulation has to know of this machine: a worker's step, and with the calls of a step all that it costs.

A step is Worker.step() beside a shard that does nothing, on one host process alone, and on as many as there are cores.
It is charged in CPU seconds of the process, so that what else the machine does counts less; what operating systems and
networks add by chance is therefore not in it.
Not here: calls and updates (`benchmarks.dba3c_call_costs`), what is made of the costs (`benchmarks.simulation`).
"""

import math
import statistics
import time
from dataclasses import replace
from typing import NamedTuple

from benchmarks.dba3c_call_costs import Calls
from benchmarks.dba3c_runs import batch_size, num_parameters
from benchmarks.simulation.costs import Costs, Wire
from pipeline import seeding
from pipeline.cluster.session import Session
from pipeline.experiments.config import RunConfig
from pipeline.experiments.plan import make_plan, network_of
from pipeline.experiments.specs import fleet_spec
from pipeline.interfaces import Immediate, PulledSlice, Push, RowSink, Servers, ShardHandle, SliceLoader
from pipeline.roles.spec import WorkerSpec
from pipeline.roles.worker import Worker
from pipeline.rows import Row
from pipeline.topologies.workers import worker_name
from pipeline.types import Float32Array, Receipt

_BYTES_PER_PARAM = 4


class Steps(NamedTuple):
    """CPU seconds of a worker's steps."""

    alone: tuple[float, ...]
    crowded: tuple[float, ...]
    """While every core has a worker."""

    @property
    def full_speed(self) -> float:
        """Of a core when all are busy, beside one that works alone."""
        return min(1.0, statistics.fmean(self.alone) / statistics.fmean(self.crowded))


def costs_of(config: RunConfig, steps: Steps, calls: Calls, bytes_per_second: float = math.inf) -> Costs:
    """All that the simulation needs for the run's network.

    On loopback the way of a byte costs nothing beyond the copying, which is charged to the cores.
    """
    return Costs(
        step_seconds=steps.alone,
        batch_size=batch_size(config),
        num_params=num_parameters(config),
        bytes_per_param=_BYTES_PER_PARAM,
        push=calls.push,
        pull=calls.pull,
        message=calls.message,
        apply=calls.apply,
        wire=Wire(calls.latency_seconds, bytes_per_second),
    )


def measure_steps(session: Session, config: RunConfig, num_cores: int, seconds: float) -> Steps:
    """Steps of one worker alone, then of `num_cores` at once, on hosts that are processes of their own; `seconds` each.

    Rare slow steps matter where an update waits for the slowest of many: short steps are measured by the thousand.
    """
    hosts = list(session.hosts)[:num_cores]
    samples: list[tuple[float, ...]] = []
    for chosen in (hosts[:1], hosts):
        tasks = [
            session.submit(step_seconds, config, index, seconds, host=host, name="steps")
            for index, host in enumerate(chosen)
        ]
        samples.append(tuple(seconds for task in tasks for seconds in task.result()))
    return Steps(*samples)


def step_seconds(config: RunConfig, index: int, seconds: float) -> list[float]:
    """On the caller's host: CPU seconds of each step that worker `index` makes in so long, after a third more."""
    params = network_of(config).initial_parameters(seeding.stream(config.seed, "parameters"))
    worker = Worker(_spec(config, index), Servers([_IdleShard(params)], []), _NoRows())
    try:
        _steps_of(worker, seconds / 3)
        return _steps_of(worker, seconds)
    finally:
        worker.close()


class _IdleShard(ShardHandle):
    """Holds what it was given and takes everything: a worker beside it has only itself to wait for."""

    def __init__(self, params: Float32Array) -> None:
        self._params = params

    def push(self, push: Push) -> Immediate[Receipt]:
        return Immediate(Receipt(True, "", 0, 0))

    def pull(self, known_version: int) -> Immediate[PulledSlice]:
        return Immediate(PulledSlice(0, None if known_version == 0 else self._params))

    def pull_target(self, known_version: int) -> Immediate[PulledSlice]:
        return self.pull(known_version)

    def read(self, known_version: int, load: SliceLoader) -> Immediate[int]:
        if known_version != 0:
            load(self._params)
        return Immediate(0)

    def overlapped(self) -> "_IdleShard":
        return self


class _NoRows(RowSink):
    def emit(self, row: Row) -> None:
        pass


def _spec(config: RunConfig, index: int) -> WorkerSpec:
    spec = fleet_spec(config, make_plan(config).demands, generation=1).role
    assert isinstance(spec, WorkerSpec)
    server = replace(spec.param_server, num_shards=1)
    return replace(spec, param_server=server, place=replace(spec.place, role=worker_name(index), index=index))


def _steps_of(worker: Worker, seconds: float) -> list[float]:
    end = time.monotonic() + seconds
    steps: list[float] = []
    while not steps or time.monotonic() < end:
        start = time.process_time()
        worker.step()
        steps.append(time.process_time() - start)
    return steps
