"""Several seeds as one curve."""

import numpy as np

from pipeline.results.scores import FloatArray
from pipeline.results.seed_bands import seed_band


def curve(places: list[float], values: list[float]) -> tuple[FloatArray, FloatArray]:
    return np.array(places), np.array(values)


def test_the_band_is_where_all_seeds_are_and_has_their_mean_and_range() -> None:
    band = seed_band([curve([0.0, 4.0], [0.0, 8.0]), curve([1.0, 2.0, 9.0], [5.0, 5.0, 5.0])], num_places=4)
    assert band is not None
    assert band.place.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert band.mean.tolist() == [3.5, 4.5, 5.5, 6.5]
    assert (band.low.tolist(), band.high.tolist()) == ([2.0, 4.0, 5.0, 5.0], [5.0, 5.0, 6.0, 8.0])


def test_seeds_that_were_never_at_the_same_place_have_none() -> None:
    assert seed_band([curve([0.0, 1.0], [0.0, 1.0]), curve([2.0, 3.0], [0.0, 1.0])], num_places=4) is None
