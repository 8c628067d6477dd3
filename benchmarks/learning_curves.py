"""The learning curve of a run as rows of a CSV file: a hundred points, each the mean of a hundred games.

Not here: figures of a run folder's own rows (`pipeline.results.curves`).
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

LAST_EPISODES = 100
_FIRST_EPISODES = 20
"""Fewer games have no mean on a curve yet."""
_NUM_POINTS = 100
"""Of a curve."""


@dataclass(frozen=True)
class CurveRow:
    """One point of the curve of one run."""

    case: str
    seed: int
    game: str
    frames: int
    """That the run was to make."""
    steps: int
    """Agent steps of all workers."""
    wall_seconds: float
    score: float
    """Mean of the last 100 training games before."""


def curve(episodes: pd.DataFrame, mean_frame_skip: float) -> list[tuple[int, float, float]]:
    """(agent steps, wall seconds, mean score of the last 100 games) at the ends of about a hundred games, evenly."""
    # Workers report in turn: in the file, the order of their games is not that of frames.
    ordered = episodes.sort_values("total_frames", kind="stable")
    means = ordered["score"].rolling(LAST_EPISODES, min_periods=_FIRST_EPISODES).mean().to_numpy()
    first = _FIRST_EPISODES - 1
    if len(ordered) <= first:
        return []
    kept = np.unique(np.linspace(first, len(ordered) - 1, _NUM_POINTS).astype(int))
    steps = (ordered["total_frames"].to_numpy()[kept] / mean_frame_skip).round().astype(int)
    seconds = ordered["wall_seconds"].to_numpy()[kept]
    return [(int(a), float(b), float(c)) for a, b, c in zip(steps, seconds, means[kept], strict=True)]
