"""LossOutlierRule: what it rejects, what it remembers, and that it always recovers."""

import math

import numpy as np
import pytest

from pipeline.algorithms.outliers import LossOutlierRule


def huge() -> float:
    """An error that no reward explains."""
    return math.inf


def warmed_up(
    deviations: float | None = 3.0, decay: float = 0.99, min_error: float = 0.0, seed: int = 0
) -> LossOutlierRule:
    """A rule that has seen 300 losses around 1.0 with deviation 0.1."""
    rule = LossOutlierRule(deviations, decay, min_error)
    for loss in np.random.default_rng(seed).normal(1.0, 0.1, size=300):
        rule.admit(float(loss), huge)
    return rule


def rejections_until_admitted(rule: LossOutlierRule, loss: float, limit: int) -> int:
    return next(count for count in range(limit) if rule.admit(loss, huge))


def test_only_what_lies_above_the_threshold_is_rejected() -> None:
    threshold = (rule := warmed_up()).mean + 3.0 * rule.deviation
    assert warmed_up().admit(threshold, huge)
    assert not warmed_up().admit(math.nextafter(threshold, math.inf), huge)
    assert warmed_up().admit(0.0, huge)


def test_the_loss_is_judged_before_it_enters() -> None:
    # With the loss of 100 inside, the deviation would be about 10 and nothing would lie 30 deviations above.
    assert not warmed_up(deviations=30.0).admit(100.0, huge)


def test_mean_and_deviation_are_those_of_the_weighted_losses() -> None:
    losses = np.random.default_rng(1).gamma(2.0, size=20)
    rule = LossOutlierRule(None, decay=0.9, min_error=0.0)
    for loss in losses:
        rule.admit(float(loss), huge)
    weights = 0.9 ** np.arange(19, -1, -1)
    mean = np.average(losses, weights=weights)
    assert rule.mean == pytest.approx(mean)
    assert rule.deviation == pytest.approx(math.sqrt(np.average((losses - mean) ** 2, weights=weights)))


def test_nothing_finite_is_rejected_in_the_warm_up() -> None:
    rule = LossOutlierRule(deviations=0.1, decay=0.9, min_error=0.0)
    assert all(rule.admit(10.0**power, huge) for power in range(10))
    assert not rule.admit(1e20, huge)


def test_without_deviations_only_what_is_not_finite_is_rejected() -> None:
    rule = warmed_up(deviations=None)
    assert rule.admit(1e30, huge)
    assert not rule.admit(math.nan, huge)


@pytest.mark.parametrize("loss", [math.nan, math.inf, -math.inf])
def test_a_loss_that_is_not_finite_is_rejected_even_at_first_and_never_enters(loss: float) -> None:
    assert not LossOutlierRule(3.0, 0.99, 0.0).admit(loss, huge)
    rule = warmed_up()
    before = (rule.mean, rule.deviation)
    assert not rule.admit(loss, huge)
    assert (rule.mean, rule.deviation) == before


def test_after_equal_losses_the_first_different_one_is_admitted() -> None:
    rule = LossOutlierRule(deviations=3.0, decay=0.9, min_error=0.0)
    for _ in range(50):
        assert rule.admit(0.0, huge)
    assert rule.admit(1.0, huge)


def test_one_freak_loss_of_any_size_does_not_blind_the_rule() -> None:
    rule = warmed_up()
    assert not rule.admit(1e30, huge)
    assert not rule.admit(3.0, huge)


@pytest.mark.parametrize("deviations", [0.5, 3.0])
@pytest.mark.parametrize("level", [1.5, 10.0, 1e6])
def test_after_a_lasting_rise_it_admits_again(deviations: float, level: float) -> None:
    rule = warmed_up(deviations)
    assert rejections_until_admitted(rule, level, limit=1000) > 0
    noisy = np.random.default_rng(2).normal(level, 0.1 * level, size=2000)
    admitted = [rule.admit(float(loss), huge) for loss in noisy]
    assert sum(admitted[1000:]) > 500


def test_a_rise_to_ten_times_the_level_costs_fewer_gradients_than_the_warm_up() -> None:
    assert rejections_until_admitted(warmed_up(), 10.0, limit=100) < 100


def test_a_fall_of_the_level_is_admitted_at_once_and_the_threshold_follows() -> None:
    rule = warmed_up()
    assert all(rule.admit(0.01 + 0.001 * (n % 2), huge) for n in range(2000))
    assert not rule.admit(1.0, huge)


def test_errors_that_rewards_explain_are_no_outliers_whatever_the_loss() -> None:
    assert warmed_up(min_error=2.0).admit(1e6, lambda: 2.0)
    assert not warmed_up(min_error=2.0).admit(1e6, lambda: math.nextafter(2.0, math.inf))
    assert not warmed_up(min_error=2.0).admit(math.nan, lambda: 0.0)
    assert warmed_up(min_error=0.0).admit(1.0, lambda: 5.0), "the loss is no outlier"


def test_errors_are_asked_for_only_where_the_loss_would_be_rejected() -> None:
    assert warmed_up(min_error=2.0).admit(1.0, lambda: pytest.fail("a device would be waited for"))


@pytest.mark.parametrize("every", [300, 3000])
def test_rewards_that_are_rarer_than_the_memory_are_learned_from(every: int) -> None:
    # Values of 0 everywhere, which is right but for one experience of a minibatch of 32 now and then: it has a reward.
    noise = np.random.default_rng(3).gamma(4.0, 0.25e-5, size=40 * every)
    losses = [float(loss) + (0.5 / 32 if n % every == every - 1 else 0.0) for n, loss in enumerate(noise)]
    explained, alone = (LossOutlierRule(10.0, 0.99, min_error) for min_error in (2.0, 0.0))
    assert all(explained.admit(loss, lambda: 1.01) for loss in losses)
    admitted = [alone.admit(loss, lambda: 1.01) for loss in losses]
    assert sum(admitted[every - 1 :: every]) < 4, "it takes the deviation of the last 100 losses for all there are"
