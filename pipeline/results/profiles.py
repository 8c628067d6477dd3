"""Performance profiles: in what share of runs and games an agent scores above each level.

A curve above another everywhere is of an agent that is better on easy games and on hard ones; curves that cross tell
where each is. Not here: one number for all games (`pipeline.results.aggregates`).
"""

from collections.abc import Mapping

import matplotlib
import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from pipeline.results.aggregates import Estimate, Games, mean, stratified_estimates
from pipeline.results.scores import FloatArray
from pipeline.results.style import FAINT, LINES, NAMES_STYLE, look

LEVELS = np.linspace(0.0, 400.0, 101)
"""Percent of the human. More than 400 % is on few games, and the curve's end says on how many."""


def performance_profile(
    scores: npt.ArrayLike, levels: npt.ArrayLike = LEVELS, *, num_resamples: int = 2000, seed: int = 0
) -> Estimate:
    """Share of runs above each of `levels` (num_levels,), of normalised scores (num_runs, num_games).

    Games count alike. With pointwise 95 % intervals of `stratified_estimates`.
    Agarwal et al. 2021, "Deep Reinforcement Learning at the Edge of the Statistical Precipice", section 4.2.
    """
    limits = np.asarray(levels, dtype=np.float64)

    def shares(games: Games) -> FloatArray:
        # One level after the other: all at once would be a hundred times the memory.
        return np.stack([mean([runs > limit for runs in games]) for limit in limits], axis=-1)

    return stratified_estimates(scores, {"share": shares}, num_resamples=num_resamples, seed=seed)["share"]


@matplotlib.rc_context(NAMES_STYLE)
def profile_figure(
    published: Mapping[str, FloatArray], ours: Mapping[str, FloatArray], *, title: str, levels: FloatArray = LEVELS
) -> Figure:
    """Profiles by agent's name, each of normalised scores (num_runs, num_games): published in grey, ours in colour."""
    figure = Figure(figsize=(8.0, 4.5), layout="constrained")
    axes = figure.add_subplot()
    for index, (name, scores) in enumerate(published.items()):
        at = _with_scores(levels, scores)
        shares, line = 100 * performance_profile(scores, at).value, LINES[index % len(LINES)]
        axes.step(at, shares, line, where="post", color=FAINT, linewidth=1.5, label=name)
    for index, (name, scores) in enumerate(ours.items()):
        at, (line, colour) = _with_scores(levels, scores), look(index)
        profile = performance_profile(scores, at)
        axes.step(at, 100 * profile.value, line, where="post", color=colour, linewidth=1.8, label=name)
        if not np.isnan(profile.low).any():
            axes.fill_between(
                at, 100 * profile.low, 100 * profile.high, step="post", color=colour, alpha=0.2, linewidth=0
            )
    axes.axvline(100, color=FAINT, linewidth=0.8)
    axes.set_xlim(float(levels[0]), float(levels[-1]))
    axes.set_ylim(0, 100)
    axes.set_title(title)
    axes.set_xlabel("level (% of the human's normalised score)")
    axes.set_ylabel("runs above the level (%)")
    axes.legend(loc="upper right")
    return figure


def _with_scores(levels: FloatArray, scores: FloatArray) -> FloatArray:
    """These levels and the scores between them, in order: a curve falls at a score, and nowhere else."""
    flat = np.ravel(scores)
    return np.union1d(levels, flat[(flat > levels[0]) & (flat < levels[-1])])
