"""Workers that are slow on purpose: which, and for how long."""

import numpy as np
import pytest

from pipeline.roles.straggler import StragglerConfig


def test_the_last_workers_straggle_and_the_others_draw_nothing() -> None:
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    stragglers = StragglerConfig(num_workers=2, distribution="constant", mean_seconds=0.5)
    assert [stragglers.delay_seconds(index, 5, rng) for index in range(5)] == [0.0, 0.0, 0.0, 0.5, 0.5]
    assert rng.bit_generator.state == before
    nobody = StragglerConfig(num_workers=0, distribution="constant", mean_seconds=0.5)
    assert nobody.delay_seconds(4, 5, rng) == 0.0


def test_exponential_sleeps_have_the_mean_that_was_asked_for_and_differ() -> None:
    rng = np.random.default_rng(0)
    stragglers = StragglerConfig(num_workers=1, distribution="exponential", mean_seconds=0.5)
    sleeps = [stragglers.delay_seconds(0, 1, rng) for _ in range(4_000)]
    assert np.mean(sleeps) == pytest.approx(0.5, rel=0.05)
    assert np.std(sleeps) == pytest.approx(0.5, rel=0.05), "of an exponential distribution it is the mean"
    assert min(sleeps) >= 0


def test_each_setting_that_is_out_of_range_is_one_line() -> None:
    assert StragglerConfig(-1, "uniform", -0.5).mistakes() == [
        "num_workers=-1 must be at least 0",
        "distribution=uniform must be one of constant, exponential",
        "mean_seconds=-0.5 must be at least 0",
    ]
    assert StragglerConfig(0, "exponential", 0.0).mistakes() == []
