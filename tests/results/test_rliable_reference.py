"""rliable as the second opinion: its numbers were made by `make_rliable_reference.py`, in an environment of its own.

Values agree to rounding; ends of intervals to the noise of two bootstraps with other random numbers.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.results import aggregates
from pipeline.results.comparison import improvement_over_games
from pipeline.results.profiles import performance_profile

REFERENCE: dict[str, Any] = json.loads(Path(__file__).with_name("rliable_reference.json").read_text())

STATISTICS = {
    "mean": aggregates.mean,
    "median": aggregates.median,
    "iqm": aggregates.interquartile_mean,
    "optimality_gap": aggregates.optimality_gap,
}


def test_the_reference_says_which_versions_made_it() -> None:
    assert REFERENCE["versions"]["rliable"] == "1.2.0"


@pytest.mark.parametrize("name", REFERENCE["statistics"])
def test_aggregates_and_their_intervals_agree_with_rliable(name: str) -> None:
    index = REFERENCE["statistics"].index(name)
    found = aggregates.stratified_estimates(REFERENCE["x"], {name: STATISTICS[name]}, num_resamples=5000)[name]
    assert float(found.value) == pytest.approx(REFERENCE["values"][index], rel=1e-12)
    low, high = REFERENCE["intervals"][index]
    # A twentieth of the width: about what 5,000 and 50,000 resamples differ by chance.
    assert (float(found.low), float(found.high)) == pytest.approx((low, high), abs=0.05 * (high - low))


def test_profiles_and_their_bands_agree_with_rliable() -> None:
    found = performance_profile(REFERENCE["x"], REFERENCE["taus"], num_resamples=2000)
    assert found.value.tolist() == pytest.approx(REFERENCE["profile"], rel=1e-12)
    # One run of sixty is 1 / 60: the bands are steps, and may be one apart.
    assert found.low.tolist() == pytest.approx([low for low, _ in REFERENCE["profile_bands"]], abs=0.017)
    assert found.high.tolist() == pytest.approx([high for _, high in REFERENCE["profile_bands"]], abs=0.017)


def test_the_probability_of_improvement_agrees_with_rliable() -> None:
    found = improvement_over_games(REFERENCE["x"], REFERENCE["y"], num_resamples=5000)
    assert found.probability == pytest.approx(REFERENCE["improvement"], rel=1e-12)
    assert (found.low, found.high) == pytest.approx(tuple(REFERENCE["improvement_interval"]), abs=0.01)
