"""One number for many games: mean, median, interquartile mean and optimality gap, with stratified bootstrap intervals.

Scores are (num_runs, num_games), normalised, in percent; NaN where a run is missing. A game counts the same however
many runs it has: each of two runs of a game for half of it, each of three for a third.

The bootstrap resamples runs within each game (Agarwal et al. 2021, "Deep Reinforcement Learning at the Edge of the
Statistical Precipice", section 4.1). It knows the spread only from the runs that are there: the fewer, the narrower it
is. In the simulation of `tests/results/test_aggregates.py`, 49 games with 3 runs each, an interval that says 95 % holds
the truth in about 88 % of the cases.
See also `pipeline.results.comparison` (one algorithm against another), `pipeline.results.profiles`.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pipeline.results.scores import FloatArray

_MAX_NUMBERS = 2**24

Games = Sequence[FloatArray]
"""Of each game (..., its runs), as many as it has."""

Statistic = Callable[[Games], FloatArray]
"""(...), or (..., k) for k numbers at once."""


class Estimate(NamedTuple):
    """A number, or an array of them, with its 95 % interval."""

    value: FloatArray
    low: FloatArray
    """NaN where a game has a single run: its spread is not known."""
    high: FloatArray


def means(games: Games) -> FloatArray:
    """Of each game the mean over its runs: (..., num_games)."""
    return np.stack([runs.mean(axis=-1) for runs in games], axis=-1)


def mean(games: Games) -> FloatArray:
    """Mean over games of the mean over runs; a single game can carry it."""
    return np.asarray(means(games).mean(axis=-1))


def median(games: Games) -> FloatArray:
    """Median over games of the mean over runs; nearly half of the games can be 0 without touching it."""
    return np.asarray(np.median(means(games), axis=-1))


def interquartile_mean(games: Games) -> FloatArray:
    """Mean of the middle half of all runs of all games (Agarwal et al. 2021, section 4.3)."""
    counts = [runs.shape[-1] for runs in games]
    scores = np.concatenate(games, axis=-1)
    order = np.argsort(scores, axis=-1)
    weights = np.repeat(1 / np.array(counts), counts)[order]
    # In games. As if each run stood there so often that all games have equally many, of which whole ones are left out.
    num_copies = len(games) * math.lcm(*counts)
    left_out = len(games) * ((num_copies // 4) / num_copies)
    ends = np.cumsum(weights, axis=-1)
    inside = np.minimum(ends, len(games) - left_out) - np.maximum(ends - weights, left_out)
    kept = np.maximum(inside, 0.0)
    return np.asarray((np.take_along_axis(scores, order, axis=-1) * kept).sum(axis=-1) / kept.sum(axis=-1))


def optimality_gap(games: Games) -> FloatArray:
    """How far runs stay below the human, 100 %, on average; more than 100 % is worth no more (ibid., section 4.3)."""
    return 100.0 - mean([np.minimum(runs, 100.0) for runs in games])


def stratified_estimates(
    scores: npt.ArrayLike, statistics: Mapping[str, Statistic], *, num_resamples: int = 2000, seed: int = 0
) -> dict[str, Estimate]:
    """Each of `statistics` of scores (num_runs, num_games), with 95 % percentile intervals from the same resamples.

    The same scores give the same intervals. Raises ValueError when a game has no run.
    """
    runs = runs_by_game(scores)
    values = {name: np.asarray(statistic(runs)) for name, statistic in statistics.items()}
    if not spread_is_known(runs):
        return {name: Estimate(value, *_unknown(value)) for name, value in values.items()}
    rng = np.random.default_rng(seed)
    drawn: dict[str, list[FloatArray]] = {name: [] for name in statistics}
    for size in chunks(num_resamples, sum(map(len, runs))):
        resamples = drawn_again(runs, size, rng)
        for name, statistic in statistics.items():
            drawn[name].append(statistic(resamples))
    ends = {name: np.quantile(np.concatenate(parts), (0.025, 0.975), axis=0) for name, parts in drawn.items()}
    return {name: Estimate(values[name], *ends[name]) for name in statistics}


def runs_by_game(scores: npt.ArrayLike) -> list[FloatArray]:
    """The runs that each game has, of scores (num_runs, num_games). Raises ValueError when a game has none."""
    matrix = np.asarray(scores, dtype=np.float64)
    if matrix.ndim != 2 or matrix.size == 0:
        raise ValueError(f"scores of shape {matrix.shape} given, needed (num_runs, num_games), at least one of each")
    runs = [column[~np.isnan(column)] for column in matrix.T]
    if empty := [index for index, of_game in enumerate(runs) if not len(of_game)]:
        raise ValueError(f"no run of the games in columns {', '.join(map(str, empty))}: leave these games out")
    return runs


def spread_is_known(runs: list[FloatArray]) -> bool:
    """Whether each game has two runs at least. One without would count as known exactly, and 48 such of 49 as proof."""
    return min(map(len, runs)) > 1


def drawn_again(runs: list[FloatArray], num_resamples: int, rng: np.random.Generator) -> list[FloatArray]:
    """Runs drawn with replacement within each game: of each game (num_resamples, as many as it has)."""
    return [of_game[rng.integers(len(of_game), size=(num_resamples, len(of_game)))] for of_game in runs]


def chunks(num_resamples: int, size: int) -> Iterator[int]:
    """Numbers of resamples that are made at once, `size` numbers each: together `num_resamples`."""
    at_once = max(_MAX_NUMBERS // size, 1)
    for start in range(0, num_resamples, at_once):
        yield min(at_once, num_resamples - start)


def _unknown(value: FloatArray) -> tuple[FloatArray, FloatArray]:
    nothing = np.full(value.shape, np.nan)
    return nothing, nothing
