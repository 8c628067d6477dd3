"""Several seeds of an experiment as one curve: their mean, and the lowest and the highest of them.

The band is the seeds' range, as published curves have it: with three seeds no interval of the mean is worth drawing.
Not here: the curve of one run (`pipeline.results.curves`).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pipeline.results.scores import FloatArray

_FAR_ENOUGH = 0.5
"""Of the frames of the longest run."""


class SeedBand(NamedTuple):
    """Of all seeds, where each of them has a value."""

    place: FloatArray
    """(N,) in ascending order."""
    mean: FloatArray
    low: FloatArray
    high: FloatArray


def far_enough(frames: Sequence[float], are_whole: Sequence[bool]) -> list[bool]:
    """Of runs that have come so far, and are over or not: whether each is to be among the seeds of a band.

    A band ends where its shortest run does: a seed that has only begun would leave nothing of the others. One that was
    as long as it should be counts however long that was: those that reach a score soon are not to be left out.
    """
    return [whole or its >= _FAR_ENOUGH * max(frames) for its, whole in zip(frames, are_whole, strict=True)]


def seed_band(curves: Sequence[tuple[FloatArray, FloatArray]], num_places: int) -> SeedBand | None:
    """Of curves, each by its places in ascending order and its values.

    None where there are none, or they have no stretch in common. Between two of its places a curve is the straight
    line. It ends where the shortest run does: a mean of those that go on would be one of other seeds.
    """
    if not curves:
        return None
    first, last = max(place[0] for place, _ in curves), min(place[-1] for place, _ in curves)
    if not first < last:
        return None
    places = np.linspace(first, last, num_places)
    values = np.stack([np.interp(places, place, value) for place, value in curves])
    return SeedBand(places, values.mean(axis=0), values.min(axis=0), values.max(axis=0))
