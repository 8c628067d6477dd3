"""Glances at runs that nobody ran, and which of these runs are shown."""

from typing import Any

from pipeline.cluster.dashboard.board import Board, RunSeries, ShownRuns, in_order
from pipeline.cluster.glance import RunGlance


def glance(folder: str = "/runs/gorila/Breakout/0", **changes: Any) -> RunGlance:
    """A glance at a run in the middle of its way."""
    usual: dict[str, Any] = {
        "folder": folder,
        "experiment": "gorila",
        "game": "Breakout",
        "seed": 0,
        "num_frames": 4_000,
        "fraction": 0.5,
        "wall_seconds": 10.0,
        "num_updates": 250,
        "steps_per_second": 100.0,
        "updates_per_second": 25.0,
        "role_steps_per_second": {"bundle-0": 60.0, "bundle-1": 40.0},
        "num_restarts": 0,
        "eta_seconds": 20.0,
        "mean_score": 3.0,
        "mean_staleness": 0.5,
        "replay_fill": 0.25,
        "epsilon": 0.1,
        "entropy": None,
        "late_share": None,
    }
    return RunGlance(**usual | changes)


def newest(board: Board, count: int) -> list[RunSeries]:
    """Those that a figure shows of runs of which none is known to train."""
    return in_order(ShownRuns(count).among(board.runs.values(), ()))
