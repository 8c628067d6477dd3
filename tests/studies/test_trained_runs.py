"""Curves of whole runs."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from studies import trained_runs
from studies.trained_runs import CurveRow, CurvesFile
from tests.experiments.smoke_runs import smoke_config


def test_a_curve_is_the_mean_of_the_last_hundred_games() -> None:
    episodes = pd.DataFrame(
        {"role": "worker-0", "total_frames": np.arange(3, 453, 3), "wall_seconds": np.arange(150.0)}
    )
    # Reported by two workers in turn: the file has other games first.
    episodes = episodes.assign(score=np.arange(150.0)).sample(frac=1.0, random_state=0)
    points = trained_runs.curve(episodes, mean_frame_skip=3.0)
    assert points[0] == (20, 19.0, np.arange(20).mean())
    assert points[-1] == (150, 149.0, np.arange(50, 150).mean())


def test_a_curve_of_too_few_games_is_empty() -> None:
    episodes = pd.DataFrame({"role": "worker-0", "total_frames": [3], "wall_seconds": [1.0], "score": [1.0]})
    assert trained_runs.curve(episodes, mean_frame_skip=3.0) == []


def point(seconds: float) -> CurveRow:
    """Of one curve."""
    return CurveRow("global", 0, "Breakout", 480_000, 1_000, seconds, 1.0)


def test_a_curve_whose_time_falls_is_neither_put_nor_read(tmp_path: Path) -> None:
    path = tmp_path / "curves.csv"
    CurvesFile(path).put(point(1.0), point(1.0), point(2.0))
    assert len(CurvesFile(path).frame()) == 3
    falls = r"curves\.csv: the time of \('global', 0, 'Breakout', 480000\) falls along its curve"
    with pytest.raises(ValueError, match=falls):
        CurvesFile(path).put(point(2.0), point(1.0))
    assert len(CurvesFile(path).frame()) == 3, "the one that was there stays"
    path.write_text(path.read_text().replace(",1000,2.0,", ",1000,0.5,"))
    with pytest.raises(ValueError, match=falls):
        CurvesFile(path).frame()


@pytest.mark.slow
def test_a_run_that_ends_before_its_frames_are_made_has_no_row(tmp_path: Path) -> None:
    config = smoke_config(tmp_path, "cluster=threads", "budget.frames=4_000_000", "budget.minutes=0.02")
    with pytest.raises(SystemExit, match=r"of its 4,000,000 frames \(budget\): it has no row"):
        trained_runs.train_or_load(config)
