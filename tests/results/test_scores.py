import math

import numpy as np
import pytest
from scipy import stats

from pipeline.results.scores import mean_interval, normalised_score, seed_interval


def test_the_random_player_is_0_and_the_human_100_percent() -> None:
    assert normalised_score(-20.7, -20.7, 9.3) == 0
    assert normalised_score(9.3, -20.7, 9.3) == 100
    assert normalised_score(24.3, -20.7, 9.3) == pytest.approx(150)


def test_a_better_player_has_the_higher_normalised_score_even_where_random_beats_the_human() -> None:
    # Video Pinball under human starts: random 20452, human 15641.1
    low, high = normalised_score([20_000.0, 30_000.0], 20_452.0, 15_641.1)
    assert low < 0 < high


def test_games_are_normalised_each_by_its_own_players() -> None:
    assert normalised_score([1.0, 6.0], [0.0, 4.0], [2.0, 8.0]).tolist() == [50.0, 50.0]


def test_the_interval_lies_round_the_mean_and_is_the_same_each_time() -> None:
    first, again = mean_interval([1.0, 2.0, 4.0, 9.0]), mean_interval([1.0, 2.0, 4.0, 9.0])
    assert first == again
    assert first.mean == 4.0
    assert first.num_episodes == 4
    assert 1.0 < first.low < 4.0 < first.high < 9.0


def test_the_interval_is_that_of_a_bca_written_out() -> None:
    scores = np.array([0.0, 0.0, 1.0, 1.0, 2.0, 3.0, 8.0, 20.0])
    means = np.sort([np.mean(draw) for draw in np.random.default_rng(1).choice(scores, (20_000, 8))])
    bias = stats.norm.ppf((np.sum(means < scores.mean()) + np.sum(means <= scores.mean())) / (2 * len(means)))
    left_out = np.array([np.delete(scores, i).mean() for i in range(8)])
    spread = left_out.mean() - left_out
    acceleration = np.sum(spread**3) / (6 * np.sum(spread**2) ** 1.5)
    ends = [stats.norm.cdf(bias + (bias + z) / (1 - acceleration * (bias + z))) for z in stats.norm.ppf([0.025, 0.975])]
    interval = mean_interval(scores)
    assert [interval.low, interval.high] == pytest.approx(np.quantile(means, ends), abs=0.25)


def test_about_95_percent_of_intervals_cover_the_true_mean_of_skewed_scores() -> None:
    draws = np.random.default_rng(5).exponential(100.0, (300, 30))
    intervals = [mean_interval(scores, num_resamples=400) for scores in draws]
    coverage = np.mean([interval.low <= 100.0 <= interval.high for interval in intervals])
    assert 0.90 <= coverage <= 0.98


def test_equal_scores_have_an_interval_of_no_width() -> None:
    assert mean_interval([-21.0] * 30) == (-21.0, -21.0, -21.0, 30)


@pytest.mark.parametrize("count", [2, 9])
def test_a_few_equal_scores_claim_nothing(count: int) -> None:
    mean, low, high, num_episodes = mean_interval([-21.0] * count)
    assert mean == -21.0 and math.isnan(low) and math.isnan(high) and num_episodes == count
    assert all(map(math.isnan, seed_interval([3.0] * count)))


def test_a_single_episode_has_a_mean_and_no_interval() -> None:
    interval = mean_interval([3.0])
    assert interval.mean == 3.0
    assert math.isnan(interval.low)
    assert math.isnan(interval.high)


@pytest.mark.parametrize("scores", [[], [[1.0, 2.0]]])
def test_scores_that_are_no_list_of_episodes_are_refused(scores: list[float]) -> None:
    with pytest.raises(ValueError, match="at least one episode"):
        mean_interval(scores)


def test_an_interval_over_seeds_is_students() -> None:
    # Mean 2, deviation 1, 1 / sqrt(3) of it, times the 97.5 % quantile of t with two degrees of freedom: 4.3027.
    assert seed_interval([1.0, 2.0, 3.0]) == pytest.approx((2 - 4.3027 / 3**0.5, 2 + 4.3027 / 3**0.5), abs=1e-4)


def test_three_seeds_hold_the_truth_as_often_as_the_interval_says() -> None:
    rng = np.random.default_rng(0)
    intervals = [seed_interval(rng.normal(100, 30, 3)) for _ in range(500)]
    assert 0.92 <= np.mean([low <= 100 <= high for low, high in intervals]) <= 0.98


def test_a_single_seed_has_no_interval_and_none_at_all_is_refused() -> None:
    assert np.isnan(seed_interval([3.0])).all()
    with pytest.raises(ValueError, match=r"needed \(num_runs,\)"):
        seed_interval([])
