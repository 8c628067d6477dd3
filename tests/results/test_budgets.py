"""Published scores at small budgets: which they are, and where other numbers of frames stand on them."""

import numpy as np
import pandas as pd
import pytest

from pipeline.games import ATARI49
from pipeline.results.budgets import MARKS, Score, mark_of, score_at, yardsticks
from pipeline.results.published import load_published
from pipeline.results.scores import normalised_score

CURVE = pd.DataFrame(
    {
        "frames": [1_000_000, 2_000_000, 5_000_000],
        "score": [1.0, 3.0, 9.0],
        "low": [0.0, 2.0, 5.0],
        "high": [2.0, 4.0, 8.0],
    }
)


def test_a_budget_near_a_mark_is_that_mark() -> None:
    assert score_at(CURVE, 2_004_152.0) == Score(3.0, 2.0, 4.0)
    assert score_at(CURVE, 951_000.0) == Score(1.0, 0.0, 2.0)
    assert [mark_of(frames) for frames in (940_000, 950_000, 2_099_000, 3_000_000)] == [None, MARKS[0], MARKS[1], None]


def test_between_two_marks_it_is_the_straight_line_and_beyond_them_nothing() -> None:
    assert score_at(CURVE, 3_500_000.0) == Score(6.0, 3.5, 6.0, is_between=True)
    assert score_at(CURVE, 940_000.0) is None and score_at(CURVE, 5_300_000.0) is None


def test_each_published_agent_says_how_it_was_played_and_where_it_is_from() -> None:
    sources, curves = load_published("budget_sources"), load_published("budget_curves")
    assert not sources[["played", "licence", "source", "seeds"]].isna().any(axis=None)
    assert set(curves["agent"]) == set(sources.index)
    assert set(curves["frames"]) == set(MARKS)
    for one in yardsticks():
        assert one.curves.index.nunique() == sources.loc[one.agent, "games"]
        # A range belongs to seeds: who has none published has none here.
        assert one.curves["low"].isna().all() == (sources["spread"].isna()[one.agent])
        ranged = one.curves.dropna()
        assert (ranged["low"] <= ranged["score"] + 0.01).all() and (ranged["score"] <= ranged["high"] + 0.01).all()


@pytest.mark.parametrize(
    ("agent", "medians"),
    [
        ("DQN (nnabla-rl)", {2: 1.6, 5: 4.0, 10: 16.9, 20: 29.0, 40: 38.9}),
        ("QR-DQN n = 3, priorities (Dopamine)", {2: 11.3, 5: 55.3, 10: 76.3, 20: 84.3, 40: 101.7}),
        ("Rainbow (Dopamine)", {2: 1.9, 5: 21.9, 10: 57.3, 20: 96.4, 40: 133.2}),
    ],
)
def test_medians_over_the_49_games_are_those_that_are_known(agent: str, medians: dict[int, float]) -> None:
    published = load_published()
    (one,) = (one for one in yardsticks() if one.agent == agent)
    for millions, median in medians.items():
        scores = [one.at(game, 1e6 * millions) for game in ATARI49]
        means = [score.mean for score in scores if score is not None]
        normalised = normalised_score(means, published["random_noop"], published["human_noop"])
        assert np.median(normalised) == pytest.approx(median, abs=0.06)


def test_a_game_that_nobody_published_has_no_score() -> None:
    assert {one.at("Pooyan", 2e6) for one in yardsticks()} == {None}
