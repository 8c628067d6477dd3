"""Toy sizes and made-up rows of DBA3C's studies."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from studies.dba3c import learning, learning_cases
from studies.dba3c.simulation_grid import SERVERS, WORKERS

TINY = ("network.hidden_units=16", "topology.num_lanes=2", "algorithm.batch_size=10")
PNG = b"\x89PNG"


def printed(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """The JSON lines so far."""
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def is_figure(path: Path) -> bool:
    """Whether a PNG file is there."""
    return path.read_bytes().startswith(PNG)


def learning_rows(cases: Sequence[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two seeds of each case, which learn alike."""
    runs = [
        {
            "case": case,
            "seed": seed,
            "game": "Breakout",
            "frames": learning_cases.FRAMES,
            "network": case,
            "num_parameters": 1000 * (1 + index),
            "num_workers": 1 + index,
            "num_cores": 2,
            "batch_size": 5,
            "wall_seconds": 90.0,
            "data_points_per_second": 100.0,
            "training_mean": 10.0,
            "evaluation_mean": 12.0 + index,
            "end_reason": "budget",
            "run_commit": f"{index}123456789abcdef",
        }
        for index, case in enumerate(cases)
        for seed in (0, 1)
    ]
    curves = [
        {"case": run["case"], "seed": run["seed"], "game": "Breakout", "frames": run["frames"], "steps": 10}
        for run in runs
    ]
    return pd.DataFrame(runs), pd.DataFrame(curves).assign(wall_seconds=60.0, score=8.0)


def network_speeds() -> learning.Speeds:
    """A round of each of the authors' networks, and of each 32 and 64 simulated workers."""
    round_ = {"round": 0, "game": "Pong", "num_parameters": 1000, "one": 100.0, "two": 200.0, "no_server": 200.0}
    rounds = [{"network": network, **round_} for network in learning_cases.MODEL_CASES]
    simulated = [
        {
            "study": study,
            "network": f"{network}_32",
            "num_workers": num_workers,
            "num_servers": 4,
            "num_parameters": 1000,
            "batch_size": 32,
            "data_points_per_second": 1e4,
        }
        for network in learning_cases.MODEL_CASES
        for study, num_workers in ((WORKERS, 32), (WORKERS, 64), (SERVERS, 64))
    ]
    return learning.Speeds(pd.DataFrame(rounds), pd.DataFrame(simulated))
