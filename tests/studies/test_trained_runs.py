"""Curves of whole runs."""

import numpy as np
import pandas as pd

from studies import trained_runs


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
