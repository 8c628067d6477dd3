"""Workers that are slow on purpose: which, and for how long."""

import numpy as np
import pytest

from pipeline.roles.straggler import Delay, delay_of, stragglers_mistakes


def test_each_straggler_has_a_delay_of_its_own_and_the_others_have_none() -> None:
    stragglers = ((1, "constant", 0.5), (3, "exponential", 0.2))
    delays = [delay_of(stragglers, index) for index in range(4)]
    assert delays == [None, Delay("constant", 0.5), None, Delay("exponential", 0.2)]


def test_a_constant_sleep_draws_nothing() -> None:
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    assert [Delay("constant", 0.5).draw(rng) for _ in range(3)] == [0.5, 0.5, 0.5]
    assert rng.bit_generator.state == before


def test_exponential_sleeps_have_the_mean_that_was_asked_for_and_differ() -> None:
    rng = np.random.default_rng(0)
    sleeps = [Delay("exponential", 0.5).draw(rng) for _ in range(4_000)]
    assert np.mean(sleeps) == pytest.approx(0.5, rel=0.05)
    assert np.std(sleeps) == pytest.approx(0.5, rel=0.05), "of an exponential distribution it is the mean"
    assert min(sleeps) >= 0


def test_each_mistake_is_one_line_that_names_the_worker() -> None:
    assert stragglers_mistakes(((0, "constant", 0.5), (2, "uniform", -0.5), (2, "constant", 0.1)), num_workers=2) == [
        "stragglers: worker 2 is named 2 times, and has one delay",
        "stragglers: worker 2 is none of 0 to 1, backup workers included",
        "stragglers: uniform of worker 2 must be one of constant, exponential",
        "stragglers: -0.5 seconds of worker 2 must be at least 0",
    ]
    assert stragglers_mistakes(((-1, "constant", 0.5),), num_workers=2) == [
        "stragglers: worker -1 is none of 0 to 1, backup workers included"
    ]
    assert stragglers_mistakes(((0, "constant", 0.5),), num_workers=0) == [], "that there is none is said elsewhere"
    assert stragglers_mistakes(((1, "exponential", 0.0),), num_workers=2) == []
    assert stragglers_mistakes((), num_workers=1) == []
