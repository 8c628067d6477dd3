"""Roles in threads of one process, each with a shard of its own that it calls directly: a run without any server.

No Dask, no quorum, nothing shared: what a whole run is held against, to see what its server costs.
Not here: whole runs (`measuring.worker_speed`, `benchmarks.gorila_scaling`).
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from pipeline import seeding
from pipeline.cluster.coordination.batch_thread import batch_thread
from pipeline.config.run_config import RunConfig
from pipeline.experiments.plan import network_of
from pipeline.interfaces import RowSink
from pipeline.param_server.shard import DirectShard, ParameterShard
from pipeline.param_server.snapshot import ShardSnapshot
from pipeline.roles.spec import RoleSpec
from pipeline.rows import Row

SpecT = TypeVar("SpecT", bound=RoleSpec)
_START_SECONDS = 60.0
"""For one loop to wait until the others are built."""


class Role(Protocol):
    """What plays and learns."""

    @property
    def done(self) -> bool:
        """Whether it has made its steps."""

    def step(self) -> None:
        """Go on a little."""

    def close(self) -> None:
        """Leave."""


class _Rows(RowSink):
    def __init__(self) -> None:
        self.rows: list[Row] = []

    def emit(self, row: Row) -> None:
        self.rows.append(row)


def rows_without_server(
    config: RunConfig,
    spec: SpecT,
    names: Sequence[str],
    max_steps: int,
    make: Callable[[SpecT, DirectShard, RowSink], Role],
) -> list[list[Row]]:
    """What each of the roles, of these names, leaves of `max_steps` steps; they begin together.

    The first to be done ends it for all, so that no loop is ever measured with a core more than its share.
    """
    spec = replace(spec, max_steps=max_steps, param_server=replace(spec.param_server, num_shards=1))
    params = network_of(config).initial_parameters(seeding.stream(config.seed, "parameters"))
    start, stop = threading.Barrier(len(names), timeout=_START_SECONDS), threading.Event()

    def loop(own: SpecT, rows: RowSink) -> None:
        snapshot = ShardSnapshot(0, params, 0, params, {})
        shard = ParameterShard(snapshot, config.optimizer, own.param_server, own.generation)
        with batch_thread():  # as the task of a role
            role = make(own, DirectShard(shard), rows)
            start.wait()
            while not (role.done or stop.is_set()):
                role.step()
            stop.set()
            role.close()

    sinks = [_Rows() for _ in names]
    loops = [
        threading.Thread(target=loop, args=(replace(spec, place=replace(spec.place, role=name, index=index)), sink))
        for index, (name, sink) in enumerate(zip(names, sinks, strict=True))
    ]
    for one in loops:
        one.start()
    for one in loops:
        one.join()
    return [sink.rows for sink in sinks]
