"""Statistics over games by hand-sized literals, the bootstrap against slow Python, and its coverage in a simulation."""

import math

import numpy as np
import pytest
from scipy import stats

from pipeline.results import aggregates
from pipeline.results.aggregates import (
    Games,
    drawn_again,
    interquartile_mean,
    mean,
    median,
    optimality_gap,
    runs_by_game,
    stratified_estimates,
)
from pipeline.results.scores import FloatArray

STATISTICS = {"mean": mean, "median": median, "iqm": interquartile_mean, "gap": optimality_gap}

# Two runs (rows) of four games (columns).
SCORES = np.array([[0.0, 50.0, 120.0, 1000.0], [20.0, 70.0, 80.0, 3000.0]])


def test_statistics_of_eight_runs_by_hand() -> None:
    found = {name: float(statistic(list(SCORES.T))) for name, statistic in STATISTICS.items()}
    assert found == {
        "mean": 4340 / 8,
        # Games: 10, 60, 100, 2000.
        "median": 80.0,
        # Without the two lowest and the two highest of eight.
        "iqm": (50 + 70 + 80 + 120) / 4,
        # 100, 50, 0, 0 and 80, 30, 20, 0 are lacking.
        "gap": 280 / 8,
    }


def test_many_samples_at_once_are_each_by_itself() -> None:
    samples = [SCORES.T, 2 * SCORES.T, SCORES.T - 500]
    games = [np.stack(runs) for runs in zip(*samples, strict=True)]
    for statistic in STATISTICS.values():
        assert statistic(games).tolist() == pytest.approx([float(statistic(list(sample))) for sample in samples])


def test_a_game_counts_the_same_however_many_runs_it_has() -> None:
    ragged = [[1.0, 10.0, 5.0], [3.0, np.nan, np.nan], [np.nan, 20.0, np.nan]]
    estimates = stratified_estimates(ragged, {"mean": mean, "median": median}, num_resamples=10)
    assert float(estimates["mean"].value) == pytest.approx((2 + 15 + 5) / 3)
    assert float(estimates["median"].value) == 5.0


@pytest.mark.parametrize("counts", [(2, 3), (1, 1, 1), (4, 4, 4, 4, 4), (2, 5, 3, 7), (1, 6)])
def test_the_middle_half_is_that_of_runs_repeated_until_all_games_have_equally_many(counts: tuple[int, ...]) -> None:
    rng = np.random.default_rng(5)
    games = [rng.normal(100, 50, (3, count)) for count in counts]
    num_runs = math.lcm(*counts)
    repeated = [np.repeat(runs, num_runs // runs.shape[-1], axis=-1) for runs in games]
    slow = stats.trim_mean(np.concatenate(repeated, axis=-1), 0.25, axis=-1)
    assert interquartile_mean(games).tolist() == pytest.approx(slow.tolist())


def test_of_many_unlike_numbers_of_runs_none_is_repeated() -> None:
    # Repeated until all have equally many, these would be 47 million runs of each game.
    scores = np.full((19, 7), np.nan)
    for column, count in enumerate((19, 17, 16, 13, 11, 9, 7)):
        scores[:count, column] = 10.0 * column
    found = stratified_estimates(scores, STATISTICS)
    assert [float(found[name].value) for name in ("mean", "median", "iqm")] == pytest.approx([30.0, 30.0, 30.0])
    assert float(found["iqm"].low) == float(found["iqm"].high) == pytest.approx(30.0)


def test_what_is_too_much_at_once_is_resampled_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = np.random.default_rng(0).normal(size=(3, 4))
    sizes: list[int] = []

    def seen(games: Games) -> FloatArray:
        sizes.append(len(games[0]))
        return mean(games)

    at_once = stratified_estimates(scores, {"mean": mean}, num_resamples=1_000)["mean"]
    monkeypatch.setattr(aggregates, "_MAX_NUMBERS", 12 * 300)
    in_parts = stratified_estimates(scores, {"mean": seen}, num_resamples=1_000)["mean"]
    assert sizes[1:] == [300, 300, 300, 100]
    assert float(in_parts.low) == pytest.approx(float(at_once.low), abs=0.1)
    assert float(in_parts.high) == pytest.approx(float(at_once.high), abs=0.1)


def test_runs_are_drawn_within_their_own_game() -> None:
    first, second = drawn_again([np.array([1.0, 2.0]), np.array([10.0, 20.0])], 200, np.random.default_rng(0))
    assert first.shape == second.shape == (200, 2)
    assert set(first.ravel()) == {1.0, 2.0} and set(second.ravel()) == {10.0, 20.0}
    # A resample is no permutation, and the games are drawn apart.
    assert len({(*x, *y) for x, y in zip(first, second, strict=True)}) == 16


def test_the_interval_is_that_of_a_slow_bootstrap() -> None:
    rng = np.random.default_rng(3)
    scores = rng.normal(100, 30, (4, 6))
    slow = [np.mean([np.mean([column[rng.integers(4)] for _ in range(4)]) for column in scores.T]) for _ in range(2000)]
    found = stratified_estimates(scores, {"mean": mean}, num_resamples=4000)["mean"]
    assert (float(found.low), float(found.high)) == pytest.approx(np.quantile(slow, [0.025, 0.975]), abs=1.0)


def test_a_single_run_per_game_has_no_interval() -> None:
    found = stratified_estimates([[1.0, 5.0]], {"mean": mean})["mean"]
    assert float(found.value) == 3.0
    assert np.isnan(found.low) and np.isnan(found.high)


def test_the_same_scores_give_the_same_interval() -> None:
    assert stratified_estimates(SCORES, STATISTICS) == stratified_estimates(SCORES, STATISTICS)


@pytest.mark.parametrize(("num_runs", "least", "most"), [(3, 0.84, 0.94), (10, 0.9, 0.98)])
def test_the_interval_covers_the_truth_as_often_as_the_module_says(num_runs: int, least: float, most: float) -> None:
    rng = np.random.default_rng(1)
    levels = rng.lognormal(4.5, 1.0, 49)
    covered = []
    for trial in range(300):
        scores = levels * (1 + 0.3 * rng.standard_normal((num_runs, 49)))
        found = stratified_estimates(scores, {"mean": mean}, num_resamples=300, seed=trial)["mean"]
        covered.append(found.low <= levels.mean() <= found.high)
    assert least <= np.mean(covered) <= most


@pytest.mark.parametrize("scores", [[1.0, 2.0], np.empty((0, 3)), np.empty((3, 0))])
def test_another_shape_is_refused(scores: FloatArray) -> None:
    with pytest.raises(ValueError, match=r"needed \(num_runs, num_games\)"):
        runs_by_game(scores)


def test_a_game_without_runs_is_refused_and_named() -> None:
    with pytest.raises(ValueError, match="no run of the games in columns 1"):
        runs_by_game([[1.0, np.nan]])
