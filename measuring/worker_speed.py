"""A whole run of DBA3C, and how fast it went when steady; its numbers of parameters and of steps.

Not here: which runs (`studies.dba3c.settings`), speeds of Q-learning (`benchmarks.gorila_scaling`).
"""

import io
import logging
from typing import NamedTuple

import pandas as pd
from rich.console import Console

from pipeline.algorithms.config import ActorCriticConfig
from pipeline.config.run_config import RunConfig
from pipeline.experiments.plan import network_of
from pipeline.experiments.run import train
from pipeline.results.load import load_run
from pipeline.roles import rollout_worker
from pipeline.topologies.kinds.workers import WorkersConfig, worker_name


class Speed(NamedTuple):
    """Of one run, from the first row of a worker to its last."""

    data_points_per_second: float
    """Agent steps that became part of an update."""
    seconds_per_update: float
    late_share: float
    """Of the gradients of all workers, from the start on."""
    waited_share: float
    """Of the first worker's time: waiting for its quorum."""
    num_updates: int
    """That this was measured over."""


_ROWS = 4
"""Full ones that a run is given time for; two are needed, and the first comes late."""


def budget_seconds(seconds: float, seconds_per_update: float) -> str:
    """The setting that ends a run after `seconds`, or later: when updates that take so long have filled rows enough."""
    return f"budget.minutes={max(seconds, _ROWS * rollout_worker.UPDATES_PER_ROW * seconds_per_update) / 60:.6f}"


def budget(num_workers: int, steps_per_worker: int, mean_frame_skip: float) -> str:
    """The setting that ends a run when all workers together have made so many steps."""
    return f"budget.frames={round(num_workers * steps_per_worker * mean_frame_skip)}"


def run(config: RunConfig) -> pd.DataFrame:
    """Carry out a run, silently; its ActorCriticUpdateRows."""
    # A cluster that is closed while its last messages travel says so at length.
    logging.getLogger("distributed").setLevel(logging.ERROR)
    result = train(config, Console(file=io.StringIO()))
    assert result.folder is not None
    return load_run(result.folder).actor_critic_updates


def speed(config: RunConfig, updates: pd.DataFrame) -> Speed:
    """Of one run of `topology=workers`, as its first worker saw it; one that straggles would have seen little."""
    topology = config.topology
    assert isinstance(topology, WorkersConfig)
    num_gradients: float = topology.num_workers if topology.sync else 1
    if topology.dynamic_quorum:
        num_gradients = updates["num_admitted"].sum() / updates["version"].max()
    return _speed(updates, worker_name(0), num_gradients * _new_points(config))


def loop_speed(config: RunConfig, updates: pd.DataFrame, role: str) -> Speed:
    """Of one worker that has its parameters for itself."""
    return _speed(updates[updates["role"] == role], role, _new_points(config))


def num_parameters(config: RunConfig) -> int:
    """Of the run's network."""
    return network_of(config).num_parameters


def batch_size(config: RunConfig) -> int:
    """Data points of one gradient."""
    assert isinstance(config.algorithm, ActorCriticConfig)
    return config.algorithm.batch_size


def _new_points(config: RunConfig) -> float:
    """Of one gradient: with several passes each data point is in as many."""
    assert isinstance(config.algorithm, ActorCriticConfig)
    return batch_size(config) / config.algorithm.num_passes


def _speed(updates: pd.DataFrame, role: str, points_per_update: float) -> Speed:
    # The row that a worker leaves behind when it is stopped is a part of a group.
    full = updates[updates["num_updates"] == rollout_worker.UPDATES_PER_ROW]
    rows = full[full["role"] == role].sort_values("version")
    if len(rows) < 2:
        raise ValueError(
            f"{role} has {len(rows)} full rows of {rollout_worker.UPDATES_PER_ROW} gradients, needed are 2: "
            "make the run longer"
        )
    seconds = float(rows["wall_seconds"].iloc[-1] - rows["wall_seconds"].iloc[0])
    num_updates = int(rows["version"].iloc[-1] - rows["version"].iloc[0])
    return Speed(
        data_points_per_second=points_per_update * num_updates / seconds,
        seconds_per_update=seconds / num_updates,
        # Of all rows: a straggler may not fill one.
        late_share=float(updates["num_dropped_late"].sum() / updates["num_updates"].sum()),
        waited_share=float(rows["waited_seconds"].iloc[1:].sum() / seconds),
        num_updates=num_updates,
    )
