"""Probability of improvement by hand-sized literals, and its interval in a small simulation."""

import numpy as np
import pytest

from pipeline.results.comparison import improvement_over_games, probability_of_improvement


def test_each_pair_of_runs_counts_and_a_tie_counts_half() -> None:
    # 3 > 1, 3 > 2, 1 = 1, 1 < 2: two and a half of four pairs.
    assert probability_of_improvement([3.0, 1.0], [1.0, 2.0]).probability == 2.5 / 4


@pytest.mark.parametrize(
    ("x", "y", "expected"), [([5, 6, 7], [1, 2, 3], 1.0), ([1, 2], [3, 4], 0.0), ([1, 1], [1], 0.5)]
)
def test_the_ends_and_the_middle(x: list[float], y: list[float], expected: float) -> None:
    assert probability_of_improvement(x, y).probability == expected


def test_both_ways_round_make_one() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal(5), rng.standard_normal(4)
    there, back = probability_of_improvement(x, y), probability_of_improvement(y, x)
    assert there.probability + back.probability == pytest.approx(1.0)
    assert there.low + back.high == pytest.approx(1.0, abs=0.02)


def test_a_single_run_says_nothing_about_its_spread() -> None:
    low, high = probability_of_improvement([3.0], [1.0, 2.0])[1:]
    assert np.isnan(low) and np.isnan(high)


def test_the_same_scores_give_the_same_interval_and_it_holds_the_probability() -> None:
    x, y = [4.0, 9.0, 5.0, 7.0], [3.0, 6.0, 8.0]
    first, again = (probability_of_improvement(x, y, num_resamples=999) for _ in range(2))
    assert first == again
    assert 0.0 <= first.low < first.probability < first.high <= 1.0


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    covered = 0
    for trial in range(100):
        # Two normal distributions half a deviation apart: P(X > Y) = Phi(0.5 / sqrt(2)) = 0.638.
        x, y = rng.standard_normal(10) + 0.5, rng.standard_normal(10)
        _, low, high = probability_of_improvement(x, y, num_resamples=300, seed=trial)
        covered += low <= 0.638 <= high
    assert covered >= 85


@pytest.mark.parametrize(("x", "y"), [([], [1.0]), ([1.0], []), ([[1.0]], [1.0])])
def test_no_runs_or_another_shape_are_refused(x: object, y: object) -> None:
    with pytest.raises(ValueError, match="one score per run"):
        probability_of_improvement(x, y)  # type: ignore[arg-type]


def test_over_games_each_game_counts_the_same() -> None:
    # Game 1: three of four pairs; game 2, of a single run: lost; game 3: a tie.
    x = [[3.0, 1.0, 7.0], [1.5, np.nan, 7.0]]
    y = [[1.0, 2.0, 7.0], [2.0, np.nan, np.nan]]
    assert improvement_over_games(x, y, num_resamples=10).probability == pytest.approx((0.75 + 0.0 + 0.5) / 3)


def test_over_games_the_interval_is_that_of_a_slow_bootstrap() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.normal(0.5, 1, (3, 5)), rng.normal(0, 1, (4, 5))

    def drawn(column: np.ndarray) -> np.ndarray:
        return np.array([column[rng.integers(len(column))] for _ in column])

    slow = [
        np.mean([np.mean([a > b for a in drawn(x[:, game]) for b in drawn(y[:, game])]) for game in range(5)])
        for _ in range(600)
    ]
    found = improvement_over_games(x, y, num_resamples=2000)
    assert (found.low, found.high) == pytest.approx(np.quantile(slow, [0.025, 0.975]), abs=0.05)


def test_over_games_one_score_a_side_has_no_interval_and_is_exact_only_as_published() -> None:
    found = improvement_over_games([[1.0, 5.0]], [[2.0, 4.0]])
    assert found.probability == 0.5
    assert np.isnan(found.low) and np.isnan(found.high)
    several, one = [[1.0, 5.0], [3.0, 3.0], [2.5, 9.0]], [[2.0, 4.0]]
    assert np.isnan(improvement_over_games(several, one).low) and np.isnan(improvement_over_games(one, several).low)
    published = improvement_over_games(several, one, is_published=True)
    assert published.probability == pytest.approx(4 / 6)
    assert 0.0 < published.low < published.probability < published.high <= 1.0


def test_over_games_numbers_of_runs_that_have_little_in_common_take_no_more_room_than_their_pairs() -> None:
    # Each game repeated to 360,360 runs on both sides would be terabytes of pairs.
    rng = np.random.default_rng(3)
    scores = rng.standard_normal((15, 7))
    for game, num_runs in enumerate((5, 7, 8, 9, 11, 13, 15)):
        scores[num_runs:, game] = np.nan
    found = improvement_over_games(scores + 0.5, scores, num_resamples=200)
    back = improvement_over_games(scores, scores + 0.5, num_resamples=200)
    assert found.probability + back.probability == pytest.approx(1.0)
    assert 0.5 < found.low < found.probability < found.high < 1.0


def test_other_numbers_of_games_are_refused() -> None:
    with pytest.raises(ValueError, match="1 and 2 games given, needed the same games"):
        improvement_over_games([[1.0]], [[1.0, 2.0]])
