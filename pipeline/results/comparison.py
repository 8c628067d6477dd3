"""How sure it is that one algorithm is better than another, from a handful of runs of each, on one game or on many.

Not here: scores of one run and their interval (`pipeline.results.scores`), each algorithm by itself
(`pipeline.results.aggregates`).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats

from pipeline.results.aggregates import chunks, drawn_again, runs_by_game, spread_is_known
from pipeline.results.scores import FloatArray


class Improvement(NamedTuple):
    """The chance that a run of X scores higher than a run of Y, with its interval."""

    probability: float
    low: float
    """NaN when either side has a single run."""
    high: float


def probability_of_improvement(
    x: npt.ArrayLike, y: npt.ArrayLike, *, confidence: float = 0.95, num_resamples: int = 9999, seed: int = 0
) -> Improvement:
    """P(X > Y) + P(X = Y) / 2 over all pairs of a run of X (n,) and a run of Y (m,), one score per run, on one game.

    1.0: each run of X beats each of Y; 0.5: neither is better. The interval is a percentile bootstrap that resamples
    the runs of both sides apart; with three runs a side it is as wide as three runs deserve, and where all pairs agree
    it has no width at all, which is no proof. Raises ValueError when a side has no run.
    Agarwal et al. 2021, "Deep Reinforcement Learning at the Edge of the Statistical Precipice", section 4.3.
    """
    ours, theirs = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if ours.ndim != 1 or theirs.ndim != 1 or ours.size == 0 or theirs.size == 0:
        raise ValueError(
            f"scores of shapes {ours.shape} and {theirs.shape} given, needed one score per run, at least one"
        )
    probability = float(_share_of_pairs(ours, theirs))
    if min(ours.size, theirs.size) == 1:
        return Improvement(probability, float("nan"), float("nan"))
    interval = stats.bootstrap(
        (ours, theirs),
        _share_of_pairs,
        vectorized=False,
        confidence_level=confidence,
        n_resamples=num_resamples,
        method="percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return Improvement(probability, float(interval.low), float(interval.high))


def improvement_over_games(
    x: npt.ArrayLike, y: npt.ArrayLike, *, is_published: bool = False, num_resamples: int = 2000, seed: int = 0
) -> Improvement:
    """P(X > Y) + P(X = Y) / 2 on a game, averaged over games: of X (num_runs, num_games) and Y (other_runs, num_games).

    NaN where a run is missing. The 95 % interval is a percentile bootstrap over the runs of both sides within each
    game; NaN where a game has a single run. `is_published`: Y is one score per game, taken as it is.
    Raises ValueError when games differ in number or have no run.
    Agarwal et al. 2021, section 4.3.
    """
    ours, theirs = runs_by_game(x), runs_by_game(y)
    if len(ours) != len(theirs):
        raise ValueError(f"{len(ours)} and {len(theirs)} games given, needed the same games on both sides")
    probability = float(_share_over_games(ours, theirs))
    if not spread_is_known(ours) or not (is_published or spread_is_known(theirs)):
        return Improvement(probability, float("nan"), float("nan"))
    rng = np.random.default_rng(seed)
    num_pairs = sum(len(x) * len(y) for x, y in zip(ours, theirs, strict=True))
    shares = [
        _share_over_games(drawn_again(ours, size, rng), drawn_again(theirs, size, rng))
        for size in chunks(num_resamples, num_pairs)
    ]
    low, high = np.quantile(np.concatenate(shares), (0.025, 0.975))
    return Improvement(probability, float(low), float(high))


def _share_over_games(x: Sequence[FloatArray], y: Sequence[FloatArray]) -> FloatArray:
    """Of each game (..., its runs of X) and (..., its runs of Y) -> (...)."""
    shares = [_share_of_pairs(ours, theirs) for ours, theirs in zip(x, y, strict=True)]
    return np.asarray(np.mean(shares, axis=0))


def _share_of_pairs(x: FloatArray, y: FloatArray) -> FloatArray:
    """(..., n) and (..., m) -> (...)."""
    difference = x[..., :, None] - y[..., None, :]
    return np.asarray(((difference > 0) + 0.5 * (difference == 0)).mean(axis=(-2, -1)))
