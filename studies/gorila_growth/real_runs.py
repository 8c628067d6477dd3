"""One real run as a command of its own: how fast it was when steady, and the most memory that it took.

Memory is what the operating system says is in use by the command and all processes that it started, looked at several
times a second: pages that processes share count once in each. It stands beside the sum of the run's plan.
Not here: which runs (`studies.gorila_growth.growth`, `.simulation`).
"""

import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import psutil

from measuring.worker_speed import speed
from pipeline.config.overrides import compose
from pipeline.config.run_config import RunConfig
from pipeline.experiments.plan import make_plan, network_of
from pipeline.results.load import load_run
from pipeline.roles.parts import UPDATES_PER_ROW
from pipeline.topologies.kinds.workers import WorkersConfig
from studies.gorila_growth.settings import QUIET

_LOOK_SECONDS = 0.2


@dataclass(frozen=True)
class RealRun:
    """What came of one run; nan where its system has no such figure."""

    num_parameters: int
    steps_per_second: float
    """Agent steps of all roles, between the first and the last row of each; of synchronous ones those in updates."""
    updates_per_second: float
    """Gradients, or synchronous updates."""
    stale_share: float
    """Of the gradients: dropped for their age, by at least one shard."""
    mean_staleness: float
    waited_share: float
    """Of the first worker's time, for the quorum."""
    planned_bytes: int
    peak_bytes: int


def real_run(words: Sequence[str]) -> RealRun:
    """Carry out a run with these settings. Raises CalledProcessError with its output if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        all_words = [*words, *QUIET, f"results_dir={folder}"]
        config = compose(all_words)
        peak = peak_memory([sys.executable, "-m", "pipeline.train", *all_words])
        (run,) = Path(folder).glob("*/*/*/run.json")
        rows = load_run(run.parent)
        planned = make_plan(config).memory_bytes
        figures = (
            _of_workers(config, rows.actor_critic_updates) if _is_dba3c(config) else of_bundles(config, rows.updates)
        )
        return RealRun(network_of(config).num_parameters, *figures, planned_bytes=planned, peak_bytes=peak)


def peak_memory(command: Sequence[str]) -> int:
    """Run it to its end; the most bytes that it and its children had in memory at once."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        ended, peak = threading.Event(), [0]

        def look() -> None:
            while not ended.wait(_LOOK_SECONDS):
                peak[0] = max(peak[0], _resident_bytes(process.pid))

        watcher = threading.Thread(target=look, name="memory", daemon=True)
        watcher.start()
        output, _ = process.communicate()
        ended.set()
        watcher.join()
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, list(command), output)
    return peak[0]


def of_bundles(config: RunConfig, updates: pd.DataFrame) -> tuple[float, float, float, float, float]:
    """Steps and gradients per second, stale share, mean staleness, and no waiting; from UpdateRows."""
    spans = updates.groupby("role")[["total_frames", "wall_seconds"]].agg(["min", "max"])
    if len(spans) < config.topology.num_playing or updates.groupby("role").size().min() < 2:
        raise ValueError(f"a bundle made less than two rows of {UPDATES_PER_ROW} updates: make the run longer")
    frames, seconds = (spans[name]["max"] - spans[name]["min"] for name in ("total_frames", "wall_seconds"))
    # Rows count frames of all bundles.
    steps = frames / (config.environment.mean_frame_skip * config.topology.num_playing)
    # The first row of each began before the time that is looked at.
    later = updates[updates["wall_seconds"] > updates.groupby("role")["wall_seconds"].transform("min")]
    gradients = later.groupby("role")["num_updates"].sum()
    staleness = (later["mean_staleness"] * later["num_updates"]).sum() / later["num_updates"].sum()
    stale = later["num_dropped_stale"].sum() / later["num_updates"].sum()
    return float((steps / seconds).sum()), float((gradients / seconds).sum()), float(stale), float(staleness), 0.0


def _of_workers(config: RunConfig, updates: pd.DataFrame) -> tuple[float, float, float, float, float]:
    measured = speed(config, updates)
    return measured.data_points_per_second, 1 / measured.seconds_per_update, 0.0, 0.0, measured.waited_share


def _is_dba3c(config: RunConfig) -> bool:
    return isinstance(config.topology, WorkersConfig)


def _resident_bytes(pid: int) -> int:
    try:
        process = psutil.Process(pid)
        members = [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return 0
    total = 0
    for member in members:
        try:
            total += member.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return total
