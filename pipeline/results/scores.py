"""Scores of one game as numbers with an uncertainty: human-normalised scores, and means with an interval.

`mean_interval` is over episodes of one agent: how well its mean score is known, not how much another seed of the same
training would differ. `seed_interval` is over runs: that is what it says.
Not here: many games at once (`pipeline.results.aggregates`).
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


_NOT_FEW = 10
"""So many equal scores are taken for all that there are; of fewer nothing is known of how much others differ. Ours."""


class MeanInterval(NamedTuple):
    """A mean score with its confidence interval."""

    mean: float
    low: float
    """NaN when there is a single episode: one number says nothing about its spread."""
    high: float
    num_episodes: int


def mean_interval(
    scores: npt.ArrayLike, *, confidence: float = 0.95, num_resamples: int = 9999, seed: int = 0
) -> MeanInterval:
    """Mean of episode scores (num_episodes,) with its bootstrap interval; the same scores give the same interval.

    The interval is BCa (bias-corrected and accelerated): Atari scores are skewed and there are often only 30 of them,
    and there the plain percentile interval sits too low. Raises ValueError when there is no score.

    Efron 1987, "Better bootstrap confidence intervals".
    """
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"scores of shape {values.shape} given, needed (num_episodes,) with at least one episode")
    mean = float(values.mean())
    if values.size == 1:
        return MeanInterval(mean, float("nan"), float("nan"), 1)
    if np.ptp(values) == 0:
        # BCa divides by the spread; a random Pong player that always loses 21 to 0 is a frequent case. A few games that
        # happen to be equal do not say how much others differ: an interval of no width would claim certainty.
        bound = mean if values.size >= _NOT_FEW else float("nan")
        return MeanInterval(mean, bound, bound, values.size)
    # Here, not above: it takes a fifth of the time in which a command starts, and none needs it before its end.
    from scipy import stats

    interval = stats.bootstrap(
        (values,),
        np.mean,
        confidence_level=confidence,
        n_resamples=num_resamples,
        method="BCa",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return MeanInterval(mean, float(interval.low), float(interval.high), values.size)


def seed_interval(scores: npt.ArrayLike, *, confidence: float = 0.95) -> tuple[float, float]:
    """Student's t interval of the mean of one score per run (num_runs,); NaN for a single run, or a few equal ones.

    With three runs a bootstrap cannot leave their range, which holds the mean in three of four cases; t is wide, and
    right for scores that spread like a normal distribution. Colas et al. 2018, "How many random seeds?".
    """
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"scores of shape {values.shape} given, needed (num_runs,) with at least one run")
    if values.size == 1 or (np.ptp(values) == 0 and values.size < _NOT_FEW):
        return float("nan"), float("nan")
    from scipy import stats  # as in mean_interval

    half = stats.t.ppf((1 + confidence) / 2, values.size - 1) * values.std(ddof=1) / np.sqrt(values.size)
    return float(values.mean() - half), float(values.mean() + half)


def normalised_score(agent: npt.ArrayLike, random: npt.ArrayLike, human: npt.ArrayLike) -> FloatArray:
    """100 * (agent - random) / |human - random|, in percent: 0 plays like the random player, 100 like the human.

    The three are scores, or arrays of scores that broadcast. The absolute value matters where the random player beats
    the human (Video Pinball under human starts).
    """
    agents, randoms, humans = (np.asarray(scores, dtype=np.float64) for scores in (agent, random, human))
    normalised: FloatArray = 100 * (agents - randoms) / np.abs(humans - randoms)
    return normalised
