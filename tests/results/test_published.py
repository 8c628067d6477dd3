import numpy as np
import pytest

from pipeline.games import ATARI49
from pipeline.results.published import PublishedTable, load_published
from pipeline.results.scores import FloatArray, normalised_score


def normalised(column: str, starts: str) -> FloatArray:
    table = load_published()
    return normalised_score(table[column], table[f"random_{starts}"], table[f"human_{starts}"])


def test_the_reference_holds_the_49_games_in_order_and_no_empty_cell() -> None:
    table = load_published()
    assert tuple(table.index) == ATARI49
    assert not table.isna().any(axis=None)


@pytest.mark.parametrize("name", ["atari49_related_agents", "dba3c_scores"])
def test_the_other_tables_of_games_use_the_same_names(name: PublishedTable) -> None:
    assert set(load_published(name).index) <= set(ATARI49)


def test_the_later_systems_name_their_source_and_trust() -> None:
    table = load_published("later_systems")
    assert "Gorila DQN" in table.index
    assert not table[["source", "confidence"]].isna().any(axis=None)


@pytest.mark.parametrize(
    ("gorila", "dqn", "num_games"),
    [("gorila_noop", "dqn_nature_noop", 31), ("gorila_human_starts", "dqn_human_starts", 41)],
)
def test_gorila_beats_dqn_in_as_many_games_as_published(gorila: str, dqn: str, num_games: int) -> None:
    table = load_published()
    assert (table[gorila] > table[dqn]).sum() == num_games


@pytest.mark.parametrize(
    ("column", "starts", "median", "mean"),
    [
        ("dqn_nature_noop", "noop", 93.5, 241.1),
        ("gorila_noop", "noop", 96.4, 495.2),
        ("dqn_human_starts", "human_starts", 47.5, 122.1),
        ("gorila_human_starts", "human_starts", 78.0, 293.0),
    ],
)
def test_medians_and_means_of_the_49_games_are_the_published_ones(
    column: str, starts: str, median: float, mean: float
) -> None:
    scores = normalised(column, starts)
    assert np.round(np.median(scores), 1) == median
    assert np.round(np.mean(scores), 1) == mean


@pytest.mark.parametrize(
    ("starts", "dqn", "num_human", "num_twice", "num_five_times"),
    [("noop", "dqn_nature_noop", 31, 11, 4), ("human_starts", "dqn_human_starts", 25, 22, 11)],
)
def test_gorila_reaches_the_human_and_multiples_of_dqn_as_often_as_published(
    starts: str, dqn: str, num_human: int, num_twice: int, num_five_times: int
) -> None:
    ours, baseline = normalised(f"gorila_{starts}", starts), normalised(dqn, starts)
    assert (ours >= 75).sum() == num_human
    assert (ours >= 2 * baseline).sum() == num_twice
    assert (ours >= 5 * baseline).sum() == num_five_times
